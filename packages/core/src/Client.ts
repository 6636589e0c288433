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

/** Default values, unless a call sets others. */
export const defaults = {
  /** Objects per page of a list. */
  pageSize: 500,
  /** The field manager, if neither the call nor the context names one. */
  fieldManager: "effect-operator"
} as const

/** The field manager of writes, unless the call names one. A controller sets it to its own name. */
export const FieldManager = Context.Reference<string>("@effect-operator/core/KubeClient/FieldManager", {
  defaultValue: () => defaults.fieldManager
})

/**
 * The user as whom requests are made, if not the program's own: an operator that works for tenants writes with the
 * rights of an account of theirs. It needs the permission `impersonate` for that, here of ServiceAccounts.
 *
 * ```ts
 * client.apply(ConfigMap, map).pipe(
 *   Effect.provideService(KubeClient.Impersonated, KubeClient.serviceAccount("team-a", "deployer"))
 * )
 * ```
 *
 * Caches do not follow it: their watches are the program's own. `Cache.live` then asks the server each time.
 */
export const Impersonated = Context.Reference<string | undefined>("@effect-operator/core/KubeClient/Impersonated", {
  defaultValue: () => undefined
})

/** The user name of a service account. */
export const serviceAccount = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`

/** What applies to the writes of a part of the program: who permits and marks them, and who is notified. */
export interface Writing {
  /**
   * Why nothing may be written, if so. Called before every write, and again whenever it is about to be sent, which may
   * be much later (when its turn comes, or on a retry). The returned error fails the write, and nothing is sent.
   */
  readonly permit: () => KubeError.KubeError | undefined
  /**
   * Called for every accepted write before the writer gets the response, with the fields that the write set, unless it
   * wrote the whole object. Must not throw.
   */
  readonly wrote: (write: Write, fields?: unknown) => void
  /** Adds to a whole object, before it is written or applied, what it must carry besides. */
  readonly mark?: Mark | undefined
  /** The key of the object that is reconciled; absent outside a reconcile. */
  readonly key?: string | undefined
}

export type Mark = <A extends { readonly metadata: object }>(resource: Resource.Any, object: A) => A

/** By default everything is permitted and nobody is notified. A controller or a lease changes that. */
export const Writing = Context.Reference<Writing>("@effect-operator/core/KubeClient/Writing", {
  defaultValue: () => ({ permit: () => undefined, wrote: () => {} })
})

/** Selects objects of a kind. */
export interface Selection {
  /** One namespace; all if absent. */
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
  /** What the caller does not need of the objects; for callers that keep many of them. */
  readonly reading?: Reading | undefined
}

/** One page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /**
   * Of the whole list, the same on every page: a watch starts here. Empty if the server computes what it lists for each
   * request, as that of `metrics.k8s.io` does: such a kind can be neither watched nor cached.
   */
  readonly resourceVersion: string
  /** Token for the next page; absent on the last. */
  readonly continue?: string
}

export interface WatchOptions extends Selection {
  /** Only later changes; if absent, existing objects come first. */
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "NotOlderThan" | undefined
  /** After how many seconds, a whole number, the server ends the watch. */
  readonly timeoutSeconds?: number | undefined
  /** Requests bookmarks; true by default. */
  readonly allowWatchBookmarks?: boolean | undefined
  readonly sendInitialEvents?: boolean | undefined
  /** Runs when the server has accepted the watch, before its first event. */
  readonly onOpen?: Effect.Effect<void> | undefined
  /** What the caller does not need of the objects; for callers that keep many of them. */
  readonly reading?: Reading | undefined
}

export interface GetOptions {
  readonly resourceVersion?: string | undefined
  /** As for a write. */
  readonly subresource?: string | undefined
}

export interface WriteOptions {
  /**
   * `status`, `ephemeralcontainers`, …; the object itself if absent. One of another kind, such as `scale`, `token` and
   * `binding`, takes and returns that kind, as it is, although the types say otherwise.
   */
  readonly subresource?: string | undefined
  /** Runs admission and validation and returns the result, but stores nothing. */
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other managers instead of failing with `Conflict`. */
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

/** A request to a subresource that does not return an object. */
export interface ConnectOptions {
  /** `log`, `exec`, `proxy/metrics`, … */
  readonly subresource: string
  /** Any method but GET is a write, which `Writing` must permit; GET by default. */
  readonly method?: Method | undefined
  /** Not encoded, in order; a name may repeat. */
  readonly query?: ReadonlyArray<readonly [name: string, value: string | undefined]> | undefined
  readonly body?: unknown
  /** For a subresource that starts a process: its input. The result is then an `Ended`. */
  readonly process?: Process | undefined
}

/** A change in one of the three patch formats of the API. Server-side apply is the client's `apply`. */
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

/** The result of a deletion: the object, if it still waits for its finalizers or grace period, or that it is gone. */
export type Deletion<A> =
  | { readonly _tag: "Terminating"; readonly object: A }
  | { readonly _tag: "Deleted"; readonly uid: string | undefined }

/** An accepted write, as the overlay of the cache needs it (see `Informers`). */
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
  /** The deletion was accepted, and the response does not show whether the object is gone or terminating. */
  | {
    readonly _tag: "Deleting"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
  }
  /** The object has this resourceVersion now, but the response does not show the object, as with `scale`. */
  | {
    readonly _tag: "Changed"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
    readonly resourceVersion: string
    readonly subresource: string | undefined
    /** What the response shows instead. */
    readonly answer: unknown
  }

/** The client: one method for each verb. */
export interface Client {
  /** The object, or `NotFound`. */
  readonly get: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options?: GetOptions
  ) => Effect.Effect<A, KubeError.KubeError>
  /** Every object of the selection, page by page: a consistent snapshot as of the first page. */
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
   * One watch: ends when the server ends it (which is normal), fails with the reason of an `ERROR` event. For a watch
   * that continues, use the cache or `Reflector`.
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
   * Requests a subresource that does not return an object, and returns the response body: a JSON value, or text. For
   * logs and processes of Pods there are typed modules: `PodLogs` and `PodExec` of the k8s package.
   */
  readonly connect: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: ConnectOptions
  ) => Effect.Effect<unknown, KubeError.KubeError>
  /**
   * Like `connect`, but line by line as they arrive, without line ends, such as followed logs. Ends when the server
   * ends it.
   */
  readonly lines: <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: Pick<ConnectOptions, "subresource" | "query">
  ) => Stream.Stream<string, KubeError.KubeError>
  /**
   * The kinds that the server has in a version of a group (`v1`, `apps/v1`), as plain JSON; `NotFound` if it has none.
   * One kind by name: `Discovery.resource`.
   */
  readonly kinds: (
    apiVersion: string
  ) => Effect.Effect<ReadonlyArray<Resource.Resource<KubeObject>>, KubeError.KubeError>
  /**
   * Calls `onWrite` for every accepted write of this client, whoever made it, before the writer gets the response;
   * until the scope closes.
   */
  readonly observe: (onWrite: (write: Write) => void) => Effect.Effect<void, never, Scope.Scope>
}
