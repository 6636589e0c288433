/** The verbs of `Client` as requests over a `Transport`. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import {
  type Client,
  defaults,
  type DeleteOptions,
  type Deletion,
  FieldManager,
  type ListOptions,
  type Page,
  type Patch,
  type Selection,
  type WatchOptions,
  type Write,
  type WriteOptions,
  Writing
} from "../Client.ts"
import * as KubeError from "../KubeError.ts"
import {
  hasGone,
  isTerminating,
  key as keyOf,
  type KubeObject,
  type ObjectRef,
  type PartialKubeObject,
  uid as uidOf
} from "../KubeObject.ts"
import * as Resource from "../Resource.ts"
import { fieldsText, labelsText } from "../Selector.ts"
import { isStatus, type Status } from "../Status.ts"
import { type Request, type Transport } from "../Transport.ts"
import { Unparsed } from "../Unparsed.ts"
import { isList, isNamed, isObject, isStored, noObject } from "./answers.ts"
import { kindsOf } from "./kindsOf.ts"
import type { Target } from "./placeProblem.ts"
import * as Sending from "./sending.ts"
import { type Around, asUser, callFor, locate, type Query, query, within } from "./sending.ts"
import { isForeign, stored } from "./stored.ts"
import { watchEvents } from "./watchEvents.ts"
import { writeOf, writesOfCollection } from "./writeOf.ts"

const contentTypes: Record<Patch["_tag"], string> = {
  Merge: "application/merge-patch+json",
  Strategic: "application/strategic-merge-patch+json",
  Json: "application/json-patch+json"
}

const selectionQuery = (selection: Selection): Query => [
  ["labelSelector", labelsText(selection.labels)],
  ["fieldSelector", fieldsText(selection.fields)]
]

const jsonHeaders = { accept: "application/json" }

/** The form of a response: whole objects, or metadata only. */
const acceptOf = ({ metadataOnly }: Resource.Any, form: string) =>
  metadataOnly === true ? { accept: `application/json;as=${form};g=meta.k8s.io;v=v1` } : jsonHeaders

