/**
 * `Resource`: the value that describes one kind, with the kind's TypeScript type and a literal identity.
 *
 * Built-in kinds come from `@effect-operator/k8s/kinds`, custom ones from `CustomResource.make`. Everything that
 * touches the API (client, cache, controller) takes a resource, never a string: the identity in its type makes reading
 * an undeclared kind a compile error (see `Cache`).
 */
import * as Result from "effect/Result"
import { type Invalid, total } from "./internal/total.ts"
import type { KubeObject, NamespacedObjectMeta, ObjectMeta, PartialObjectMeta } from "./KubeObject.ts"

export type { Invalid } from "./internal/total.ts"

/** Where objects of a kind live. */
export type Scope = "Namespaced" | "Cluster"

/** Describes a kind. `A` is the object's type, `Id` its identity (`Pod.v1`, `Deployment.v1.apps`). */
export interface Resource<out A extends KubeObject = KubeObject, out Id extends string = string> {
  readonly id: Id
  /** `""` for the core group. */
  readonly group: string
  readonly version: string
  /** `version`, or `group/version`. */
  readonly apiVersion: string
  readonly kind: string
  readonly listKind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  readonly scope: Scope
  /** The name of the cluster, if it is not the program's own: see `Cluster`. */
  readonly cluster?: string | undefined
  /** Whether objects lack some fields that the server has: see `Projection`. */
  readonly partial?: boolean | undefined
  /** Which annotations objects keep; undefined if all: see `Projection`. */
  readonly annotations?: ((key: string) => boolean) | undefined
  /** Whether the server is asked for metadata only: see `Projection`. */
  readonly metadataOnly?: boolean | undefined
  /** Whether a cache may keep objects as text until they are read: see `Projection`. */
  readonly lazy?: boolean | undefined
  /** Paths of fields, below those of every object, that a cache leaves out: see `Projection`. */
  readonly without?: ReadonlyArray<string> | undefined
  /** Names of the subresources the server is expected to serve, such as `status` and `scale`. */
  readonly subresources: ReadonlyArray<string>
  /** The object's type: `typeof Pod.Type`. There is no value. */
  readonly Type: A
  /** Decodes JSON of the server to the typed object. Unknown fields are kept. Total: never throws. */
  readonly decode: (json: unknown) => Result.Result<A, Invalid>
  /** Encodes the typed object to JSON for the server. Unknown fields are kept. Total: never throws. */
  readonly encode: (object: unknown) => Result.Result<unknown, Invalid>
  /**
   * Encodes some fields of a typed object to JSON, as server-side apply and status writes send them. Only the server
   * validates the values. Total: never throws.
   */
  readonly encodeFields: (fields: unknown) => Result.Result<unknown, Invalid>
}

export type Any = Resource<KubeObject, string>

/** The object type of a resource. */
export type TypeOf<R extends Any> = R["Type"]

/** The identity of a resource. */
export type IdOf<R extends Any> = R["id"]

/**
 * The identities that resources are sure to have. A resource of which the type checker knows no identity (an element of
 * a `ReadonlyArray<Resource.Any>`) has none of them: it may be any kind, but is not every kind.
 */
export type KnownIdOf<R extends Any> = R extends Any ? string extends R["id"] ? never : R["id"] : never

/** Metadata of an object of the given scope. */
export type MetaOf<S extends Scope> = S extends "Namespaced" ? NamespacedObjectMeta : ObjectMeta

/** An object of `A` as a program writes it: `apiVersion`, `kind` and most of the metadata are filled in. */
export type Input<A extends KubeObject> = Omit<A, "apiVersion" | "kind" | "metadata"> & {
  readonly apiVersion?: A["apiVersion"] | undefined
  readonly kind?: A["kind"] | undefined
  readonly metadata: PartialObjectMeta
}

/** An object of `A` with only the fields that one manager sets; lists are given whole. For patches and apply. */
export type DeepPartial<T> = T extends ReadonlyArray<unknown> ? T
  : T extends object ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
  : T

