/**
 * `CustomResource.make`: one declaration gives the TypeScript type, the decoder, the descriptor and (in
 * `@effect-operator/k8s`) the CustomResourceDefinition.
 *
 * Unknown fields survive: what a Schema does not know stays in the decoded object and is written back with it, so a
 * read-modify-write by an older operator never erases what a newer one wrote. A spec that does not decode makes the
 * object `Invalid`, with every error and its path; so does one on which a transformation of the Schema throws. A status
 * that does not decode counts as absent: the status belongs to the operator, and its next write replaces it.
 *
 * For an object that is being deleted only the types count, not limits, patterns and other checks of its values.
 * Otherwise an object that was stored before a limit existed would never be cleaned up, and its namespace would never
 * be deleted.
 *
 * If a Schema makes class instances, a plain object with the same fields is also accepted: change what you read by
 * spreading it. A new instance (`new Spec(…)`) has only the fields that its class knows.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Rule } from "./CelRule.ts"
import { isObject as isRecord } from "./internal/jsonMerge.ts"
import * as SchemaCodec from "./internal/schemaCodec.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** A Schema without services: decoding may depend only on the object. */
export type AnySchema = Schema.Codec<any, any, never, never>

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "integer" | "number" | "boolean" | "date"
  readonly jsonPath: string
  readonly description?: string
  readonly format?: string
  /** 0 is always shown, higher values only with `-o wide`. */
  readonly priority?: number
}

