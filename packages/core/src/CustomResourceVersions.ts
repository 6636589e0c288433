/**
 * `CustomResourceVersions`: several versions of one kind, each a `CustomResource` of its own, and the conversions
 * between them.
 *
 * Versions are listed from the oldest to the newest, with a step between each two neighbours: either functions on whole
 * objects (`between`) or transformations of spec and status (`transformed`). Conversions between other versions chain
 * the steps. Steps convert what they know, and still nothing is lost: data that the target cannot express is kept in an
 * annotation of the object, named after the version it came from. On the way back it is restored, merged with the
 * changes made in between. An object that loses nothing has no annotation. So an object that is read in any version and
 * written back is unchanged, which is what the API server relies on.
 *
 * Conversion is pure, and works on JSON, as the server does: `convert` for one object, `review` for the
 * `ConversionReview` that a webhook answers. Limits, patterns and other checks of values do not count during
 * conversion: a server asks for all objects at once, and one that was stored before a limit existed would hide all
 * others. An object whose types do not fit cannot be converted. The server must be told, and then answers no request
 * that would need it.
 *
 * Source: "Versions in CustomResourceDefinitions" in the Kubernetes documentation.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaTransformation from "effect/SchemaTransformation"
import type { CustomResource } from "./CustomResource.ts"
import * as JsonMerge from "./internal/jsonMerge.ts"
import type { KubeObject } from "./KubeObject.ts"

type Content = { readonly spec: unknown; readonly status?: unknown }

/** The result of a step: the target's spec and status; labels and annotations only to change them. */
export interface Converted<Spec, Status> {
  readonly spec: Spec
  readonly status?: Status | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

type Output<R extends CustomResource> = R["Type"] extends { readonly spec: infer Spec; readonly status?: infer Status }
  ? Converted<Spec, Exclude<Status, undefined>>
  : never

type Move = (object: KubeObject) => Result.Result<Converted<unknown, unknown>, string>

/** The conversion between two adjacent versions. */
export interface Step {
  readonly older: CustomResource
  readonly newer: CustomResource
  readonly up: Move
  readonly down: Move
}

/** A step of two functions, each from an object to spec and status. If one throws, the object cannot be converted. */
export const between = <Older extends CustomResource, Newer extends CustomResource>(
  older: Older,
  newer: Newer,
  step: {
    readonly up: (object: Older["Type"]) => Output<Newer>
    readonly down: (object: Newer["Type"]) => Output<Older>
  }
): Step => {
  const move = (f: (object: never) => Converted<unknown, unknown>): Move => (object) =>
    Result.try({
      try: () => f(object as never),
      catch: (error) => error instanceof Error ? error.message : String(error)
    })
  return { older, newer, up: move(step.up), down: move(step.down) }
}

type Part<R extends CustomResource, K extends "spec" | "status"> = R["Type"] extends { readonly [P in K]?: infer A }
  ? Exclude<A, undefined>
  : never

/**
 * A step of transformations between the types of two specs, and of two statuses; without the latter, status stays as
 * is.
 */
export const transformed = <Older extends CustomResource, Newer extends CustomResource>(
  older: Older,
  newer: Newer,
  step: {
    readonly spec: SchemaTransformation.Transformation<Part<Newer, "spec">, Part<Older, "spec">>
    readonly status?: SchemaTransformation.Transformation<Part<Newer, "status">, Part<Older, "status">>
  }
): Step => {
  const spec = through(older.schemas.spec, newer.schemas.spec, step.spec)
  const status = step.status === undefined || older.schemas.status === undefined || newer.schemas.status === undefined
    ? { up: Result.succeed, down: Result.succeed }
    : through(older.schemas.status, newer.schemas.status, step.status)
  const move = (direction: "up" | "down"): Move => (object) => {
    const content = object as KubeObject & Content
    return Result.flatMap(spec[direction](content.spec), (spec) =>
      content.status === undefined
        ? Result.succeed({ spec })
        : Result.map(status[direction](content.status), (status) => ({ spec, status })))
  }
  return { older, newer, up: move("up"), down: move("down") }
}

type Parse = (value: unknown) => Result.Result<unknown, string>

const through = (
  older: Schema.Codec<any, any, never, never>,
  newer: Schema.Codec<any, any, never, never>,
  transformation: SchemaTransformation.Transformation<any, any, never, never>
): { readonly up: Parse; readonly down: Parse } => {
  const codec: Schema.Codec<any, any, never, never> = Schema.toType(older).pipe(
    Schema.decodeTo(Schema.toType(newer), transformation)
  )
  const all = { errors: "all", disableChecks: true } as const
  const told = (parse: (value: unknown) => Result.Result<unknown, Schema.SchemaError>): Parse => (value) =>
    Result.mapError(parse(value), ({ message }) => message)
  return { up: told(Schema.decodeUnknownResult(codec, all)), down: told(Schema.encodeUnknownResult(codec, all)) }
}

/** A kind in all its versions. */
export interface CustomResourceVersions {
  /** From the oldest to the newest. */
  readonly versions: ReadonlyArray<CustomResource>
  /** The version in which objects are stored. */
  readonly storage: CustomResource
  /** Names of the versions that clients can use. */
  readonly served: ReadonlySet<string>
  readonly steps: ReadonlyArray<Step>
}

/** Whether a kind is declared in several versions. */
export const isVersions = (declared: CustomResource | CustomResourceVersions): declared is CustomResourceVersions =>
  "versions" in declared

/** The storage version of a kind. */
export const storageOf = (declared: CustomResource | CustomResourceVersions): CustomResource =>
  isVersions(declared) ? declared.storage : declared

/** All versions of a kind, from the oldest to the newest. */
export const versionsOf = (declared: CustomResource | CustomResourceVersions): ReadonlyArray<CustomResource> =>
  isVersions(declared) ? declared.versions : [declared]

/** Combines versions. Throws if they do not fit together, which is a bug in the program. */
export const make = (options: {
  readonly steps: readonly [Step, ...ReadonlyArray<Step>]
  /** The newest by default. */
  readonly storage?: CustomResource
  /** Versions in which objects may still be stored, but which are no longer served. */
  readonly unserved?: ReadonlyArray<CustomResource>
}): CustomResourceVersions => {
  const { steps, unserved = [] } = options
  const versions = [steps[0].older, ...steps.map(({ newer }) => newer)]
  const fail = (why: string): never => {
    throw new Error(`CustomResourceVersions.make: ${versions.map(({ id }) => id).join(", ")}: ${why}`)
  }
  for (const [i, { newer }] of steps.entries()) {
    const next = steps[i + 1]
    if (next !== undefined && next.older !== newer) {
      fail(`steps: the step to ${newer.version} must be followed by the step from ${newer.version}`)
    }
  }
  const [first] = versions as [CustomResource]
  for (const { group, kind, plural, scope } of versions) {
    if (group !== first.group || kind !== first.kind || plural !== first.plural || scope !== first.scope) {
      fail("all versions must have the same group, kind, plural and scope")
    }
  }
  if (new Set(versions.map(({ version }) => version)).size < versions.length) {
    fail("steps: each version must occur only once")
  }
  const storage = options.storage ?? versions[versions.length - 1]!
  for (const named of [storage, ...unserved]) {
    if (!versions.includes(named)) fail(`storage and unserved must be versions of the steps: ${named.version} is not`)
  }
  const served = versions.filter((version) => !unserved.includes(version)).map(({ version }) => version)
  if (served.length === 0) fail("unserved: at least one version must be served")
  return { versions, storage, served: new Set(served), steps }
}

/** The annotation that keeps what a conversion from `resource` could not express. */
export const annotationOf = (resource: Pick<CustomResource, "group" | "version">): string =>
  `conversion.${resource.group}/${resource.version}`

const contentOf = ({ spec, status }: Content): Content => status === undefined ? { spec } : { spec, status }

/** Converts one object, as JSON of any of the versions, to another of them. */
export const convert = (
  { steps, versions }: Pick<CustomResourceVersions, "steps" | "versions">,
  object: KubeObject,
  desiredApiVersion: string
): Result.Result<KubeObject, string> => {
  const place = (apiVersion: string) => versions.findIndex((version) => version.apiVersion === apiVersion)
  const [from, to] = [place(object.apiVersion), place(desiredApiVersion)]
  if (from < 0) return Result.fail(`${object.apiVersion} is not a version of ${versions[0]!.kind}`)
  if (to < 0) return Result.fail(`${desiredApiVersion} is not a version of ${versions[0]!.kind}`)
  let current: Result.Result<KubeObject, string> = Result.succeed(object)
  for (let at = from; at < to; at++) {
    const { newer, older, ...moves } = steps[at]!
    current = Result.flatMap(current, (object) => step(older, newer, moves.up, moves.down, object))
  }
  for (let at = from; at > to; at--) {
    const { newer, older, ...moves } = steps[at - 1]!
    current = Result.flatMap(current, (object) => step(newer, older, moves.down, moves.up, object))
  }
  return current
}

/** One step from JSON to JSON, without recording what is lost. */
const moved = (
  source: CustomResource,
  target: CustomResource,
  move: Move,
  object: KubeObject
): Result.Result<KubeObject, string> => {
  const decoded = Result.mapError(source.unchecked.decode(object), ({ issues }) => issues.join("; "))
  return Result.flatMap(decoded, (object) =>
    Result.flatMap(move(object), ({ annotations, labels, spec, status }) => {
      // Unknown fields beside spec and status are carried along.
      const { spec: _, status: __, ...envelope } = object as KubeObject & Content
      const metadata = {
        ...object.metadata,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations })
      }
      const converted = {
        ...envelope,
        apiVersion: target.apiVersion,
        metadata,
        spec,
        ...(status === undefined ? {} : { status })
      }
      return Result.mapError(target.unchecked.encode(converted), ({ issues }) => issues.join("; ")) as Result.Result<
        KubeObject,
        string
      >
    }))
}

