/**
 * `Kind`: a kind of an API server of one's own, as data: what its objects look like, and where they come from.
 *
 * | made by | objects | verbs |
 * |---|---|---|
 * | `stored` | kept in memory, written by clients of the API | all |
 * | `derived` | each computed from one object of another kind, as that changes | get, list, watch |
 * | `computed` | whatever a stream says that there is | get, list, watch |
 *
 * What is kept in memory is gone with the process: it suits what is cheap to make again. Handlers of a stored kind run
 * before an object is written, and may refuse, or keep it somewhere else as well. A kind says itself which columns,
 * field selectors, subresources and rules it has: see `CustomResource`.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { UserInfo } from "../api/UserInfo.ts"

export type { UserInfo } from "../api/UserInfo.ts"

/** A write that a handler looks at. */
export interface Write {
  readonly user: UserInfo
  /** Nothing may be changed anywhere. */
  readonly dryRun: boolean
}

/** A handler's refusal: the client gets 403 with the message. */
export class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

/** What looks at writes, in the type of the kind. What create and update give is stored. */
export interface Handlers<A, R> {
  readonly create?: ((object: A, write: Write) => Effect.Effect<A, Refused, R>) | undefined
  readonly update?: ((object: A, old: A, write: Write) => Effect.Effect<A, Refused, R>) | undefined
  readonly delete?: ((object: A, write: Write) => Effect.Effect<void, Refused, R>) | undefined
}

/** An object that somebody computes: the server adds what is missing of its metadata. */
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

/** Objects in memory. */
export const stored = <A extends KubeObject, Id extends string, R = never>(
  resource: CustomResource<A, Id>,
  options: Handlers<A, R> & {
    /** What there is from the start. */
    readonly initial?: ReadonlyArray<Computed<A>> | undefined
  } = {}
): Kind<R> => {
  const { initial = [], ...handlers } = options
  return { resource, source: { _tag: "Stored", initial, handlers } }
}

/**
 * One object for each of another kind, or none where `make` gives none, or throws, which is logged. Two that make the same
 * name: the later wins.
 */
export const derived = <A extends KubeObject, Id extends string, B extends KubeObject>(
  resource: CustomResource<A, Id>,
  options: {
    readonly from: Resource.Resource<B>
    readonly make: (object: B) => Computed<A> | undefined
  }
): Kind => ({ resource, source: { _tag: "Derived", ...options } })

/** The objects that a stream says there are, each element all of them. It must not end. */
export const computed = <A extends KubeObject, Id extends string, E, R = never>(
  resource: CustomResource<A, Id>,
  contents: Stream.Stream<ReadonlyArray<Computed<A>>, E, R>
): Kind<R> => ({ resource, source: { _tag: "Computed", contents } })
