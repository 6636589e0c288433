/**
 * `KubeClient`: every verb of the Kubernetes API, typed by `Resource`, over a `Transport`.
 *
 * Guarantees: plain JSON in and out, unknown fields kept; exactly one request per call (no hidden retries: retrying is
 * the caller's `Schedule`); every failure is a `KubeError`; a namespaced kind without a namespace fails before anything
 * is sent. `delete` of an object (rather than of a key) deletes only that object: its uid goes along as precondition,
 * so that a re-created namesake survives.
 *
 * The client reads from the server. Reading from the operator's cache is `Cache`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as KubeError from "./KubeError.ts"
import { key as keyOf, type KubeObject, type ObjectKey, type ObjectRef, uid as uidOf } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import { type FieldSelector, formatFields, formatLabels, type LabelSelector } from "./Selector.ts"
import { isStatus, type Status } from "./Status.ts"
import { type Request, type Response, Transport } from "./Transport.ts"
import type { WatchEvent, WireEvent } from "./WatchEvent.ts"

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

/** Which objects of a kind. */
export interface Selection {
  /** One namespace; all of them if absent. */
  readonly namespace?: string | undefined
  readonly labels?: LabelSelector | string | undefined
  readonly fields?: FieldSelector | string | undefined
}

export interface ListOptions extends Selection {
  /** Objects per page; 500 by default, 0 for everything at once. */
  readonly limit?: number | undefined
  readonly continue?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined
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

const contentTypes: Record<Patch["_tag"], string> = {
  Merge: "application/merge-patch+json",
  Strategic: "application/strategic-merge-patch+json",
  Json: "application/json-patch+json"
}

/** What a deletion answered: the object, still there and waiting for its finalizers or grace period, or that it went. */
export type Deletion<A> =
  | { readonly _tag: "Terminating"; readonly object: A }
  | { readonly _tag: "Deleted"; readonly uid: string | undefined }

/** A write the server accepted, as the cache's overlay needs it (see `Informers`). */
export type Write =
  | { readonly _tag: "Written"; readonly resource: Resource.Any; readonly object: KubeObject }
  | {
    readonly _tag: "Deleted"
    readonly resource: Resource.Any
    readonly key: ObjectKey
    readonly uid: string | undefined
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
  /** The same client, which shows every accepted write to `onWrite` before the caller has the answer. */
  readonly observed: (onWrite: (write: Write) => void) => Client
}

export class KubeClient extends Context.Service<KubeClient, Client>()("@effect-operator/core/KubeClient") {
  /** The client over the transport in context. */
  static readonly layer: Layer.Layer<KubeClient, never, Transport> = Layer.effect(
    KubeClient,
    Effect.map(Transport, (transport) => make(transport))
  )
}

type Query = ReadonlyArray<readonly [string, string | undefined]>
interface Target {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

const query = (entries: Query): Request["query"] =>
  entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined)

const selectionQuery = (selection: Selection): Query => [
  ["labelSelector", selector(selection.labels, formatLabels)],
  ["fieldSelector", selector(selection.fields, formatFields)]
]

const selector = <A>(value: string | ReadonlyArray<A> | undefined, format: (value: ReadonlyArray<A>) => string) =>
  value === undefined || value.length === 0 ? undefined : typeof value === "string" ? value : format(value)

const describe = (resource: Resource.Any, subresource?: string): string =>
  subresource === undefined ? Resource.qualifiedName(resource) : `${Resource.qualifiedName(resource)}/${subresource}`

/** Builds the client over a transport. `onWrite` sees every accepted write before the caller does. */
export const make = (
  transport: Transport["Service"],
  onWrite: (write: Write) => void = () => {}
): Client => {
  const jsonHeaders = { accept: "application/json" }

  const send = (
    call: KubeError.Call,
    request: Omit<Request, "query"> & { readonly query: Query }
  ): Effect.Effect<Response, KubeError.KubeError> =>
    transport.request({ ...request, query: query(request.query) }).pipe(
      Effect.mapError((reason) => KubeError.make(call, reason)),
      Effect.filterOrFail(
        (response) => response.status >= 200 && response.status < 300,
        (response) => KubeError.make(call, KubeError.fromAnswer({ ...response, body: response.body }))
      )
    )

  /** The namespace a request goes to, or why there is none. */
  const locate = (call: KubeError.Call, resource: Resource.Any, key: Target) =>
    resource.scope === "Namespaced" && (key.namespace === undefined || key.namespace === "")
      ? Effect.fail(KubeError.make(
        call,
        new KubeError.BadRequest({
          message: `metadata.namespace: missing: ${resource.kind} is namespaced; give a namespace`,
          code: 400
        })
      ))
      : Effect.succeed(resource.scope === "Namespaced" ? key.namespace : undefined)

  const decode = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    body: unknown
  ): Result.Result<A, KubeError.KubeError> =>
    Result.mapError(resource.decode(body), ({ issues }) =>
      KubeError.make(
        call,
        new KubeError.Decode({ message: `the answer is no ${resource.kind}: ${issues.join("; ")}`, issues })
      ))

