/**
 * `Projection`: a kind reduced to the parts that a program reads, so that a cache holds no more.
 *
 * A projection is a kind of its own to the type checker and to the cache: reading `RunningPod` needs a declaration of
 * `RunningPod`, and gives exactly its fields. The rest is dropped when objects are decoded, before they are stored. Own
 * writes are visible as usual, including those made through the whole kind. The fields that identify, label and relate
 * an object are always there; annotations may be dropped.
 *
 * ```ts
 * const PodPhase = Projection.make(Pod, "phase", ({ status }) => ({ status: { phase: status?.phase } }))
 * const SecretHead = Projection.metadata(Secret)
 * ```
 *
 * `metadata` also saves the transfer: the server sends nothing else (`PartialObjectMetadata`). A projection cannot be
 * created or replaced, because the dropped fields would be lost. Patch, apply and delete work as on the whole kind.
 */
import * as Result from "effect/Result"
import { total } from "./internal/total.ts"
import type { KubeObject } from "./KubeObject.ts"
import type * as Resource from "./Resource.ts"

/** An object of `A` with its identity, and the content of `B`. */
export type Projected<A extends KubeObject, B> =
  & { readonly apiVersion: A["apiVersion"]; readonly kind: A["kind"]; readonly metadata: A["metadata"] }
  & B

export interface Options {
  /** Which annotations are kept; all by default. */
  readonly annotations?: ((key: string) => boolean) | undefined
}

/** The kind with the parts that a function picks; `name` distinguishes the projections of one kind. */
export const make = <A extends KubeObject, Id extends string, const Name extends string, B extends object>(
  resource: Resource.Resource<A, Id>,
  name: Name,
  pick: (object: A) => B,
  options: Options = {}
): Resource.Resource<Projected<A, B>, `${Id}/${Name}`> => {
  const project = (object: A): Projected<A, B> => ({
    ...pick(object),
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: keepAnnotations(object.metadata, options.annotations)
  })
  return {
    ...resource,
    id: `${resource.id}/${name}`,
    partial: true,
    annotations: both(resource.annotations, options.annotations),
    // There is no value: see `Resource`.
    Type: undefined as never,
    decode: (json) => Result.flatMap(resource.decode(json), (object) => attempt(name, () => project(object))),
    encode: partial(name)
  }
}

/** The kind with metadata only, which is all that the server sends of it. */
export const metadata = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: Options = {}
): Resource.Resource<Projected<A, unknown>, `${Id}/metadata`> => ({
  ...resource,
  id: `${resource.id}/metadata`,
  partial: true,
  annotations: both(resource.annotations, options.annotations),
  metadataOnly: true,
  Type: undefined as never,
  // On the wire it is a `PartialObjectMetadata` of meta.k8s.io; the response to a write is the whole object.
  decode: (json) =>
    Result.succeed({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: keepAnnotations((json as A).metadata, options.annotations)
    }),
  encode: partial("metadata")
})

/**
 * The whole kind, for a cache of which few objects are read: they are kept as text, and each version is parsed when it
 * is first read. Filing, listing by namespace and expiring objects need no parsing. A list without a namespace, a
 * selector or index over it, and a controller that is woken by it parse every object they look at. Objects are what the
 * server sent: as for a kind without a Schema, they are not validated.
 */
export const lazy = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>
): Resource.Resource<A, `${Id}/lazy`> => ({
  ...resource,
  id: `${resource.id}/lazy`,
  lazy: true,
  Type: undefined as never,
  decode: plain as Resource.Resource<A>["decode"]
})

/** One function for all: `decode` distinguishes projections of the same name. */
const plain = Result.succeed as (json: unknown) => Result.Result<KubeObject, Resource.Invalid>

/**
 * The kind without some fields. A cache does not hold them, and a live client cuts them from the bytes before parsing:
 * `Projection.without(Node, "images", ["status.images"])`. A path names the members of objects, and has `*` for the
 * items of a list. Fields that identify and relate an object, or say how it ends, stay.
 */
export const without = <A extends KubeObject, Id extends string, const Name extends string>(
  resource: Resource.Resource<A, Id>,
  name: Name,
  paths: ReadonlyArray<string>
): Resource.Resource<A, `${Id}/${Name}`> => {
  for (const path of paths) {
    if (!/^[^.*]+(\.[^.]+)+$/.test(path) || needed.test(path)) {
      throw new Error(
        `Projection.without: ${name}: ${
          JSON.stringify(path)
        }: must be a path to a field inside a top-level field, and not one that identifies the object, ` +
          `such as status.images or spec.containers.*.env`
      )
    }
  }
  const split = paths.map((path) => path.split("."))
  return {
    ...resource,
    id: `${resource.id}/${name}`,
    partial: true,
    annotations: both(
      resource.annotations,
      paths.some((path) => path.startsWith("metadata.annotations"))
        ? (key) => !split.some(([a, b, name]) => a === "metadata" && b === "annotations" && (name ?? key) === key)
        : undefined
    ),
    without: [...resource.without ?? [], ...paths],
    Type: undefined as never,
    decode: (json) => resource.decode(split.reduce(dropped, json)),
    encode: partial(name)
  }
}

/** Whether a cache of the kind drops some of these fields, and so does not show changes of them. */
export const isBlind = ({ annotations, without = [] }: Resource.Any, fields: object): boolean => {
  const { metadata } = fields as { readonly metadata?: { readonly annotations?: object | undefined } | undefined }
  return without.some((path) => isThere(fields, path.split("."))) ||
    (annotations !== undefined && !Object.keys(metadata?.annotations ?? {}).every(annotations))
}

const isThere = (value: unknown, [name, ...rest]: ReadonlyArray<string>): boolean => {
  if (name === undefined) return true
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return name === "*" && value.some((part) => isThere(part, rest))
  return Object.hasOwn(value, name) && isThere((value as Readonly<Record<string, unknown>>)[name], rest)
}

/** The fields that a cache needs. */
const needed = new RegExp(
  "^metadata\\.(name|namespace|uid|resourceVersion|labels|ownerReferences|creationTimestamp|generation|finalizers|" +
    "deletionTimestamp)\\b"
)

/** The value without the field at a path; the same value if there is none. */
const dropped = (value: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
  if (typeof value !== "object" || value === null || name === undefined) return value
  if (Array.isArray(value)) return name === "*" ? value.map((part) => dropped(part, rest)) : value
  const fields = value as Readonly<Record<string, unknown>>
  if (!Object.hasOwn(fields, name)) return value
  const { [name]: found, ...others } = fields
  if (rest.length === 0) return others
  const left = dropped(found, rest)
  return left === found ? value : { ...fields, [name]: left }
}

const partial = (name: string) => (): Result.Result<never, Resource.Invalid> =>
  Result.fail({
    issues: [`a projection (${name}) is not the whole object: use a patch, or read and write the original kind`]
  })

const attempt = <B>(name: string, project: () => B): Result.Result<B, Resource.Invalid> =>
  total(() => Result.succeed(project()), (thrown) => `projection ${name} failed: ${thrown}`)

/** Keeps the annotations that both keep, for a projection of a projection. */
const both = (a: Options["annotations"], b: Options["annotations"]): Options["annotations"] =>
  a === undefined || b === undefined ? a ?? b : (key) => a(key) && b(key)

const keepAnnotations = <M extends KubeObject["metadata"]>(metadata: M, keep: Options["annotations"]): M => {
  if (keep === undefined || metadata.annotations === undefined) return metadata
  return {
    ...metadata,
    annotations: Object.fromEntries(Object.entries(metadata.annotations).filter(([key]) => keep(key)))
  }
}