/** Where the scale subresource finds its values (`kubectl scale`, autoscalers). */
export interface Scale {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** The declaration of a kind. */
export interface Options<
  G extends string,
  V extends string,
  K extends string,
  S extends Resource.Scope,
  Spec extends AnySchema,
  Status extends AnySchema
> {
  readonly group: G
  readonly version: V
  readonly kind: K
  /** `Namespaced` by default. */
  readonly scope?: S
  /** The English plural of the lower-case kind by default. */
  readonly plural?: string
  readonly singular?: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  /** `Schema.UndefinedOr(…)` if objects may have none. */
  readonly spec: Spec
  /** Enables the status subresource. */
  readonly status?: Status
  readonly printerColumns?: ReadonlyArray<PrinterColumn>
  readonly scale?: Scale
  readonly description?: string
  /** CEL rules about the whole object: its spec and status together, or its name. */
  readonly rules?: ReadonlyArray<Rule<"apiVersion" | "kind" | "metadata" | "spec" | "status">>
  /** Fields of the object that a `fieldSelector` may use: `.spec.color`. Supported by servers since 1.30. */
  readonly selectableFields?: ReadonlyArray<string>
  /** Makes the server warn users of this version, in its own words or in these. */
  readonly deprecated?: boolean | string
}

/** An object of a custom kind. */
export interface CustomObject<
  G extends string,
  V extends string,
  K extends string,
  S extends Resource.Scope,
  Spec,
  Status
> extends KubeObject {
  readonly apiVersion: `${G}/${V}`
  readonly kind: K
  readonly metadata: Resource.MetaOf<S>
  readonly spec: Spec
  readonly status?: Status
}

/** A resource with the Schemas it was declared from. */
export interface CustomResource<out A extends KubeObject = KubeObject, out Id extends string = string>
  extends Resource.Resource<A, Id>
{
  readonly schemas: { readonly spec: AnySchema; readonly status: AnySchema | undefined }
  /** Decodes and encodes types only, without limits, patterns and other checks of values. */
  readonly unchecked: Pick<Resource.Resource<A>, "decode" | "encode">
  readonly printerColumns: ReadonlyArray<PrinterColumn>
  readonly scale: Scale | undefined
  readonly description: string | undefined
  readonly rules: ReadonlyArray<Rule<string>>
  readonly selectableFields: ReadonlyArray<string>
  readonly deprecated: boolean | string
}

/** Declares a custom kind. Throws on a name that the API server would refuse, which is a bug in the program. */
export const make = <
  const G extends string,
  const V extends string,
  const K extends string,
  Spec extends AnySchema,
  Status extends AnySchema = Schema.Codec<never, never>,
  const S extends Resource.Scope = "Namespaced"
>(
  options: Options<G, V, K, S, Spec, Status>
): CustomResource<CustomObject<G, V, K, S, Spec["Type"], Status["Type"]>, Resource.Id<G, V, K>> => {
  checkNames(options)
  checkSchemas(options)
  type A = CustomObject<G, V, K, S, Spec["Type"], Status["Type"]>
  const checked = whole(options, true)
  const unchecked = whole(options, false)
  const { kind } = options
  const subresources = [
    ...(options.status === undefined ? [] : ["status"]),
    ...(options.scale === undefined ? [] : ["scale"])
  ]
  const resource = Resource.make<A>()({
    group: options.group,
    version: options.version,
    kind,
    plural: options.plural ?? pluralOf(kind),
    singular: options.singular,
    shortNames: options.shortNames,
    categories: options.categories,
    scope: options.scope ?? "Namespaced",
    subresources,
    decode: (json) => (isBeingDeleted(json) ? unchecked : checked).decode(json),
    encode: (object) => (isBeingDeleted(object) ? unchecked : checked).encode(object),
    encodeFields: checked.encodeFields
  })
  return {
    ...resource,
    schemas: { spec: options.spec, status: options.status },
    unchecked,
    printerColumns: options.printerColumns ?? [],
    scale: options.scale,
    description: options.description,
    rules: options.rules ?? [],
    selectableFields: options.selectableFields ?? [],
    deprecated: options.deprecated ?? false
  }
}

/** Decodes and encodes whole objects. */
const whole = (
  options: Pick<Options<string, string, string, Resource.Scope, AnySchema, AnySchema>, "kind" | "spec" | "status">,
  checks: boolean
): Pick<Resource.Resource<any>, "decode" | "encode" | "encodeFields"> => {
  const spec = SchemaCodec.make(options.spec, "spec", checks)
  const status = options.status === undefined ? undefined : SchemaCodec.make(options.status, "status", checks)
  const withoutSpec = Schema.is(options.spec)(undefined)
  return {
    decode: (json) => {
      if (!isRecord(json) || !isRecord(json.metadata)) {
        return Result.fail({ issues: [`metadata: missing: the value is not of kind ${options.kind}`] })
      }
      const decoded = json.spec === undefined && withoutSpec ? Result.succeed(undefined) : spec.decode(json.spec)
      if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
      if (status === undefined || json.status === undefined) return Result.succeed({ ...json, spec: decoded.success })
      const { status: rawStatus, ...rest } = json
      const known = status.decode(rawStatus)
      return Result.succeed({
        ...rest,
        spec: decoded.success,
        ...(Result.isSuccess(known) ? { status: known.success } : {})
      })
    },
    encode: (object) => {
      const json = object as Parts
      const encoded = json.spec === undefined && withoutSpec ? Result.succeed(undefined) : spec.encode(json.spec)
      return together(json, encoded, ifThere(status?.encode, json.status))
    },
    encodeFields: (fields) => {
      const json = fields as Parts
      return together(json, ifThere(spec.encodeFields, json.spec), ifThere(status?.encodeFields, json.status))
    }
  }
}

interface Parts {
  readonly spec?: unknown
  readonly status?: unknown
}

type Part = Result.Result<unknown, Resource.Invalid> | undefined

const ifThere = (encode: SchemaCodec.SchemaCodec["encode"] | undefined, part: unknown): Part =>
  part === undefined ? undefined : encode?.(part)

/** The object with its encoded parts, or the issues of both. */
const together = (json: Parts, spec: Part, status: Part): Result.Result<unknown, Resource.Invalid> => {
  const issues = [spec, status].flatMap((part) =>
    part !== undefined && Result.isFailure(part) ? part.failure.issues : []
  )
  if (issues.length > 0) return Result.fail({ issues })
  return Result.succeed({
    ...json,
    ...(spec !== undefined && Result.isSuccess(spec) ? { spec: spec.success } : {}),
    ...(status !== undefined && Result.isSuccess(status) ? { status: status.success } : {})
  })
}

const isBeingDeleted = (json: unknown): boolean =>
  isRecord(json) && isRecord(json.metadata) && json.metadata["deletionTimestamp"] !== undefined

/** The English plural, as Kubernetes forms it: `ingresses`, `policies`, `pods`. */
const pluralOf = (kind: string): string => {
  const singular = kind.toLowerCase()
  if (/(s|x|z|ch|sh)$/.test(singular)) return `${singular}es`
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`
}

/** In a circular import a Schema may still be undefined, which types do not show. */
const checkSchemas = ({ spec, status }: { readonly spec: unknown; readonly status?: unknown }): void => {
  const check = (field: string, value: unknown, besides: string) => {
    if (Schema.isSchema(value)) return
    throw new Error(
      `CustomResource.make: ${field}: ${JSON.stringify(value)}: must be a Schema, such as ` +
        `Schema.Struct({ replicas: Schema.Int })${besides}`
    )
  }
  check("spec", spec, "")
  if (status !== undefined) check("status", status, ", or left out")
}

const checkNames = (options: {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural?: string
  readonly singular?: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
}): void => {
  const check = (field: string, value: string, max: number, pattern: RegExp, remedy: string) => {
    if (value.length <= max && pattern.test(value)) return
    throw new Error(
      `CustomResource.make: ${field}: ${JSON.stringify(value)}: ${remedy}, and be at most ${max} characters long`
    )
  }
  const label = (field: string, value: string, example: string) =>
    check(
      field,
      value,
      63,
      /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
      `must begin with a letter, consist of lower-case letters, digits and "-" (such as ${example})`
    )
  const plural = options.plural ?? pluralOf(options.kind)
  check(
    "group",
    options.group,
    // The name of the CustomResourceDefinition, `<plural>.<group>`, has at most 253 characters.
    252 - plural.length,
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/,
    "must be a DNS subdomain with a dot (such as example.com)"
  )
  label("version", options.version, "v1 or v1alpha1")
  // The server requires no more than this; kinds of others are not always in CamelCase.
  check(
    "kind",
    options.kind,
    63,
    /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/,
    "must begin with a letter, consist of letters and digits (such as Autoscaler)"
  )
  label("plural", plural, "autoscalers")
  if (options.singular !== undefined) label("singular", options.singular, "autoscaler")
  for (const [i, name] of (options.shortNames ?? []).entries()) label(`shortNames[${i}]`, name, "as")
  for (const [i, name] of (options.categories ?? []).entries()) label(`categories[${i}]`, name, "all")
}
