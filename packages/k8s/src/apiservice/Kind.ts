/**
 * `Kind`: a kind of an operator's own API, as data: the shape of its objects, and where they come from.
 *
 * | made by | objects | verbs |
 * |---|---|---|
 * | `stored` | kept in memory, written by clients of the API | all |
 * | `derived` | each computed from one object of another kind, whenever that changes | get, list, watch |
 * | `computed` | emitted by a stream | get, list, watch |
 *
 * Objects in memory are lost when the process ends, so this suits what can be recreated cheaply. Handlers of a stored
 * kind run before an object is written; they may refuse it, or store it elsewhere as well. Columns, field selectors,
 * subresources and rules are declared with the kind: see `CustomResource`.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { UserInfo } from "../api/UserInfo.ts"

export type { UserInfo } from "../api/UserInfo.ts"

/** A write that a handler checks. */
export interface Write {
  readonly user: UserInfo
  /** If true, the handler must not change anything anywhere. */
  readonly dryRun: boolean
}

/** A handler's refusal: the client gets 403 with this message. */
export class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

/** Handlers of writes, with objects of the kind's type. The results of `create` and `update` are stored. */
export interface Handlers<A, R> {
  readonly create?: ((object: A, write: Write) => Effect.Effect<A, Refused, R>) | undefined
  readonly update?: ((object: A, old: A, write: Write) => Effect.Effect<A, Refused, R>) | undefined
  readonly delete?: ((object: A, write: Write) => Effect.Effect<void, Refused, R>) | undefined
}

/** A computed object: the server adds the rest of its metadata. */
export type Computed<A extends KubeObject> = Omit<A, "apiVersion" | "kind" | "metadata"> & {
  readonly metadata: Resource.Input<A>["metadata"] & { readonly name: string; readonly namespace?: string }
}

/** Where objects come from. */
export type Source<R> =
  | {
    readonly _tag: "Stored"
    readonly initial: ReadonlyArray<Computed<any>>
    readonly handlers: Handlers<any, R>
  }
  | {
    readonly _tag: "Derived"
    readonly from: Resource.Any
    readonly make: (object: any) => Computed<any> | undefined
  }
  | { readonly _tag: "Computed"; readonly contents: Stream.Stream<ReadonlyArray<Computed<any>>, unknown, R> }

/** A kind that needs `R` to be served. */
export interface Kind<out R = never> {
  readonly resource: CustomResource
  readonly source: Source<R>
}

export type Any = Kind<any>

/** A kind whose objects are kept in memory. */
export const stored = <A extends KubeObject, Id extends string, R = never>(
  resource: CustomResource<A, Id>,
  options: Handlers<A, R> & {
    /** The initial objects. */
    readonly initial?: ReadonlyArray<Computed<A>> | undefined
  } = {}
): Kind<R> => {
  const { initial = [], ...handlers } = options
  return { resource, source: { _tag: "Stored", initial, handlers } }
}

/**
 * One object for each object of another kind, or none if `make` returns none, or throws, which is logged. If two have
 * the same name, the later one wins; once that is gone, the other one is shown again.
 */
export const derived = <A extends KubeObject, Id extends string, B extends KubeObject>(
  resource: CustomResource<A, Id>,
  options: {
    readonly from: Resource.Resource<B>
    readonly make: (object: B) => Computed<A> | undefined
  }
): Kind => ({ resource, source: { _tag: "Derived", ...options } })

/** The objects that a stream emits: each element is the complete list. The stream must not end. */
export const computed = <A extends KubeObject, Id extends string, E, R = never>(
  resource: CustomResource<A, Id>,
  contents: Stream.Stream<ReadonlyArray<Computed<A>>, E, R>
): Kind<R> => ({ resource, source: { _tag: "Computed", contents } })