  const encode = (call: KubeError.Call, resource: Resource.Any, object: unknown) => {
    const full = { ...(object as object), apiVersion: resource.apiVersion, kind: resource.kind }
    return Effect.fromResult(Result.mapError(resource.encode(full), ({ issues }) =>
      KubeError.make(
        call,
        new KubeError.Decode({ message: `the object is no ${resource.kind}: ${issues.join("; ")}`, issues })
      )))
  }

  const written = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    options: WriteOptions | undefined,
    body: unknown
  ): Effect.Effect<A, KubeError.KubeError> => {
    const own = (body as Partial<KubeObject> | undefined)?.kind === resource.kind
    if (own && options?.dryRun !== true) onWrite({ _tag: "Written", resource, object: body as KubeObject })
    // A subresource such as scale answers another kind: it is handed through as it came.
    return own || options?.subresource === undefined
      ? Effect.fromResult(decode(call, resource, body))
      : Effect.succeed(body as A)
  }

  const writeQuery = Effect.fnUntraced(function*(options: WriteOptions | undefined) {
    return [
      ["dryRun", options?.dryRun === true ? "All" : undefined],
      ["fieldManager", options?.fieldManager ?? (yield* FieldManager)],
      ["fieldValidation", options?.fieldValidation]
    ] satisfies Query
  })

  const callFor = (verb: KubeError.Verb, resource: Resource.Any, key: Target, subresource?: string) => ({
    verb,
    resource: describe(resource, subresource),
    ...(key.namespace === undefined || resource.scope === "Cluster" ? {} : { namespace: key.namespace }),
    ...(key.name === undefined ? {} : { name: key.name })
  })

  const get: Client["get"] = Effect.fn("KubeClient.get")(function*(resource, ref, options) {
    const key = keyOf(ref)
    const call = callFor("get", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* send(call, {
      method: "GET",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: [["resourceVersion", options?.resourceVersion]],
      headers: jsonHeaders
    })
    return yield* Effect.fromResult(decode(call, resource, response.body))
  })

  const listPage = Effect.fn("KubeClient.listPage")(function*<A extends KubeObject>(
    resource: Resource.Resource<A>,
    options: ListOptions = {}
  ) {
    const call = callFor("list", resource, { namespace: options.namespace })
    const limit = options.limit ?? defaults.pageSize
    const response = yield* send(call, {
      method: "GET",
      path: Resource.path(resource, { namespace: options.namespace }),
      query: [
        ...selectionQuery(options),
        ["limit", limit === 0 ? undefined : String(limit)],
        ["continue", options.continue],
        ["resourceVersion", options.resourceVersion],
        ["resourceVersionMatch", options.resourceVersionMatch]
      ],
      headers: jsonHeaders
    })
    const body = response.body as {
      readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
      readonly items?: ReadonlyArray<Partial<KubeObject>> | null
    }
    const items: Array<A> = []
    for (const item of body.items ?? []) {
      // The items of a list of a built-in kind carry neither apiVersion nor kind.
      const full = item.kind === undefined ? { ...item, apiVersion: resource.apiVersion, kind: resource.kind } : item
      items.push(yield* Effect.fromResult(decode(call, resource, full)))
    }
    const token = body.metadata?.continue
    return {
      items,
      resourceVersion: body.metadata?.resourceVersion ?? "",
      ...(token === undefined || token === "" ? {} : { continue: token })
    } satisfies Page<A>
  })

  const list: Client["list"] = (resource, options = {}) =>
    Stream.paginate(options.continue, (token) =>
      Effect.map(
        listPage(resource, {
          ...options,
          continue: token,
          // The token already fixes the snapshot; a server refuses both together.
          ...(token === undefined ? {} : { resourceVersion: undefined, resourceVersionMatch: undefined })
        }),
        (page) => [page.items, page.continue === undefined ? Option.none() : Option.some(page.continue)]
      ))

  const watch: Client["watch"] = <A extends KubeObject>(resource: Resource.Resource<A>, options: WatchOptions = {}) => {
    const call = callFor("watch", resource, { namespace: options.namespace })
    const request: Request = {
      method: "GET",
      path: Resource.path(resource, { namespace: options.namespace }),
      query: query([
        ["watch", "true"],
        ...selectionQuery(options),
        ["allowWatchBookmarks", options.allowWatchBookmarks === false ? undefined : "true"],
        ["resourceVersion", options.resourceVersion],
        ["resourceVersionMatch", options.resourceVersionMatch],
        ["sendInitialEvents", options.sendInitialEvents === undefined ? undefined : String(options.sendInitialEvents)],
        ["timeoutSeconds", options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds)]
      ]),
      headers: jsonHeaders
    }
    const failed = (reason: KubeError.Reason) => KubeError.make(call, reason)
    const events = (
      values: ReadonlyArray<unknown>
    ): Result.Result<ReadonlyArray<WatchEvent<A>>, KubeError.KubeError> => {
      const decoded: Array<WatchEvent<A>> = []
      for (const value of values) {
        const event = value as WireEvent
        if (event.type === "ERROR") return Result.fail(failed(KubeError.fromStatus(event.object)))
        if (event.type === "BOOKMARK") decoded.push(event)
        else {
          const object = decode(call, resource, event.object)
          if (Result.isFailure(object)) return Result.fail(object.failure)
          decoded.push({ type: event.type, object: object.success })
        }
      }
      return Result.succeed(decoded)
    }
    return Stream.unwrap(Effect.map(
      Effect.mapError(transport.stream(request), failed),
      (response) =>
        response.status === 200
          ? response.values.pipe(
            Stream.mapError(failed),
            Stream.chunks,
            Stream.mapEffect((chunk) => Effect.fromResult(events(chunk))),
            Stream.flattenIterable
          )
          : Stream.fail(failed(KubeError.fromAnswer({ ...response, body: response.body })))
    ))
  }

  const create: Client["create"] = Effect.fn("KubeClient.create")(function*(resource, object, options) {
    const key = { namespace: object.metadata.namespace, name: object.metadata.name }
    const call = callFor("create", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* send(call, {
      method: "POST",
      path: Resource.path(
        resource,
        options?.subresource === undefined
          ? { namespace }
          : { namespace, name: key.name, subresource: options.subresource }
      ),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: yield* encode(call, resource, object)
    })
    return yield* written(call, resource, options, response.body)
  })

  const replace: Client["replace"] = Effect.fn("KubeClient.replace")(function*(resource, object, options) {
    const key = { namespace: object.metadata.namespace, name: object.metadata.name ?? "" }
    const call = callFor("replace", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* send(call, {
      method: "PUT",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: yield* encode(call, resource, object)
    })
    return yield* written(call, resource, options, response.body)
  })

  const patch: Client["patch"] = Effect.fn("KubeClient.patch")(function*(resource, ref, patch, options) {
    const key = keyOf(ref)
    const call = callFor("patch", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* send(call, {
      method: "PATCH",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": contentTypes[patch._tag] },
      body: patch.body
    })
    return yield* written(call, resource, options, response.body)
  })

  const apply: Client["apply"] = Effect.fn("KubeClient.apply")(function*(resource, object, options) {
    const key = object.metadata
    const call = callFor("apply", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* send(call, {
      method: "PATCH",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: [...(yield* writeQuery(options)), ["force", options?.force === true ? "true" : undefined]],
      headers: { ...jsonHeaders, "content-type": "application/apply-patch+yaml" },
      body: { ...object, apiVersion: resource.apiVersion, kind: resource.kind }
    })
    return yield* written(call, resource, options, response.body)
  })

  const deleteBody = (options: DeleteOptions, uid: string | undefined) => {
    const preconditions = { ...(uid === undefined ? {} : { uid }), ...options.preconditions }
    return {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
      ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
      ...(options.dryRun === true ? { dryRun: ["All"] } : {}),
      ...(Object.keys(preconditions).length === 0 ? {} : { preconditions })
    }
  }

  const remove = Effect.fn("KubeClient.delete")(function*<A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: DeleteOptions = {}
  ) {
    const key = keyOf(ref)
    const call = callFor("delete", resource, key)
    const namespace = yield* locate(call, resource, key)
    const { body } = yield* send(call, {
      method: "DELETE",
      path: Resource.path(resource, { namespace, name: key.name }),
      query: [],
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: deleteBody(options, uidOf(ref))
    })
    const object = isStatus(body) ? undefined : body as KubeObject
    if (object?.metadata.deletionTimestamp !== undefined && stillStored(object)) {
      if (options.dryRun !== true) onWrite({ _tag: "Written", resource, object })
      return { _tag: "Terminating", object: yield* Effect.fromResult(decode(call, resource, object)) } as const
    }
    const uid = object?.metadata.uid ?? (body as Status | undefined)?.details?.uid
    if (options.dryRun !== true) onWrite({ _tag: "Deleted", resource, key: { ...key, namespace }, uid })
    return { _tag: "Deleted", uid } as const
  })

  const deleteCollection: Client["deleteCollection"] = Effect.fn("KubeClient.deleteCollection")(
    function*(resource, selection, options = {}) {
      const call = callFor("deletecollection", resource, { namespace: selection.namespace })
      const namespace = yield* locate(call, resource, selection)
      yield* send(call, {
        method: "DELETE",
        path: Resource.path(resource, { namespace }),
        query: selectionQuery(selection),
        headers: { ...jsonHeaders, "content-type": "application/json" },
        body: deleteBody(options, undefined)
      })
    }
  )

  return KubeClient.of({
    get,
    list,
    listPage: listPage as Client["listPage"],
    watch,
    create,
    replace,
    patch,
    apply,
    delete: remove as Client["delete"],
    deleteCollection,
    observed: (observer) =>
      make(transport, (write) => {
        onWrite(write)
        observer(write)
      })
  })
}

/** Whether an object a deletion answered is still stored: it waits for finalizers or for its grace period. */
const stillStored = (object: KubeObject): boolean =>
  (object.metadata.finalizers?.length ?? 0) > 0 || (object.metadata.deletionGracePeriodSeconds ?? 0) > 0