/** What `make` needs; the rest follows from the conventions of the API. */
export interface Options<G extends string, V extends string, K extends string, S extends Scope> {
  readonly group: G
  readonly version: V
  readonly kind: K
  /** Lower-case plural, the word in the URL. */
  readonly plural: string
  readonly scope: S
  readonly singular?: string | undefined
  readonly listKind?: string | undefined
  readonly shortNames?: ReadonlyArray<string> | undefined
  readonly categories?: ReadonlyArray<string> | undefined
  readonly subresources?: ReadonlyArray<string> | undefined
  readonly decode?: ((json: unknown) => Result.Result<any, Invalid>) | undefined
  readonly encode?: ((object: unknown) => Result.Result<unknown, Invalid>) | undefined
  readonly encodeFields?: ((fields: unknown) => Result.Result<unknown, Invalid>) | undefined
}

/** The identity of a kind: `Kind.version` in the core group, `Kind.version.group` elsewhere. */
export type Id<G extends string, V extends string, K extends string> = G extends "" ? `${K}.${V}` : `${K}.${V}.${G}`

/**
 * Declares a resource for a type that needs no decoding: `Resource.make<Pod>()({ group: "", version: "v1", … })`. The
 * cast connects the type with its identity: the caller vouches that objects of the kind have type `A`.
 */
export const make =
  <A extends KubeObject>() =>
  <const G extends string, const V extends string, const K extends string, const S extends Scope>(
    options: Options<G, V, K, S>
  ): Resource<A, Id<G, V, K>> => ({
    id: (options.group === ""
      ? `${options.kind}.${options.version}`
      : `${options.kind}.${options.version}.${options.group}`) as Id<G, V, K>,
    group: options.group,
    version: options.version,
    apiVersion: options.group === "" ? options.version : `${options.group}/${options.version}`,
    kind: options.kind,
    listKind: options.listKind ?? `${options.kind}List`,
    plural: options.plural,
    singular: options.singular ?? options.kind.toLowerCase(),
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    scope: options.scope,
    subresources: options.subresources ?? [],
    // A type without a value: see the interface.
    Type: undefined as never,
    decode: options.decode === undefined
      ? Result.succeed as Resource<A>["decode"]
      : safely(options.decode, "read", options),
    encode: options.encode === undefined ? Result.succeed : safely(options.encode, "written", options),
    encodeFields: options.encodeFields === undefined
      ? Result.succeed
      : safely(options.encodeFields, "written", options)
  })

const safely = <B>(
  run: (value: unknown) => Result.Result<B, Invalid>,
  done: "read" | "written",
  { kind }: { readonly kind: string }
) =>
(value: unknown): Result.Result<B, Invalid> =>
  total(() => run(value), (thrown) => `the ${kind} could not be ${done}: ${thrown}`)

/** The resource without its Schema: reads and writes plain JSON, so that objects that do not decode can be read. */
export const unstructured = (resource: Any): Any => ({
  ...resource,
  decode: Result.succeed as Any["decode"],
  encode: Result.succeed,
  encodeFields: Result.succeed
})

/** `plural` in the core group, `plural.group` elsewhere: how the API server names a resource in its messages. */
export const qualifiedName = (resource: Pick<Any, "group" | "plural">): string =>
  resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`

/** The URL path of a collection, an object or a subresource. */
export const path = (
  resource: Pick<Any, "group" | "version" | "plural">,
  target: {
    readonly namespace?: string | undefined
    readonly name?: string | undefined
    readonly subresource?: string | undefined
  } = {}
): string => {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const collection = target.namespace === undefined || target.namespace === ""
    ? `${root}/${resource.plural}`
    : `${root}/namespaces/${encodeURIComponent(target.namespace)}/${resource.plural}`
  if (target.name === undefined) return collection
  const object = `${collection}/${encodeURIComponent(target.name)}`
  return target.subresource === undefined ? object : `${object}/${target.subresource}`
}
