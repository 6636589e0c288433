/**
 * `MutatingPolicy`: the admission plugin for MutatingAdmissionPolicies.
 *
 * The mutations of a policy are applied in order, each to the result of the previous one. An apply configuration is
 * merged as by server-side apply, but without ownership. A JSON patch is skipped if one of its `test` operations fails.
 * If the object changed after a policy was applied, policies with the reinvocation policy `IfNeeded` are applied once
 * more.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/policy/mutating.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { arrayAt, asObject, objectAt, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as JsonPatch from "../../api/patch/JsonPatch.ts"
import * as Cel from "../../cel/Cel.ts"
import * as MatchConditions from "../../cel/MatchConditions.ts"
import { ListValue, MapValue, ObjectValue, type Value } from "../../cel/Values.ts"
import { quote } from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Admission from "../Admission.ts"
import * as Checking from "../apply/Checking.ts"
import * as Merging from "../apply/Merging.ts"
import * as Problems from "../apply/Problems.ts"
import { fieldType, type Type } from "../apply/Types.ts"
import { apiVersionOf } from "../server/Registry.ts"
import * as Ownership from "../server/verbs/Ownership.ts"
import type { Seen } from "./AdmissionReview.ts"
import * as Matching from "./Matching.ts"
import * as Policies from "./Policies.ts"
import * as PolicyExpressions from "./PolicyExpressions.ts"

interface Mutation {
  readonly patchType: "ApplyConfiguration" | "JSONPatch"
  readonly expression: Cel.Compilation
}

interface Compiled {
  readonly scope: PolicyExpressions.Scope
  readonly conditions: MatchConditions.Matcher | undefined
  readonly mutations: ReadonlyArray<Mutation>
  readonly reinvocable: boolean
}

export const applyType = Cel.Types.struct("Object")
export const patchType = Cel.Types.list(Cel.Types.struct("JSONPatch"))

const mutationOf = (scope: PolicyExpressions.Scope) => (mutation: unknown): Mutation => {
  const environment = scope.environment({ authorizer: true, patch: true })
  return stringAt(mutation, "patchType") === "JSONPatch"
    ? {
      patchType: "JSONPatch",
      expression: Cel.compile(stringAt(mutation, "jsonPatch", "expression"), environment, patchType)
    }
    : {
      patchType: "ApplyConfiguration",
      expression: Cel.compile(stringAt(mutation, "applyConfiguration", "expression"), environment, applyType)
    }
}

const compile = (object: KubeObject): Compiled => {
  const { spec } = object as KubeObject & { readonly spec?: unknown }
  const scope = PolicyExpressions.scope(spec)
  const conditions = arrayAt(spec, "matchConditions").map((condition) => ({
    name: stringAt(condition, "name"),
    expression: stringAt(condition, "expression")
  }))
  const failurePolicy = stringAt(spec, "failurePolicy") === "Ignore" ? "Ignore" : "Fail"
  return {
    scope,
    conditions: conditions.length === 0
      ? undefined
      : MatchConditions.matcher(conditions, failurePolicy, scope.environment({ authorizer: true, patch: false })),
    mutations: arrayAt(spec, "mutations").map(mutationOf(scope)),
    reinvocable: stringAt(spec, "reinvocationPolicy") === "IfNeeded"
  }
}

type Patched = Result.Result<unknown, string>

/** The type names in an apply configuration must match their position in the object. */
const misnamed = (value: Value, path: string): ReadonlyArray<string> => {
  if (value instanceof ListValue) return value.toArray().flatMap((item) => misnamed(item, path))
  if (!(value instanceof MapValue)) return []
  const own = value instanceof ObjectValue && value.type !== path
    ? [
      `unexpected type name ${quote(value.type)}, expected ${
        quote(path)
      }, which matches field name path from root Object type`
    ]
    : []
  return value instanceof ObjectValue
    ? [...own, ...[...value.fields].flatMap(([name, field]) => misnamed(field, `${path}.${name}`))]
    : []
}