const step = (
  source: CustomResource,
  target: CustomResource,
  move: Move,
  back: Move,
  object: KubeObject
): Result.Result<KubeObject, string> => {
  const content = contentOf(object as KubeObject & Content)
  return Result.flatMap(moved(source, target, move, object), (plain) => {
    const restored = withKept(source, target, move, back, plain)
    const returned = moved(target, source, back, restored)
    // The step is lossy if the way back fails or yields something else.
    const lost = Result.isFailure(returned) ||
      !JsonMerge.equals(contentOf(returned.success as KubeObject & Content), content)
    return Result.succeed(annotated(restored, annotationOf(source), lost ? JSON.stringify(content) : undefined))
  })
}

/** The object with what an earlier conversion from `target` kept, merged with later changes. */
const withKept = (
  source: CustomResource,
  target: CustomResource,
  move: Move,
  back: Move,
  plain: KubeObject
): KubeObject => {
  const name = annotationOf(target)
  const kept = parsed(plain.metadata.annotations?.[name])
  const clean = annotated(plain, name, undefined)
  if (kept === undefined) return clean
  // The kept content after a round trip: only what differs from this was changed since.
  const { spec: _, status: __, ...envelope } = clean as KubeObject & Content
  const there = moved(target, source, back, { ...envelope, ...kept } as KubeObject)
  const baseline = Result.flatMap(there, (object) => moved(source, target, move, object))
  if (Result.isFailure(baseline)) return clean
  const merged = JsonMerge.overlay(
    kept,
    contentOf(baseline.success as KubeObject & Content),
    contentOf(clean as KubeObject & Content)
  )
  const result = { ...envelope, ...(merged as Content) } as KubeObject
  return Result.isSuccess(target.unchecked.decode(result)) ? result : clean
}

