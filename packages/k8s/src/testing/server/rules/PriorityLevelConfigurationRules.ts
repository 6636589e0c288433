/**
 * `PriorityLevelConfigurationRules`: validates PriorityLevelConfigurations, which are limited, or exempt as one
 * mandatory level is. The two mandatory ones are immutable, except for the shares of the exempt one.
 *
 * Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation/validation.go `ValidatePriorityLevelConfiguration`.
 */
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as BootstrapFlows from "../../auth/BootstrapFlows.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, oneOfGiven, when } from "./Checks.ts"
import { omit } from "./Immutability.ts"

const mandatory = BootstrapFlows.mandatorySpecs(BootstrapFlows.levels)

const mostQueues = 10_000_000

/** The number of hash bits from which queues are dealt. */
const hashBits = 60

const numberAt = (value: unknown, field: string): number => Number(at(value, field) ?? 0)

const sharesFaults = (part: unknown, path: string): Faults => {
  const shares = numberAt(part, "nominalConcurrencyShares")
  return when(
    shares < 0,
    FieldError.invalid(`${path}.nominalConcurrencyShares`, shares, "must be a non-negative integer")
  )
}

const lendableFaults = (part: unknown, path: string): Faults => {
  const percent = numberAt(part, "lendablePercent")
  return when(
    percent < 0 || percent > 100,
    FieldError.invalid(`${path}.lendablePercent`, percent, "must be between 0 and 100, inclusive")
  )
}

const handFaults = (hand: number, queues: number, path: string): Faults => {
  const fault = (why: string) => [FieldError.invalid(`${path}.handSize`, hand, why)]
  if (hand <= 0) return fault("must be positive")
  if (hand > queues) return fault(`should not be greater than queues (${queues})`)
  return Math.ceil(Math.log2(queues) * hand) > hashBits
    ? fault(
      `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${hashBits}`
    )
    : []
}

const queuingFaults = (queuing: unknown, path: string): Faults => {
  const [length, queues] = [numberAt(queuing, "queueLengthLimit"), numberAt(queuing, "queues")]
  return [
    ...when(length <= 0, FieldError.invalid(`${path}.queueLengthLimit`, length, "must be positive")),
    ...when(queues <= 0, FieldError.invalid(`${path}.queues`, queues, "must be positive")),
    ...when(
      queues > mostQueues,
      FieldError.invalid(`${path}.queues`, queues, `must not be greater than ${mostQueues}`)
    ),
    ...handFaults(numberAt(queuing, "handSize"), queues, path)
  ]
}

const responseFaults = (response: unknown, path: string): Faults => {
  const queuing = at(response, "queuing")
  const here = `${path}.queuing`
  const type = stringAt(response, "type")
  return [
    ...oneOfGiven(response, "type", path, ["Queue", "Reject"]),
    // The messages for "Queue" also say "Limited".
    ...(type === "Queue"
      ? queuing === undefined
        ? [FieldError.required(here, "must not be empty if limited.limitResponse.type is Limited")]
        : queuingFaults(queuing, here)
      : when(
        type === "Reject" && queuing !== undefined,
        FieldError.forbidden(here, "must be nil if limited.limitResponse.type is not Limited")
      ))
  ]
}

const limitedFaults = (limited: unknown, path: string): Faults => {
  const borrowing = numberAt(limited, "borrowingLimitPercent")
  return [
    ...sharesFaults(limited, path),
    ...responseFaults(at(limited, "limitResponse"), `${path}.limitResponse`),
    ...lendableFaults(limited, path),
    ...when(
      borrowing < 0,
      FieldError.invalid(`${path}.borrowingLimitPercent`, borrowing, "if specified, must be a non-negative integer")
    )
  ]
}

const typeFaults = (spec: unknown): Faults => {
  const [exempt, limited] = [at(spec, "exempt"), at(spec, "limited")]
  const type = stringAt(spec, "type")
  if (type === "Exempt") {
    return [
      ...when(
        limited !== undefined,
        FieldError.forbidden("spec.limited", "must be nil if the type is not Limited")
      ),
      ...sharesFaults(exempt, "spec.exempt"),
      ...lendableFaults(exempt, "spec.exempt")
    ]
  }
  return type !== "Limited" ? oneOfGiven(spec, "type", "spec", ["Exempt", "Limited"]) : [
    ...when(exempt !== undefined, FieldError.forbidden("spec.exempt", "must be nil if the type is Limited")),
    ...(limited === undefined
      ? [FieldError.required("spec.limited", "must not be empty when type is Limited")]
      : limitedFaults(limited, "spec.limited"))
  ]
}

const specFields: GoStruct.Fields = [
  ["type", "\"\""],
  ["limited", "null", [
    ["nominalConcurrencyShares", "0"],
    ["limitResponse", "{\"Type\":\"\",\"Queuing\":null}", [
      ["type", "\"\""],
      ["queuing", "null", [["queues", "0"], ["handSize", "0"], ["queueLengthLimit", "0"]]]
    ]],
    ["lendablePercent", "null"],
    ["borrowingLimitPercent", "null"]
  ]],
  ["exempt", "null", [["nominalConcurrencyShares", "null"], ["lendablePercent", "null"]]]
]

const fixedFaults = (name: string, spec: JsonValue.JsonObject): Faults => {
  const fixed = mandatory.get(name)
  if (fixed === undefined) return []
  const isExempt = name === "exempt"
  const compared = (value: JsonValue.JsonObject) => isExempt ? omit(value, "exempt") : value
  return when(
    !JsonValue.equals(compared(spec), compared(fixed)),
    FieldError.invalidPrinted(
      "spec",
      GoStruct.print(spec, specFields),
      `spec of '${name}'${isExempt ? " except the 'spec.exempt' field" : ""} must equal the fixed value`
    )
  )
}

/** Faults of a PriorityLevelConfiguration, a new one or a changed one. */
export const validate: Strategy["validate"] = (level) => {
  const spec = objectAt(level, "spec")
  const name = stringAt(level, "metadata", "name")
  const type = stringAt(spec, "type")
  return [
    ...when(
      (name === "exempt") !== (type === "Exempt"),
      FieldError.invalid("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'")
    ),
    ...typeFaults(spec),
    ...fixedFaults(name, spec)
  ]
}