/** The paths of lists, maps and objects in a value that can only be replaced as a whole. */
const atomics = (type: Type | undefined, value: unknown, path: string): ReadonlyArray<string> => {
  if (type === undefined) return []
  if (JsonValue.isObject(value) && type.map !== undefined) {
    const { map } = type
    return [
      ...(map.atomic ? [path] : []),
      ...Object.entries(value).flatMap(([name, inner]) => atomics(fieldType(map, name), inner, `${path}.${name}`))
    ]
  }
  if (!JsonValue.isArray(value) || type.list === undefined) return []
  const { list } = type
  return [
    ...(list.associative ? [] : [path]),
    ...value.flatMap((item, index) => atomics(list.element, item, `${path}[${index}]`))
  ]
}

const merged = ({ kind, object, resource }: Seen, value: Value): Patched => {
  const names = misnamed(value, "Object")
  if (names.length > 0) return Result.fail(`type mismatch: ${names.join("\n")}`)
  const made = Cel.toJson(value)
  if ("fault" in made) return Result.fail(made.fault)
  const type = Ownership.typeOf(resource)
  const config = { ...objectAt(made.json), apiVersion: apiVersionOf(kind), kind: kind.kind }
  const problems = Checking.problems(type, config, "refused")
  if (problems.length > 0) {
    const why = `failed to convert patch object to typed object: ${Problems.message(problems)}`
    return Result.fail(`error applying patch: ${why}`)
  }
  const found = atomics(type, config, "")
  if (found.length > 0) {
    const where = found.join(", ")
    const why = `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${where}`
    return Result.fail(`error applying patch: ${why}`)
  }
  return Result.mapError(
    Merging.merge(type, object, config),
    (why) => `error applying patch: failed to merge patch: ${why}`
  )
}

/** The operations in a list of `JSONPatch`. */
const operations = (value: Value): Result.Result<ReadonlyArray<unknown>, string> => {
  if (!(value instanceof ListValue)) return Result.fail("unsupported return type from JSONPatch expression")
  const made: Array<unknown> = []
  for (const item of value.toArray()) {
    if (!(item instanceof ObjectValue)) return Result.fail("unsupported return type from JSONPatch expression")
    const operation = Cel.toJson(item)
    if ("fault" in operation) return Result.fail(operation.fault)
    made.push(operation.json)
  }
  return Result.succeed(made)
}

const patchedBy = ({ object }: Seen, value: Value): Patched => {
  const list = operations(value)
  if (Result.isFailure(list)) return Result.fail(list.failure)
  const applied = JsonPatch.apply(object, list.success)
  if (Result.isSuccess(applied)) return Result.succeed(applied.success)
  // A failed test means that the patch is skipped.
  return /test(?:ing value .*)? failed/.test(applied.failure.message)
    ? Result.succeed(object)
    : Result.fail(`JSON Patch: ${applied.failure.message}`)
}

/** Decodes a changed object as its kind. */
const read = ({ attributes, kind, resource }: Seen, value: unknown): Result.Result<KubeObject, string> => {
  const typed = { ...objectAt(value), apiVersion: apiVersionOf(kind), kind: kind.kind }
  if (!Matching.bringsObjects(resource, attributes.subresource)) return Result.succeed(asObject(typed))
  const decoded = resource.adopt({ ...typed, metadata: objectAt(value, "metadata") })
  return Result.isSuccess(decoded)
    ? Result.succeed(asObject(decoded.success))
    : Result.fail(decoded.failure.body.message ?? "")
}

/** Applies one mutation to an object. */
const mutate = (
  server: Admission.Server,
  invocation: Policies.Invocation<Compiled>,
  mutation: Mutation
): Result.Result<KubeObject, string> => {
  const { policy: { compiled }, seen } = invocation
  const budget = { remaining: Cel.objectBudget }
  if (mutation.expression._tag === "Refused") return Result.fail(mutation.expression.detail)
  const evaluate = PolicyExpressions.evaluator(compiled.scope, Policies.variables(server, invocation), budget)
  const result = evaluate(mutation.expression)
  if (result._tag === "Failed") return Result.fail(result.message)
  const changed = mutation.patchType === "JSONPatch" ? patchedBy(seen, result.value) : merged(seen, result.value)
  return Result.flatMap(changed, (value) => read(seen, value))
}

