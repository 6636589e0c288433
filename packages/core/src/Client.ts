/**
 * `Client`: the contract of the client, verb by verb, with the options of each. `KubeClient` is the service.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as KubeError from "./KubeError.ts"
import type { KubeObject, ObjectKey, ObjectRef } from "./KubeObject.ts"
import type * as Resource from "./Resource.ts"
import type { FieldSelector, LabelsInput } from "./Selector.ts"
import type { Method, Process, Reading } from "./Transport.ts"
import type { WatchEvent } from "./WatchEvent.ts"

/** Figures that hold unless a call says otherwise. */
export const defaults = {
  /** Objects per page of a list. */
  pageSize: 500,
  /** Who writes, where neither the call nor the context names a field manager. */
  fieldManager: "effect-operator"
} as const

/** Who writes (`fieldManager`), unless the call says otherwise. A controller sets it to its own name. */
export const FieldManager = Context.Reference<string>("@effect-operator/core/KubeClient/FieldManager", {
  defaultValue: () => defaults.fieldManager
})

/** What surrounds the writes of a part of the program: who allows and marks them, and who wants to know of them. */
export interface Writing {
  /**
   * Why nothing may be written, if so: asked before every write, and again whenever it is about to go out, which may be
   * long after (its turn has to come, it is sent once more). The answer is the failure of the write, and nothing is sent.
   */
  readonly permit: () => KubeError.KubeError | undefined
  /**
   * Told of every accepted write before the writer has the answer, and of the fields that it spoke of, unless it spoke of
   * the whole object. Must not throw.
   */
  readonly wrote: (write: Write, fields?: unknown) => void
  /** Gives a whole object that is to be written, or applied, what it is to carry besides. */
  readonly mark?: Mark | undefined
}

export type Mark = <A extends { readonly metadata: object }>(resource: Resource.Any, object: A) => A

/** Everything is allowed, and nobody asks, unless a controller or a lease says otherwise. */
export const Writing = Context.Reference<Writing>("@effect-operator/core/KubeClient/Writing", {
  defaultValue: () => ({ permit: () => undefined, wrote: () => {} })
})

/** Which objects of a kind. */
export interface Selection {
  /** One namespace; all of them if absent. */
  readonly namespace?: string | undefined
  readonly labels?: LabelsInput | undefined
  readonly fields?: FieldSelector | string | undefined
}

export interface ListOptions extends Selection {
  /** Objects per page; 500 by default, 0 for everything at once. */
  readonly limit?: number | undefined
  readonly continue?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined
  /** What the caller does without: for whoever keeps many objects. */
  readonly reading?: Reading | undefined
}

/** One page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** Of the whole list, equal on all its pages: where a watch starts. */
  readonly resourceVersion: string
  /** Asks for the next page; absent on the last. */
  readonly continue?: string
}

export interface WatchOptions extends Selection {
  /** Only later changes; existing objects first if absent. */
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "NotOlderThan" | undefined
  /** When the server is to end the watch, in whole seconds. */
  readonly timeoutSeconds?: number | undefined
  /** Asks for bookmarks; true by default. */
  readonly allowWatchBookmarks?: boolean | undefined
  readonly sendInitialEvents?: boolean | undefined
  /** Runs when the server has accepted the watch, before its first event. */
  readonly onOpen?: Effect.Effect<void> | undefined
  /** What the caller does without: for whoever keeps many objects. */
  readonly reading?: Reading | undefined
}

export interface GetOptions {
  readonly resourceVersion?: string | undefined
  readonly subresource?: string | undefined
}

export interface WriteOptions {
  /** `status`, `scale`, …; the object itself if absent. */
  readonly subresource?: string | undefined
  /** Run admission and validation, answer the result, store nothing. */
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined
}

export interface ApplyOptions extends WriteOptions {
  /** Take fields over from other managers instead of failing with `Conflict`. */
  readonly force?: boolean | undefined
}

export interface DeleteOptions {
  readonly dryRun?: boolean | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined
  readonly preconditions?: {
    readonly uid?: string | undefined
    readonly resourceVersion?: string | undefined
  } | undefined
}

/** A request to a subresource that is answered with no object. */
export interface ConnectOptions {
  /** `log`, `exec`, `proxy/metrics`, … */
  readonly subresource: string
  /** Anything but a GET is a write, which has to be permitted; GET by default. */
  readonly method?: Method | undefined
  /** Not encoded, in order; a name may repeat. */
  readonly query?: ReadonlyArray<readonly [name: string, value: string | undefined]> | undefined
  readonly body?: unknown
  /** Where it begins a process: what that is given. The answer is what it has `Ended` with. */
  readonly process?: Process | undefined
}

