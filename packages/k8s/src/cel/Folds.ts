/**
 * `Folds`: the loop behind the macros `all`, `exists`, `map` and so on.
 *
 * The loop runs over the elements of a list (with their indexes if there are two variables) or the keys of a map (with
 * their values), until the condition is false. An accumulator carries the result, which may be a fault.
 *
 * Source: github.com/google/cel-go/interpreter/interpretable.go (evalFold).
 */
import type { Frame, Step } from "./Attributes.ts"
import { Fault, fault, ListValue, MapValue, typeOf, type Value } from "./Values.ts"

interface Loop {
  readonly range: Step
  readonly init: Step
  readonly condition: Step
  readonly step: Step
  readonly result: Step
  readonly accu: number
  readonly first: number
  readonly second: number | undefined
}

export const loop = (frame: Frame, { accu, condition, first, init, range, result, second, step }: Loop): Value => {
  const over = range(frame)
  if (over instanceof Fault) return over
  const { slots } = frame
  const isList = over instanceof ListValue
  if (!isList && !(over instanceof MapValue)) return fault(`got '${goType(over)}', expected iterable type`)
  slots[accu] = init(frame)
  const keys = isList ? undefined : over.keys()
  const count = isList ? over.size : keys!.length
  for (let index = 0; index < count; index++) {
    if (second === undefined) slots[first] = isList ? over.at(index) : keys![index]!
    else {
      slots[first] = isList ? BigInt(index) : keys![index]!
      slots[second] = isList ? over.at(index) : over.find(keys![index]!)!
    }
    if (condition(frame) === false) break
    slots[accu] = step(frame)
  }
  return result(frame)
}

const goNames: Readonly<Record<string, string>> = {
  "optional_type": "*types.Optional",
  type: "*types.Type",
  "kubernetes.Quantity": "cel.Quantity",
  "kubernetes.URL": "cel.URL",
  "net.IP": "cel.IP",
  "net.CIDR": "cel.CIDR",
  "kubernetes.Semver": "cel.Semver",
  "kubernetes.NamedFormat": "cel.Format"
}

/** Go's type names of values, for errors about unexpected types. */
const goType = (value: Value): string => {
  switch (typeof value) {
    case "bigint":
      return "types.Int"
    case "number":
      return "types.Double"
    case "string":
      return "types.String"
    case "boolean":
      return "types.Bool"
    default:
      return value === null
        ? "types.Null"
        : value instanceof Uint8Array
        ? "types.Bytes"
        : goNames[typeOf(value).name] ?? `types.${value.constructor.name}`
  }
}