/** The state of policies between the two rounds. */
interface Notes {
  waiting: Set<string>
  readonly again: Set<string>
  last: KubeObject | undefined
}

const wake = (notes: Notes): void => {
  for (const key of notes.waiting) notes.again.add(key)
  notes.waiting = new Set()
}

interface Denial {
  readonly message: string
  /** Set only for a policy that was evaluated. */
  readonly reason: string | undefined
}

const denial = (
  { binding, message, policy }: Policies.ConfigurationFault,
  reason: string | undefined
): Denial => ({
  reason,
  message: binding === undefined
    ? `policy ${quote(policy.name)} denied request: ${message}`
    : `policy '${policy.name}' with binding '${binding.name}' denied request: ${message}`
})

/** One refusal for all denials, with the message of the first. */
const refusal = (attributes: Admission.Attributes, denials: ReadonlyArray<Denial>): StatusError.StatusError => {
  const { body } = Admission.forbidden(attributes, "admission request denied by policy")
  const causes = [...body.details?.causes ?? [], ...denials.map(({ message }) => ({ message }))]
  const [first] = denials
  return StatusError.make(403, first!.reason ?? "Forbidden", first!.message, { ...body.details, causes })
}

const name = "MutatingAdmissionPolicy"

/** `MutatingAdmissionPolicy`. */
export const plugin = (server: Admission.Server): Admission.Plugin => {
  const hooks = Policies.hooks(server, "mutatingadmissionpolicies", compile)

  const notesOf = ({ rounds }: Admission.Attributes): Notes => {
    let notes = rounds.notes.get(name) as Notes | undefined
    if (notes === undefined) {
      notes = { waiting: new Set(), again: new Set(), last: undefined }
      rounds.notes.set(name, notes)
    }
    return notes
  }

  const run = Effect.fnUntraced(function*(attributes: Admission.Attributes, object: KubeObject) {
    const notes = notesOf(attributes)
    const second = attributes.rounds.number === 1
    if (second && !JsonValue.equals(notes.last, object)) wake(notes)
    let current = object
    const denials: Array<Denial> = []
    const found = yield* Effect.forEach(hooks(), (hook) => Policies.invocations(server, hook, attributes, "mutating"))
    for (const item of found.flat()) {
      if ("message" in item) {
        if (!item.policy.ignoresFailure) denials.push(denial(item, undefined))
        continue
      }
      const { binding, param, policy } = item
      const invocation = { resource: item.seen.resource, kind: item.seen.kind }
      let seen = yield* Policies.seen({ ...attributes, object: current }, invocation)
      const deny = (message: string): void => {
        if (!policy.ignoresFailure) denials.push(denial({ policy, binding, message }, "Invalid"))
      }
      const match = policy.compiled.conditions?.(Policies.variables(server, { param, seen }))
      if (match?._tag === "Failed") deny(match.message)
      if (match !== undefined && match._tag !== "Matches") continue
      const key = `${policy.name}/${binding.name}/${param?.metadata.namespace ?? ""}/${param?.metadata.name ?? ""}`
      if (second && !notes.again.has(key)) continue
      const before = seen.object
      for (const mutation of policy.compiled.mutations) {
        const result = mutate(server, { ...item, seen }, mutation)
        if (Result.isFailure(result)) deny(result.failure)
        else seen = { ...seen, object: result.success }
      }
      if (!JsonValue.equals(before, seen.object)) {
        current = (yield* Policies.back(seen, seen.object!)) ?? current
        wake(notes)
        attributes.rounds.repeat()
      }
      if (policy.compiled.reinvocable) notes.waiting.add(key)
    }
    notes.last = current
    return denials.length === 0 ? current : yield* Effect.fail(refusal(attributes, denials))
  })

  return {
    name,
    handles: (attributes) => hooks().length > 0 && !Matching.isUnjudged(attributes),
    mutate: run
  }
}