/** A change to send: the three patch formats of the API. Server-side apply is the client's `apply`. */
export type Patch =
  | { readonly _tag: "Merge"; readonly body: unknown }
  | { readonly _tag: "Strategic"; readonly body: unknown }
  | { readonly _tag: "Json"; readonly body: ReadonlyArray<JsonPatchOperation> }

/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string }

export const Patch = {
  /** JSON merge patch (RFC 7386): null deletes, lists are replaced whole. */
  merge: (body: unknown): Patch => ({ _tag: "Merge", body }),
  /** Strategic merge patch: lists merge by key. Built-in kinds only. */
  strategic: (body: unknown): Patch => ({ _tag: "Strategic", body }),
  /** JSON patch (RFC 6902), with `test` as a guard. */
  json: (body: ReadonlyArray<JsonPatchOperation>): Patch => ({ _tag: "Json", body })
} as const

/** What a deletion answered: the object, still there and waiting for its finalizers or grace period, or that it went. */
export type Deletion<A> =
  | { readonly _tag: "Terminating"; readonly object: A }
  | { readonly _tag: "Deleted"; readonly uid: string | undefined }

/** A write the server accepted, as the cache's overlay needs it (see `Informers`). */
export type Write =
  | {
    readonly _tag: "Written"
    readonly resource: Resource.Any
    readonly object: KubeObject
    /** Absent for the object itself. */
    readonly subresource?: string | undefined
  }
  | {
    readonly _tag: "Deleted"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
  }
  /** Its deletion was accepted, and the answer does not tell whether it is gone or terminating. */
  | {
    readonly _tag: "Deleting"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
  }
  /** The object has this resourceVersion now, and the answer does not show the object: that of a `scale`. */
  | {
    readonly _tag: "Changed"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
    readonly resourceVersion: string
    readonly subresource: string | undefined
    /** What the answer shows instead. */
    readonly answer: unknown
  }

/** The verbs. */
export interface Client {
  /** The object, or `NotFound`. */
  readonly get: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options?: GetOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  /** Every object of the selection, page by page: a consistent snapshot of the moment of the first page. */
  readonly list: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    options?: ListOptions
  ) => Stream.Stream<A, KubeError.KubeError>
  /** One page. `Gone` if its `continue` token expired. */
  readonly listPage: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    options?: ListOptions
  ) => Effect.Effect<Page<A>, KubeError.KubeError>
  /**
   * One watch: ends when the server ends it (which is normal), fails with the reason of an `ERROR` event. Use the
   * cache, or `Reflector`, for a watch that lives on.
   */
  readonly watch: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    options?: WatchOptions
  ) => Stream.Stream<WatchEvent<A>, KubeError.KubeError>
  /** Creates the object; `AlreadyExists` if its name is taken. `apiVersion` and `kind` are filled in. */
  readonly create: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    object: Resource.Input<A>,
    options?: WriteOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  /** Replaces the object; `Conflict` if its resourceVersion is not the stored one. */
  readonly replace: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    object: Resource.Input<A>,
    options?: WriteOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  readonly patch: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    patch: Patch,
    options?: WriteOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  /** Server-side apply: creates or changes exactly the given fields; `Conflict` if another manager owns one. */
  readonly apply: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    object: Resource.DeepPartial<Resource.Input<A>> & { readonly metadata: ObjectKey },
    options?: ApplyOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  /** Deletes the object. Given an object, deletes only that one (by uid), never a re-created namesake. */
  readonly delete: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options?: DeleteOptions
  ) => Effect.Effect<Deletion<A>, KubeError.KubeError>
  /** Deletes every object of the selection. Not atomic. */
  readonly deleteCollection: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    selection: Selection,
    options?: DeleteOptions
  ) => Effect.Effect<void, KubeError.KubeError>
  /**
   * Asks a subresource that answers with no object, and gives the body of the answer: a JSON value, or text. Logs and
   * processes of Pods have modules of their own, which say what they give: `PodLogs` and `PodExec` of the k8s package.
   */
  readonly connect: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: ConnectOptions
  ) => Effect.Effect<unknown, KubeError.KubeError>
  /** The same, line by line as they come, without their ends: logs that are followed. Ends when the server ends it. */
  readonly lines: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: Pick<ConnectOptions, "subresource" | "query">
  ) => Stream.Stream<string, KubeError.KubeError>
  /**
   * Shows every accepted write of this client to `onWrite`, whoever made it, before that caller has the answer; until
   * the scope closes.
   */
  readonly observe: (onWrite: (write: Write) => void) => Effect.Effect<void, never, Scope.Scope>
}