const parsed = (text: string | undefined): Content | undefined => {
  if (text === undefined) return undefined
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === "object" && value !== null && "spec" in value ? contentOf(value as Content) : undefined
  } catch {
    // Somebody has overwritten the annotation: it is ignored.
    return undefined
  }
}

/** The object with an annotation set, or removed if the value is undefined. */
const annotated = (object: KubeObject, name: string, value: string | undefined): KubeObject => {
  const { annotations, ...metadata } = object.metadata
  const { [name]: known, ...others } = annotations ?? {}
  if (known === value) return object
  const next = value === undefined ? others : { ...others, [name]: value }
  return {
    ...object,
    metadata: Object.keys(next).length === 0 ? metadata : { ...metadata, annotations: next }
  } as KubeObject
}

type Json = Readonly<Record<string, unknown>>

/** The response to a `ConversionReview` of apiextensions.k8s.io/v1: every object converted, or none and the reason. */
export const review = (versions: Pick<CustomResourceVersions, "steps" | "versions">, review: Json): Json => {
  const request = (review["request"] ?? {}) as Json
  const objects = (Array.isArray(request["objects"]) ? request["objects"] : []) as ReadonlyArray<KubeObject>
  const desired = String(request["desiredAPIVersion"])
  const respond = (response: Json): Json => ({
    apiVersion: review["apiVersion"],
    kind: review["kind"],
    response: { uid: request["uid"], ...response }
  })
  const convertedObjects: Array<KubeObject> = []
  for (const object of objects) {
    const converted = convert(versions, object, desired)
    if (Result.isFailure(converted)) {
      const { name, namespace } = object.metadata
      const message = `${object.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}: ${converted.failure}`
      return respond({ result: { status: "Failure", message } })
    }
    convertedObjects.push(converted.success)
  }
  return respond({ convertedObjects, result: { status: "Success" } })
}
