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

/** An object of `A` with its identity, and of its content what `B` has. */
export type Projected<A extends KubeObject, B> =
  & { readonly apiVersion: A["apiVersion"]; readonly kind: A["kind"]; readonly metadata: A["metadata"] }
  & B

export interface Options {
  /** Which annotations stay; all by default. */
  readonly annotations?: ((key: string) => boolean) | undefined
}

/** The kind with the parts a function picks; `name` tells the projections of one kind apart. */
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
    // There is no value: see `Resource`.
    Type: undefined as never,
    decode: (json) => Result.flatMap(resource.decode(json), (object) => attempt(name, () => project(object))),
    encode: partial(name)
  }
}

/** The kind without anything but metadata, which is all the server sends of it. */
export const metadata = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: Options = {}
): Resource.Resource<Projected<A, unknown>, `${Id}/metadata`> => ({
  ...resource,
  id: `${resource.id}/metadata`,
  metadataOnly: true,
  Type: undefined as never,
  // On the wire it is a `PartialObjectMetadata` of meta.k8s.io; an answer to a write is whole.
  decode: (json) =>
    Result.succeed({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: keepAnnotations((json as A).metadata, options.annotations)
    }),
  encode: partial("metadata")
})

/**
 * The kind as it is, for a cache of which little is read: its objects are kept as text, and each is parsed when it is
 * first read, once for each version. What files, lists by namespace and expires them is known without. A list without a
 * namespace, a selector or index over it, and a controller that is woken by it, parse every object they look at.
 *
 * Objects are what the server sent: they are not checked against a Schema, and are those of a kind without one.
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

/** One function for all: what it is tells projections of a name apart. */
const plain = Result.succeed as (json: unknown) => Result.Result<KubeObject, Resource.Invalid>

/**
 * The kind without some fields, which a cache does not hold, and a live client cuts from the bytes before they are parsed:
 * `Projection.without(Node, "images", ["status.images"])`. A path leads through objects by their names, and through lists
 * by `*`. Fields that identify and relate an object stay.
 */
export const without = <A extends KubeObject, Id extends string, const Name extends string>(
  resource: Resource.Resource<A, Id>,
  name: Name,
  paths: ReadonlyArray<string>
): Resource.Resource<A, `${Id}/${Name}`> => {
  for (const path of paths) {
    if (!/^[^.*]+(\.[^.]+)+$/.test(path) || needed.test(path)) {
      throw new Error(
        `Projection.without: ${name}: ${JSON.stringify(path)}: must be a path below an object's own fields, ` +
          `such as status.images or spec.containers.*.env`
      )
    }
  }
  const split = paths.map((path) => path.split("."))
  return {
    ...resource,
    id: `${resource.id}/${name}`,
    without: paths,
    Type: undefined as never,
    decode: (json) => resource.decode(split.reduce(dropped, json)),
    encode: partial(name)
  }
}

/** What a cache lives on. */
const needed = /^metadata\.(name|namespace|uid|resourceVersion|labels|ownerReferences|creationTimestamp)\b/

/** The value without the field of a path; itself where there is none. */
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
  Result.fail({ issues: [`a projection (${name}) is not the whole object: patch it, or write it as its own kind`] })

const attempt = <B>(name: string, project: () => B): Result.Result<B, Resource.Invalid> =>
  total(() => Result.succeed(project()), (thrown) => `projection ${name} failed: ${thrown}`)

const keepAnnotations = <M extends KubeObject["metadata"]>(metadata: M, keep: Options["annotations"]): M => {
  if (keep === undefined || metadata.annotations === undefined) return metadata
  return {
    ...metadata,
    annotations: Object.fromEntries(Object.entries(metadata.annotations).filter(([key]) => keep(key)))
  }
}