/** Builds the client over a transport. */
export const make = (transport: Transport["Service"]): Client => {
  const { ask, askPermitted, send, sendWrite } = Sending.make(transport)
  const observers = new Set<(write: Write) => void>()
  const onWrite = (context: Around, write: Write, fields?: unknown): void => {
    for (const observer of observers) observer(write)
    Context.get(context, Writing).wrote(write, fields)
  }

  const stream = (request: Request) =>
    Effect.contextWith((context: Around) => transport.stream({ ...request, headers: asUser(context, request.headers) }))

  const decode = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    body: unknown
  ): Result.Result<A, KubeError.KubeError> =>
    Result.mapError(isObject(body) ? resource.decode(body) : Result.fail(noObject), ({ issues }) =>
      KubeError.make(
        call,
        new KubeError.Decode({ message: `the answer is not a valid ${resource.kind}: ${issues.join("; ")}`, issues })
      ))

  const encode = (
    context: Around,
    call: KubeError.Call,
    resource: Resource.Any,
    object: PartialKubeObject,
    options: WriteOptions | undefined,
    what: "encode" | "encodeFields" = "encode"
  ): Effect.Effect<object, KubeError.KubeError> =>
    isForeign(resource, object, options)
      ? Effect.succeed(object)
      : stored(call, resource, what, {
        ...Context.get(context, Writing).mark?.(resource, object) ?? object,
        apiVersion: resource.apiVersion,
        kind: resource.kind
      })

  const answer = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    options: { readonly subresource?: string | undefined } | undefined,
    body: unknown
  ): Effect.Effect<A, KubeError.KubeError> =>
    isForeign(resource, body, options)
      ? Effect.succeed(body as A)
      : Effect.fromResult(decode(call, resource, body))

  const get: Client["get"] = (resource, ref, options) =>
    Effect.contextWith((context: Around) => {
      const key = keyOf(ref)
      const call = callFor("get", resource, key, options?.subresource)
      return Effect.flatMapEager(locate(call, resource, key), (namespace) =>
        send(context, call, {
          method: "GET",
          path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
          query: [["resourceVersion", options?.resourceVersion]],
          headers: acceptOf(resource, "PartialObjectMetadata")
        }, (body) => answer(call, resource, options, body)))
    })

  const listPage = <A extends KubeObject>(
    resource: Resource.Resource<A>,
    options: ListOptions = {}
  ): Effect.Effect<Page<A>, KubeError.KubeError> =>
    Effect.contextWith((context: Around) => {
      const call = callFor("list", resource, { namespace: options.namespace })
      const limit = options.limit ?? defaults.pageSize
      return Effect.flatMapEager(within(call, resource, options), (namespace) =>
        send(context, call, {
          method: "GET",
          path: Resource.path(resource, { namespace }),
          query: [
            ...selectionQuery(options),
            ["limit", limit === 0 ? undefined : String(limit)],
            ["continue", options.continue],
            ["resourceVersion", options.resourceVersion],
            ["resourceVersionMatch", options.resourceVersionMatch]
          ],
          headers: acceptOf(resource, "PartialObjectMetadataList"),
          reading: options.reading
        }, (body) => Effect.fromResult(pageOf(call, resource, body, options.continue))))
    })

  const pageOf = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    body: unknown,
    asked: string | undefined
  ): Result.Result<Page<A>, KubeError.KubeError> => {
    const refused = (message: string) =>
      Result.fail(KubeError.make(call, new KubeError.Decode({ message, issues: [message] })))
    if (!isList(body, resource.listKind)) return refused(`the answer is not a ${resource.listKind}`)
    const { continue: token, resourceVersion = "" } = body.metadata
    // What a server computes for each request has no version, neither the list nor its items.
    const isItem = resourceVersion === "" ? isNamed : isStored
    const items: Array<A> = []
    for (const item of body.items ?? []) {
      if (!isItem(item)) {
        return refused(`not an item of a ${resource.listKind}: ${JSON.stringify(item)?.slice(0, 100)}`)
      }
      // The items of a list of a built-in kind carry neither apiVersion nor kind.
      const full = item instanceof Unparsed
        ? item.typed(resource.apiVersion, resource.kind)
        : item.kind === undefined
        ? Object.freeze({ ...item, apiVersion: resource.apiVersion, kind: resource.kind })
        : item
      const decoded = decode(call, resource, full)
      if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
      items.push(decoded.success)
    }
    if (asked !== undefined && token === asked) {
      return refused(`the list does not end: the next page has the same continue token: ${token.slice(0, 100)}`)
    }
    return Result.succeed({
      items,
      resourceVersion,
      ...(token === undefined || token === "" ? {} : { continue: token })
    })
  }

  const list: Client["list"] = (resource, options = {}) =>
    Stream.paginate(options.continue, (token) =>
      Effect.map(
        listPage(resource, {
          ...options,
          continue: token,
          // The token already fixes the snapshot; a server rejects both together.
          ...(token === undefined ? {} : { resourceVersion: undefined, resourceVersionMatch: undefined })
        }),
        (page) => [page.items, page.continue === undefined ? Option.none() : Option.some(page.continue)]
      ))

  const watch: Client["watch"] = <A extends KubeObject>(resource: Resource.Resource<A>, options: WatchOptions = {}) => {
    const call = callFor("watch", resource, { namespace: options.namespace })
    const request = (namespace: string | undefined): Request => ({
      method: "GET",
      path: Resource.path(resource, { namespace }),
      query: query([
        ["watch", "true"],
        ...selectionQuery(options),
        ["allowWatchBookmarks", options.allowWatchBookmarks === false ? undefined : "true"],
        ["resourceVersion", options.resourceVersion],
        ["resourceVersionMatch", options.resourceVersionMatch],
        ["sendInitialEvents", options.sendInitialEvents === undefined ? undefined : String(options.sendInitialEvents)],
        ["timeoutSeconds", options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds)]
      ]),
      headers: acceptOf(resource, "PartialObjectMetadata"),
      reading: options.reading
    })
    const failed = (reason: KubeError.Reason) => KubeError.make(call, reason)
    return Stream.unwrap(
      within(call, resource, options).pipe(
        Effect.flatMap((namespace) => Effect.mapError(stream(request(namespace)), failed)),
        Effect.tap(({ status }) => status === 200 && options.onOpen !== undefined ? options.onOpen : Effect.void),
        Effect.map((response) => watchEvents(response, (object) => decode(call, resource, object), failed))
      )
    )
  }

  /** What differs between the verbs that send a state of an object and get one back. */
  interface Change {
    readonly verb: KubeError.Verb
    readonly key: Target
    readonly method: Request["method"]
    /** What is in the path, which is that of the collection without a name. */
    readonly place: Target
    readonly contentType: string
    readonly body: (call: KubeError.Call, context: Around) => Effect.Effect<unknown, KubeError.KubeError>
    readonly query?: Query
    /** What is sent, if the response may not show what it did. */
    readonly sent?: unknown
    /** Whether what is sent covers only some fields of the object. */
    readonly partial?: boolean
  }

  const change = <A extends KubeObject>(
    resource: Resource.Resource<A>,
    options: WriteOptions | undefined,
    plan: () => Change
  ): Effect.Effect<A, KubeError.KubeError> =>
    Effect.contextWith((context: Around) => {
      const { body, contentType, key, method, partial = false, place, query = [], sent, verb } = plan()
      const subresource = options?.subresource
      const call = callFor(verb, resource, key, subresource)
      return Effect.flatMapEager(locate(call, resource, place), (namespace) =>
        Effect.flatMapEager(body(call, context), (body) =>
          sendWrite(context, call, {
            method,
            path: Resource.path(resource, { ...place, namespace, subresource }),
            query: [
              ["dryRun", options?.dryRun === true ? "All" : undefined],
              ["fieldManager", options?.fieldManager ?? Context.get(context, FieldManager)],
              ["fieldValidation", options?.fieldValidation],
              ...query
            ],
            headers: { ...jsonHeaders, "content-type": contentType },
            body
          }, (answered) => {
            const target = { ...key, namespace }
            const write = options?.dryRun === true ? undefined : writeOf(resource, target, subresource, sent, answered)
            if (write !== undefined) {
              onWrite(context, write, partial ? body : undefined)
            }
            return answer(call, resource, options, answered)
          })))
    })

  const create: Client["create"] = (resource, object, options) =>
    change(resource, options, () => {
      const { name, namespace } = object.metadata
      return {
        verb: "create",
        key: { namespace, name },
        method: "POST",
        place: options?.subresource === undefined ? { namespace } : { namespace, name },
        contentType: "application/json",
        body: (call, context) => encode(context, call, resource, object, options),
        sent: object
      }
    })

  const replace: Client["replace"] = (resource, object, options) =>
    change(resource, options, () => {
      const key = { namespace: object.metadata.namespace, name: object.metadata.name }
      return {
        verb: "replace",
        key,
        method: "PUT",
        place: key,
        contentType: "application/json",
        body: (call, context) => encode(context, call, resource, object, options)
      }
    })

  const patch: Client["patch"] = (resource, ref, patch, options) =>
    change(resource, options, () => {
      const key = keyOf(ref)
      return {
        verb: "patch",
        key,
        method: "PATCH",
        place: key,
        contentType: contentTypes[patch._tag],
        body: () => Effect.succeed(patch.body),
        partial: patch._tag !== "Json"
      }
    })

  const apply: Client["apply"] = (resource, object, options) =>
    change(resource, options, () => {
      const key = { namespace: object.metadata.namespace, name: object.metadata.name }
      return {
        verb: "apply",
        key,
        method: "PATCH",
        place: key,
        contentType: "application/apply-patch+yaml",
        query: [["force", options?.force === true ? "true" : undefined]],
        body: (call, context) => encode(context, call, resource, object as PartialKubeObject, options, "encodeFields"),
        partial: true
      }
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

  const remove: Client["delete"] = <A extends KubeObject>(
    resource: Resource.Resource<A>,
    ref: ObjectRef,
    options: DeleteOptions = {}
  ) =>
    Effect.contextWith((context: Around) => {
      const key = keyOf(ref)
      const call = callFor("delete", resource, key)
      const isDry = options.dryRun === true
      return Effect.flatMapEager(locate(call, resource, key), (namespace) =>
        sendWrite(context, call, {
          method: "DELETE",
          path: Resource.path(resource, { namespace, name: key.name }),
          query: [],
          headers: { ...jsonHeaders, "content-type": "application/json" },
          body: deleteBody(options, uidOf(ref))
        }, (body): Effect.Effect<Deletion<A>, KubeError.KubeError> => {
          const object = isObject(body) && !isStatus(body) ? body : undefined
          if (object !== undefined && isTerminating(object) && !hasGone(object)) {
            if (!isDry) onWrite(context, { _tag: "Written", resource, object })
            return Effect.fromResult(
              Result.map(decode(call, resource, object), (object) => ({ _tag: "Terminating", object }) as const)
            )
          }
          const uid = object?.metadata.uid ?? (body as Status).details?.uid ?? uidOf(ref)
          if (!isDry) onWrite(context, { _tag: "Deleted", resource, key: { ...key, namespace }, uid })
          return Effect.succeed({ _tag: "Deleted", uid })
        }))
    })

  const deleteCollection: Client["deleteCollection"] = (resource, selection, options = {}) =>
    Effect.contextWith((context: Around) => {
      const call = callFor("deletecollection", resource, { namespace: selection.namespace })
      return Effect.flatMapEager(
        locate(call, resource, { namespace: selection.namespace }),
        (namespace) =>
          sendWrite(context, call, {
            method: "DELETE",
            path: Resource.path(resource, { namespace }),
            query: selectionQuery(selection),
            headers: { ...jsonHeaders, "content-type": "application/json" },
            body: deleteBody(options, undefined)
          }, (body) => {
            if (options.dryRun !== true) {
              for (const write of writesOfCollection(resource, body)) onWrite(context, write)
            }
            return Effect.void
          })
      )
    })

  const connect: Client["connect"] = (resource, ref, { body, method = "GET", process, query = [], subresource }) =>
    Effect.contextWith((context: Around) => {
      const key = keyOf(ref)
      const call = callFor("connect", resource, key, subresource)
      const asking = method === "GET" ? ask : askPermitted
      return Effect.flatMapEager(locate(call, resource, key), (namespace) =>
        asking(context, call, {
          method,
          path: Resource.path(resource, { namespace, name: key.name, subresource }),
          query,
          headers: {
            accept: "*/*",
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(process === undefined ? {} : { upgrade: "websocket" })
          },
          ...(body === undefined ? {} : { body }),
          ...(process === undefined ? {} : { process })
        }, Effect.succeed))
    })

  const lines: Client["lines"] = (resource, ref, { query: parameters = [], subresource }) => {
    const key = keyOf(ref)
    const call = callFor("connect", resource, key, subresource)
    const failed = (reason: KubeError.Reason) => KubeError.make(call, reason)
    const request = (namespace: string | undefined): Request => ({
      method: "GET",
      path: Resource.path(resource, { namespace, name: key.name, subresource }),
      query: query(parameters),
      headers: { accept: "*/*" },
      lines: true
    })
    return Stream.unwrap(
      locate(call, resource, key).pipe(
        Effect.flatMap((namespace) => Effect.mapError(stream(request(namespace)), failed)),
        Effect.map((response) =>
          response.status >= 200 && response.status < 300
            ? Stream.mapBoth(response.values, { onElement: String, onError: failed })
            : Stream.fail(failed(KubeError.fromAnswer({ ...response, body: response.body })))
        )
      )
    )
  }

  const kinds: Client["kinds"] = (apiVersion) =>
    Effect.contextWith((context: Around) => {
      const call = { verb: "list", resource: `kinds of ${apiVersion}` } as const
      return send(context, call, {
        method: "GET",
        path: apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
        query: [],
        headers: jsonHeaders
      }, (body) =>
        Effect.fromResult(Result.mapError(kindsOf(apiVersion, body), (reason) =>
          KubeError.make(call, reason))))
    })

  return {
    get,
    list,
    listPage,
    watch,
    create,
    replace,
    patch,
    apply,
    delete: remove,
    deleteCollection,
    connect,
    lines,
    kinds,
    observe: (observer) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => observers.add(observer)),
        () => Effect.sync(() => observers.delete(observer))
      ))
  }
}
