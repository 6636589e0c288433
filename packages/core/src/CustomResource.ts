/**
 * `CustomResource.make`: one declaration gives the TypeScript type, the decoder, the descriptor and (in
 * `@effect-operator/k8s`) the CustomResourceDefinition.
 *
 * Unknown fields survive: what a Schema does not know stays in the decoded object and goes back with it, so that a
 * read-modify-write by an older operator never erases what a newer one wrote. A spec that does not decode makes the
 * object `Invalid`, with every fault and its path. A status that does not decode counts as absent: the status is the
 * operator's own word, and its next write replaces it.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** A Schema without services: decoding an object may not need anything but the object. */
export type AnySchema = Schema.Codec<any, any, never, never>

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "integer" | "number" | "boolean" | "date"
  readonly jsonPath: string
  readonly description?: string
  readonly format?: string
  /** 0 shows always, above only with `-o wide`. */
  readonly priority?: number
}

/** Where the scale subresource finds its numbers (`kubectl scale`, autoscalers). */
export interface Scale {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** What a kind is declared from. */
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
  /** The lower-case kind with an `s` by default. */
  readonly plural?: string
  readonly singular?: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly spec: Spec
  /** With a status comes the status subresource. */
  readonly status?: Status
  readonly printerColumns?: ReadonlyArray<PrinterColumn>
  readonly scale?: Scale
  readonly description?: string
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
  readonly printerColumns: ReadonlyArray<PrinterColumn>
  readonly scale: Scale | undefined
  readonly description: string | undefined
}

/** Declares a custom kind. Throws on a name the API server would refuse: that is a mistake in the program. */
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
  const spec = codec(options.spec, "spec")
  const status = options.status === undefined ? undefined : codec(options.status, "status")
  const { kind } = options
  const subresources = [
    ...(options.status === undefined ? [] : ["status"]),
    ...(options.scale === undefined ? [] : ["scale"])
  ]
  const resource = Resource.make<CustomObject<G, V, K, S, Spec["Type"], Status["Type"]>>()({
    group: options.group,
    version: options.version,
    kind,
    plural: options.plural ?? `${kind.toLowerCase()}s`,
    singular: options.singular,
    shortNames: options.shortNames,
    categories: options.categories,
    scope: options.scope ?? "Namespaced",
    subresources,
    decode: (json) => {
      if (!isRecord(json) || !isRecord(json.metadata)) {
        return Result.fail({ issues: [`metadata: missing: the value is no ${kind}`] })
      }
      const decoded = spec.decode(json.spec)
      if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
      const { status: rawStatus, ...rest } = json
      const known = status === undefined || rawStatus === undefined ? undefined : status.decode(rawStatus)
      return Result.succeed(
        known !== undefined && Result.isSuccess(known)
          ? { ...rest, spec: decoded.success, status: known.success }
          : { ...rest, spec: decoded.success }
      )
    },
    encode: (object) => {
      const json = object as { readonly spec?: unknown; readonly status?: unknown }
      const encoded = spec.encode(json.spec)
      if (Result.isFailure(encoded)) return Result.fail(encoded.failure)
      if (status === undefined || json.status === undefined) return Result.succeed({ ...json, spec: encoded.success })
      const known = status.encode(json.status)
      return Result.map(known, (status) => ({ ...json, spec: encoded.success, status }))
    }
  })
  return {
    ...resource,
    schemas: { spec: options.spec, status: options.status },
    printerColumns: options.printerColumns ?? [],
    scale: options.scale,
    description: options.description
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

/** `spec.ports[0].name: Expected string, got 5`, one line per fault. */
const invalid = (path: string) => (error: Schema.SchemaError): Resource.Invalid => ({
  issues: formatIssues(error.issue).issues.map((issue) => {
    const field = (issue.path ?? []).reduce<string>((field, segment) => {
      const key = typeof segment === "object" ? segment.key : segment
      return typeof key === "number" ? `${field}[${key}]` : `${field}.${String(key)}`
    }, path)
    return `${field}: ${issue.message.replaceAll("\n", " ")}`
  })
})

/** Both directions of one Schema, keeping what the Schema does not know. */
const codec = (schema: AnySchema, path: string) => {
  const decodes = Schema.decodeUnknownResult(schema, { errors: "all" })
  const encodes = Schema.encodeUnknownResult(schema, { errors: "all" })
  const through = (
    there: (value: unknown) => Result.Result<unknown, Schema.SchemaError>,
    back: (value: unknown) => Result.Result<unknown, Schema.SchemaError>
  ) =>
  (value: unknown): Result.Result<unknown, Resource.Invalid> =>
    Result.mapError(
      Result.flatMap(there(value), (result) => Result.map(back(result), (known) => carry(value, known, result))),
      invalid(path)
    )
  return { decode: through(decodes, encodes), encode: through(encodes, decodes) }
}

/**
 * Adds to `into` what `full` has and `known` lacks. `known` is what came back of `full` after a trip through the
 * Schema, `into` what the Schema made of it: the difference of the first two is what the Schema ignored.
 */
const carry = (full: unknown, known: unknown, into: unknown): unknown => {
  if (Array.isArray(full)) {
    if (!Array.isArray(known) || !Array.isArray(into) || known.length !== full.length || into.length !== full.length) {
      return into
    }
    const items = full.map((item, i) => carry(item, known[i], into[i]))
    return items.some((item, i) => item !== into[i]) ? items : into
  }
  if (!isRecord(full) || !isRecord(known) || !isRecord(into)) return into
  let result: Record<string, unknown> | undefined
  for (const key of Object.keys(full)) {
    const value = Object.hasOwn(known, key)
      ? Object.hasOwn(into, key) ? carry(full[key], known[key], into[key]) : undefined
      : Object.hasOwn(into, key)
      ? into[key]
      : full[key]
    if (value !== undefined && value !== into[key]) {
      result ??= Object.assign(Object.create(Object.getPrototypeOf(into) as object | null) as object, into)
      result[key] = value
    }
  }
  return result ?? into
}

const checkNames = (options: {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural?: string
}): void => {
  const check = (field: string, value: string, pattern: RegExp, remedy: string) => {
    if (!pattern.test(value)) throw new Error(`CustomResource.make: ${field}: ${JSON.stringify(value)}: ${remedy}`)
  }
  check(
    "group",
    options.group,
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/,
    "must be a DNS subdomain with a dot, such as example.com"
  )
  check(
    "version",
    options.version,
    /^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$|^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    "must be a version such as v1 or v1alpha1"
  )
  check("kind", options.kind, /^[A-Z][A-Za-z0-9]*$/, "must be in CamelCase, such as Autoscaler")
  check(
    "plural",
    options.plural ?? `${options.kind.toLowerCase()}s`,
    /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    "must be lower-case letters and digits"
  )
}
