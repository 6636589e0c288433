/**
 * `CrdValidation`: what the API server would say about an object, before it is sent.
 *
 * The schema of the definition is checked as the server does: pruning and defaults, keywords, duplicates in lists, then
 * the CEL rules with `self` and `oldSelf`. All errors are reported at once, each with its path and in the server's
 * words. What only the server can know is not checked: admission, quotas, whether a name is taken.
 *
 * `checked` puts the same checks into a resource's decoder. A Schema can express much that a definition cannot, and a
 * definition much that a Schema cannot. Objects of a checked resource satisfy both, including those that were stored
 * before a rule existed. Any other object is `Invalid`: the controller reports it by an event on the object, a metric
 * and a log line, and goes on with the others.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Result from "effect/Result"
import * as Crd from "./Crd.ts"
import * as FieldError from "./schema/FieldError.ts"
import * as Schemas from "./schema/Schema.ts"
import * as StructuralSchema from "./schema/StructuralSchema.ts"

const schemas = new WeakMap<object, StructuralSchema.Schema>()

/** The schema of a kind, built once. */
const schemaOf = (resource: CustomResource): StructuralSchema.Schema => {
  const known = schemas.get(resource.schemas)
  if (known !== undefined) return known
  const made = Schemas.asRoot(Crd.schemaOf(resource) as StructuralSchema.Schema)
  schemas.set(resource.schemas, made)
  return made
}

/** The faults of an object's JSON as it would be sent. `previous` is the object that an update replaces. */
export const faults = (resource: CustomResource, json: unknown, previous?: unknown): ReadonlyArray<string> => {
  const schema = schemaOf(resource)
  const filled = (value: unknown): unknown =>
    StructuralSchema.applyDefaults(schema, StructuralSchema.prune(schema, value as never))
  const object = filled(json)
  const before = previous === undefined ? undefined : filled(previous)
  const { errors } = StructuralSchema.judge(schema, object, before, "object", [])
  return errors.map(FieldError.format)
}

/**
 * The JSON of a typed object, or all its faults: those that its Schema finds, then those that the server would find.
 */
export const validate = <A extends KubeObject>(
  resource: CustomResource<A>,
  object: Resource.Input<A>,
  options: { readonly previous?: A } = {}
): Result.Result<unknown, Resource.Invalid> => {
  const whole = { ...object, apiVersion: resource.apiVersion, kind: resource.kind }
  return Result.flatMap(resource.encode(whole), (json) => {
    const before = options.previous === undefined ? undefined : Result.getOrUndefined(resource.encode(options.previous))
    const issues = faults(resource, json, before)
    return issues.length === 0 ? Result.succeed(json) : Result.fail({ issues })
  })
}

/** The resource with a decoder that also refuses objects that the server would refuse today. */
export const checked = <A extends KubeObject, Id extends string>(
  resource: CustomResource<A, Id>
): CustomResource<A, Id> => ({
  ...resource,
  decode: (json) =>
    Result.flatMap(resource.decode(json), (object) => {
      // An object that is being deleted must stay readable, so that its finalizers can run, even if it is invalid.
      const issues = isTerminating(object) ? [] : faults(resource, json)
      return issues.length === 0 ? Result.succeed(object) : Result.fail({ issues })
    })
})
