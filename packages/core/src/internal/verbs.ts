/** The verbs of `Client` as requests over a `Transport`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import {
  type Client,
  defaults,
  type DeleteOptions,
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
import { type Request, type Response, type Transport } from "../Transport.ts"
import { Unparsed } from "../Unparsed.ts"
import { isList, isObject, isStored, noObject } from "./answers.ts"
import { requestSpan } from "./requestSpan.ts"
import { watchEvents } from "./watchEvents.ts"
import { writeOf, writesOfCollection } from "./writeOf.ts"

const contentTypes: Record<Patch["_tag"], string> = {
  Merge: "application/merge-patch+json",
  Strategic: "application/strategic-merge-patch+json",
  Json: "application/json-patch+json"
}

type Query = ReadonlyArray<readonly [string, string | undefined]>
interface Target {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

const query = (entries: Query): Request["query"] =>
  entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined)

const selectionQuery = (selection: Selection): Query => [
  ["labelSelector", labelsText(selection.labels)],
  ["fieldSelector", fieldsText(selection.fields)]
]

/** What a trace tells of a request. */
const spanOf = (call: KubeError.Call, { method, path }: Pick<Request, "method" | "path">) => ({
  "http.request.method": method,
  "url.path": path,
  "k8s.resource": call.resource,
  ...(call.namespace === undefined ? {} : { "k8s.namespace.name": call.namespace }),
  ...(call.name === undefined ? {} : { "k8s.object.name": call.name })
})

/** Why a kind is none of this client's: it is one of another cluster, and would be looked for in the wrong one. */
const strangeness = ({ cluster, id }: Resource.Any): string | undefined =>
  cluster === undefined ? undefined : `${id} is of cluster ${cluster}, and this client is not: see Cluster`

const jsonHeaders = { accept: "application/json" }

/** How an answer is to come: whole, or with nothing but metadata. */
const acceptOf = ({ metadataOnly }: Resource.Any, form: string) =>
  metadataOnly === true ? { accept: `application/json;as=${form};g=meta.k8s.io;v=v1` } : jsonHeaders

const describe = (resource: Resource.Any, subresource?: string): string =>
  subresource === undefined ? Resource.qualifiedName(resource) : `${Resource.qualifiedName(resource)}/${subresource}`

