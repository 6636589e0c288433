/**
 * `Projection`: a kind with only those parts a program reads, so that a cache holds no more.
 *
 * A projection is a kind of its own to the type checker and to the cache: reading `RunningPod` needs a declaration of
 * `RunningPod`, and gives exactly its fields. The rest is dropped as objects are decoded, before they are stored; own
 * writes are seen as ever, also those made through the whole kind. What identifies, labels and relates an object is
 * always there; annotations may be dropped.
 *
 * ```ts
 * const PodPhase = Projection.make(Pod, "phase", ({ status }) => ({ status: { phase: status?.phase } }))
 * const SecretHead = Projection.metadata(Secret)
 * ```
 *
 * `metadata` also spares the wire: the server sends nothing else (`PartialObjectMetadata`). A projection cannot be
 * created or replaced, because what it left out would be lost; patch, apply and delete work as they do on the whole.
 */
import * as Result from "effect/Result"
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

const partial = (name: string) => (): Result.Result<never, Resource.Invalid> =>
  Result.fail({ issues: [`a projection (${name}) is not the whole object: patch it, or write it as its own kind`] })

const attempt = <B>(name: string, project: () => B): Result.Result<B, Resource.Invalid> =>
  Result.try({ try: project, catch: (defect) => ({ issues: [`projection ${name} failed: ${String(defect)}`] }) })

const keepAnnotations = <M extends KubeObject["metadata"]>(metadata: M, keep: Options["annotations"]): M => {
  if (keep === undefined || metadata.annotations === undefined) return metadata
  return {
    ...metadata,
    annotations: Object.fromEntries(Object.entries(metadata.annotations).filter(([key]) => keep(key)))
  }
}