/** Builds the client over a transport. */
export const make = (transport: Transport["Service"]): Client => {
  const observers = new Set<(write: Write) => void>()
  const onWrite = (write: Write): Effect.Effect<void> =>
    Effect.map(Writing, ({ wrote }) => {
      for (const observer of observers) observer(write)
      wrote(write)
    })

  const send = (
    call: KubeError.Call,
    request: Omit<Request, "query"> & { readonly query: Query }
  ): Effect.Effect<Response, KubeError.KubeError> =>
    requestSpan(
      `${call.verb} ${call.resource}`,
      () => spanOf(call, request),
      transport.request({
        ...request,
        query: query(request.query)
      })
    ).pipe(
      Effect.mapError((reason) => KubeError.make(call, reason)),
      Effect.filterOrFail(
        (response) => response.status >= 200 && response.status < 300,
        (response) => KubeError.make(call, KubeError.fromAnswer({ ...response, body: response.body }))
      ),
      // A proxy's login page comes with 200 too.
      Effect.filterOrFail(
        ({ body }) => typeof body === "object" && body !== null,
        ({ body }) => {
          const issue = `the answer is no JSON object: ${String(body).slice(0, 100)}`
          return KubeError.make(call, new KubeError.Decode({ message: issue, issues: [issue] }))
        }
      )
    )

  /** Sends a write, if it is allowed. */
  const sendWrite: typeof send = (call, request) =>
    Effect.flatMap(Writing, ({ permit }) => Effect.andThen(permit, send(call, request)))

  /**
   * The namespace a request goes to, or why there is none. Nothing is sent without a name where one is due: the path
   * would be that of the whole collection.
   */
  const locate = (
    call: KubeError.Call,
    resource: Resource.Any,
    key: Target
  ): Effect.Effect<string | undefined, KubeError.KubeError> => {
    const namespaced = resource.scope === "Namespaced"
    const problem = strangeness(resource) ??
      (namespaced ? segmentProblem("namespace", key.namespace, resource) : undefined) ??
      ("name" in key ? segmentProblem("name", key.name, resource) : undefined)
    return problem === undefined
      ? Effect.succeed(namespaced ? key.namespace : undefined)
      : Effect.fail(KubeError.make(call, new KubeError.BadRequest({ message: problem, code: 400 })))
  }

  /** The namespace to look in, if it is one: objects of a cluster-scoped kind are in none. */
  const within = (
    call: KubeError.Call,
    resource: Resource.Any,
    { namespace }: Selection
  ): Effect.Effect<string | undefined, KubeError.KubeError> =>
    (namespace === undefined || namespace === "") && resource.cluster === undefined
      ? Effect.undefined
      : locate(call, resource, { namespace })

  const decode = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    body: unknown
  ): Result.Result<A, KubeError.KubeError> =>
    Result.mapError(isObject(body) ? resource.decode(body) : Result.fail(noObject), ({ issues }) =>
      KubeError.make(
        call,
        new KubeError.Decode({ message: `the answer is no ${resource.kind}: ${issues.join("; ")}`, issues })
      ))

  const encode = (
    call: KubeError.Call,
    resource: Resource.Any,
    object: PartialKubeObject,
    options: WriteOptions | undefined
  ) => {
    if (isForeign(resource, object, options)) return Effect.succeed(object)
    const full = { ...object, apiVersion: resource.apiVersion, kind: resource.kind }
    return Effect.fromResult(Result.mapError(resource.encode(full), ({ issues }) =>
      KubeError.make(
        call,
        new KubeError.Decode({ message: `the object is no ${resource.kind}: ${issues.join("; ")}`, issues })
      )))
  }

  const answer = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    options: { readonly subresource?: string | undefined } | undefined,
    body: unknown
  ): Effect.Effect<A, KubeError.KubeError> =>
    isForeign(resource, body, options)
      ? Effect.succeed(body as A)
      : Effect.fromResult(decode(call, resource, body))

  const written = <A extends KubeObject>(
    call: KubeError.Call,
    resource: Resource.Resource<A>,
    key: Target,
    options: WriteOptions | undefined,
    body: unknown,
    sent?: unknown
  ): Effect.Effect<A, KubeError.KubeError> => {
    const decoded = answer(call, resource, options, body)
    const write = options?.dryRun === true ? undefined : writeOf(resource, key, options?.subresource, sent, body)
    return write === undefined ? decoded : Effect.andThen(onWrite(write), decoded)
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
      headers: acceptOf(resource, "PartialObjectMetadata")
    })
    return yield* answer(call, resource, options, response.body)
  })

  const listPage = Effect.fn("KubeClient.listPage")(function*<A extends KubeObject>(
    resource: Resource.Resource<A>,
    options: ListOptions = {}
  ) {
    const call = callFor("list", resource, { namespace: options.namespace })
    const limit = options.limit ?? defaults.pageSize
    const response = yield* send(call, {
      method: "GET",
      path: Resource.path(resource, { namespace: yield* within(call, resource, options) }),
      query: [
        ...selectionQuery(options),
        ["limit", limit === 0 ? undefined : String(limit)],
        ["continue", options.continue],
        ["resourceVersion", options.resourceVersion],
        ["resourceVersionMatch", options.resourceVersionMatch]
      ],
      headers: acceptOf(resource, "PartialObjectMetadataList"),
      reading: options.reading
    })
    const { body } = response
    if (!isList(body)) {
      const message = `the answer is no ${resource.listKind}`
      return yield* KubeError.make(call, new KubeError.Decode({ message, issues: [message] }))
    }
    const items: Array<A> = []
    for (const item of body.items ?? []) {
      if (!isStored(item)) {
        const issue = `no item of a ${resource.listKind}: ${JSON.stringify(item)?.slice(0, 100)}`
        return yield* KubeError.make(call, new KubeError.Decode({ message: issue, issues: [issue] }))
      }
      // The items of a list of a built-in kind carry neither apiVersion nor kind.
      const full = item instanceof Unparsed
        ? item.typed(resource.apiVersion, resource.kind)
        : item.kind === undefined
        ? Object.freeze({ ...item, apiVersion: resource.apiVersion, kind: resource.kind })
        : item
      const decoded = decode(call, resource, full)
      if (Result.isFailure(decoded)) return yield* decoded.failure
      items.push(decoded.success)
    }
    const token = body.metadata.continue
    return {
      items,
      resourceVersion: body.metadata.resourceVersion,
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
        Effect.flatMap((namespace) => Effect.mapError(transport.stream(request(namespace)), failed)),
        Effect.tap(({ status }) => status === 200 && options.onOpen !== undefined ? options.onOpen : Effect.void),
        Effect.map((response) => watchEvents(response, (object) => decode(call, resource, object), failed))
      )
    )
  }

  const create: Client["create"] = Effect.fn("KubeClient.create")(function*(resource, object, options) {
    const key = { namespace: object.metadata.namespace, name: object.metadata.name }
    const call = callFor("create", resource, key, options?.subresource)
    const place = options?.subresource === undefined ? { namespace: key.namespace } : key
    const namespace = yield* locate(call, resource, place)
    const response = yield* sendWrite(call, {
      method: "POST",
      path: Resource.path(resource, { ...place, namespace, subresource: options?.subresource }),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: yield* encode(call, resource, object, options)
    })
    return yield* written(call, resource, { ...key, namespace }, options, response.body, object)
  })

  const replace: Client["replace"] = Effect.fn("KubeClient.replace")(function*(resource, object, options) {
    const key = { namespace: object.metadata.namespace, name: object.metadata.name }
    const call = callFor("replace", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* sendWrite(call, {
      method: "PUT",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: yield* encode(call, resource, object, options)
    })
    return yield* written(call, resource, { ...key, namespace }, options, response.body)
  })

  const patch: Client["patch"] = Effect.fn("KubeClient.patch")(function*(resource, ref, patch, options) {
    const key = keyOf(ref)
    const call = callFor("patch", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* sendWrite(call, {
      method: "PATCH",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: yield* writeQuery(options),
      headers: { ...jsonHeaders, "content-type": contentTypes[patch._tag] },
      body: patch.body
    })
    return yield* written(call, resource, { ...key, namespace }, options, response.body)
  })

  const apply: Client["apply"] = Effect.fn("KubeClient.apply")(function*(resource, object, options) {
    const key = object.metadata
    const call = callFor("apply", resource, key, options?.subresource)
    const namespace = yield* locate(call, resource, key)
    const response = yield* sendWrite(call, {
      method: "PATCH",
      path: Resource.path(resource, { namespace, name: key.name, subresource: options?.subresource }),
      query: [...(yield* writeQuery(options)), ["force", options?.force === true ? "true" : undefined]],
      headers: { ...jsonHeaders, "content-type": "application/apply-patch+yaml" },
      body: isForeign(resource, object, options)
        ? object
        : { ...object, apiVersion: resource.apiVersion, kind: resource.kind }
    })
    return yield* written(call, resource, { ...key, namespace }, options, response.body)
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
    const { body } = yield* sendWrite(call, {
      method: "DELETE",
      path: Resource.path(resource, { namespace, name: key.name }),
      query: [],
      headers: { ...jsonHeaders, "content-type": "application/json" },
      body: deleteBody(options, uidOf(ref))
    })
    const object = isObject(body) && !isStatus(body) ? body : undefined
    if (object !== undefined && isTerminating(object) && !hasGone(object)) {
      if (options.dryRun !== true) yield* onWrite({ _tag: "Written", resource, object })
      return { _tag: "Terminating", object: yield* Effect.fromResult(decode(call, resource, object)) } as const
    }
    const uid = object?.metadata.uid ?? (body as Status).details?.uid ?? uidOf(ref)
    if (options.dryRun !== true) yield* onWrite({ _tag: "Deleted", resource, key: { ...key, namespace }, uid })
    return { _tag: "Deleted", uid } as const
  })

  const deleteCollection: Client["deleteCollection"] = Effect.fn("KubeClient.deleteCollection")(
    function*(resource, selection, options = {}) {
      const call = callFor("deletecollection", resource, { namespace: selection.namespace })
      const namespace = yield* locate(call, resource, { namespace: selection.namespace })
      const { body } = yield* sendWrite(call, {
        method: "DELETE",
        path: Resource.path(resource, { namespace }),
        query: selectionQuery(selection),
        headers: { ...jsonHeaders, "content-type": "application/json" },
        body: deleteBody(options, undefined)
      })
      if (options.dryRun !== true) yield* Effect.forEach(writesOfCollection(resource, body), onWrite, { discard: true })
    }
  )

  return {
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
    observe: (observer) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => observers.add(observer)),
        () => Effect.sync(() => observers.delete(observer))
      ))
  }
}

/** Whether a subresource speaks of another kind, as `scale` and `eviction` do: that goes through as it is. */
const isForeign = (
  resource: Resource.Any,
  object: unknown,
  options: { readonly subresource?: string | undefined } | undefined
): boolean => {
  const { kind } = object as PartialKubeObject
  return options?.subresource !== undefined && kind !== undefined && kind !== resource.kind
}

/** What is wrong with a part of a path. The two that a URL takes for directions would lead to another object. */
const segmentProblem = (field: string, value: string | undefined, resource: Resource.Any): string | undefined => {
  if (value === undefined || value === "") {
    return field === "namespace"
      ? `metadata.namespace: missing: ${resource.kind} is namespaced; give a namespace`
      : `metadata.name: missing: give the name of the ${resource.kind}`
  }
  return value === "." || value === ".."
    ? `metadata.${field}: ${JSON.stringify(value)}: give a real ${field}`
    : undefined
}
