/**
 * A scripted API server: just enough of lists, watches and writes to test what sits on top of a client.
 *
 * Everything is synchronous and in memory; only the transport is an Effect. Watch events are delivered at once, or when
 * the test says so (`hold`, `release`); `fault` answers any request in the server's place; an open watch can be pushed
 * to, ended and broken by hand. What a real server answers is not this server's business: it has the shapes right.
 */
import {
  KubeClient,
  KubeError,
  type KubeObject,
  Resource,
  Selector,
  type Status,
  type Transport,
  WatchEvent
} from "@effect-operator/core"
import { Cause, Effect, Layer, Queue, Result, Stream } from "effect"
import { applyJsonPatch, applyMergePatch, type Json } from "./Patch.ts"

type Obj = KubeObject.KubeObject
type Broken = KubeError.Transport | Cause.Done

/** Events, which managers write. */
export const Event = Resource.make<Obj & { readonly reason: string; readonly note: string }>()({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced"
})

interface Target {
  readonly resource: Resource.Any
  readonly namespace: string | undefined
  readonly name: string | undefined
}

interface Change {
  readonly rv: number
  readonly id: string
  readonly before: Obj | undefined
  readonly after: Obj | undefined
}

/** A watch somebody has open. */
export class OpenWatch {
  readonly #queue: Queue.Queue<unknown, Broken>
  readonly resource: Resource.Any
  readonly matches: (object: Obj) => boolean
  readonly request: Transport.Request
  /** Everything up to here was delivered. */
  cursor: number

  constructor(
    queue: Queue.Queue<unknown, Broken>,
    resource: Resource.Any,
    matches: (object: Obj) => boolean,
    request: Transport.Request
  ) {
    this.#queue = queue
    this.resource = resource
    this.matches = matches
    this.request = request
    this.cursor = Number(parameter(request, "resourceVersion") ?? 0)
  }

  push(...events: ReadonlyArray<WatchEvent.WireEvent>): void {
    Queue.offerAllUnsafe(this.#queue, events)
  }

  bookmark(rv: number): void {
    const { apiVersion, kind } = this.resource
    this.push({ type: "BOOKMARK", object: { kind, apiVersion, metadata: { resourceVersion: String(rv) } } })
  }

  /** The server ends the watch, as it does after its timeout. */
  end(): void {
    Queue.endUnsafe(this.#queue)
  }

  /** The connection breaks. */
  break(message = "connection reset"): void {
    Queue.failCauseUnsafe(this.#queue, Cause.fail(new KubeError.Transport({ message })))
  }
}

export const parameter = (request: Transport.Request, name: string): string | undefined =>
  request.query.find(([key]) => key === name)?.[1]

/** Whether a request opens a watch, or reads a list. */
export const isWatch = (request: Transport.Request): boolean => parameter(request, "watch") === "true"

/** An answer that is no success. */
export const refuse = (
  code: number,
  reason: string,
  message = reason,
  details?: Status.StatusDetails
): Transport.Response => ({ status: code, headers: {}, body: statusOf(code, reason, message, details) })

export const statusOf = (
  code: number,
  reason: string,
  message = reason,
  details?: Status.StatusDetails
): Status.Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: code < 300 ? "Success" : "Failure",
  message,
  reason,
  code,
  ...(details === undefined ? {} : { details })
})

const ok = (body: unknown, status = 200): Transport.Response => ({ status, headers: {}, body })

export class Server {
  /** How long an answer is under way, after the server has done what was asked. */
  latency: (request: Transport.Request) => Effect.Effect<void> = () => Effect.void

  readonly #kinds: ReadonlyArray<Resource.Any>
  readonly #objects = new Map<string, Obj>()
  readonly #changes: Array<Change> = []
  /** Lists half read, by continue token. */
  readonly #snapshots = new Map<string, { readonly items: ReadonlyArray<Obj>; readonly rv: number }>()
  readonly #watches = new Set<OpenWatch>()
  #rv = 10
  #uids = 0
  #tokens = 0
  #oldest = 0
  #held = false
  /** Whether streaming lists are served; a server that does not know them refuses. */
  streams = false
  /** Every request, in order. */
  readonly requests: Array<Transport.Request> = []
  /** Answers in the server's place; undefined lets the request through. */
  fault: (request: Transport.Request) => Effect.Effect<Transport.Response | undefined, KubeError.Transport> = () =>
    Effect.undefined

  constructor(...kinds: ReadonlyArray<Resource.Any>) {
    this.#kinds = [...kinds, Event]
  }

  get rv(): number {
    return this.#rv
  }

  get watches(): ReadonlyArray<OpenWatch> {
    return [...this.#watches]
  }

  /** The open watches of a kind. */
  watchesOf(resource: Resource.Any): ReadonlyArray<OpenWatch> {
    return this.watches.filter((watch) => watch.resource.id === resource.id)
  }

  requestsFor(method: Transport.Method, plural: string): ReadonlyArray<Transport.Request> {
    return this.requests.filter((request) => request.method === method && request.path.split("/").includes(plural))
  }

  objects<A extends Obj>(resource: Resource.Resource<A>): ReadonlyArray<A> {
    const start = `${resource.id} `
    return [...this.#objects].flatMap(([id, object]) => id.startsWith(start) ? [object as A] : [])
  }

  get<A extends Obj>(resource: Resource.Resource<A>, name: string, namespace = "default"): A | undefined {
    return this.#objects.get(identity(resource, namespace, name)) as A | undefined
  }

  /** Somebody creates the object, or replaces what is there. */
  put(resource: Resource.Any, name: string, fields: Json = {}, metadata: Json = {}): Obj {
    const namespace = typeof metadata["namespace"] === "string" ? metadata["namespace"] : "default"
    const existing = this.#objects.get(identity(resource, namespace, name))
    return this.#store(resource, { ...fields, metadata: { ...metadata, name, namespace } }, existing)
  }

  /** Somebody changes fields of an object: a merge patch. */
  patch(resource: Resource.Any, name: string, body: Json, namespace = "default"): Obj {
    const existing = this.#objects.get(identity(resource, namespace, name))!
    return this.#store(resource, applyMergePatch(existing, body) as Json, existing)!
  }

  /** Somebody deletes the object; with finalizers it stays, terminating. */
  delete(resource: Resource.Any, name: string, namespace = "default"): Obj | undefined {
    const existing = this.#objects.get(identity(resource, namespace, name))
    if (existing === undefined) return undefined
    if ((existing.metadata.finalizers ?? []).length === 0) {
      this.#change(resource, existing, undefined)
      return undefined
    }
    if (existing.metadata.deletionTimestamp !== undefined) return existing
    const deletion = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 }
    return this.#store(resource, { ...existing, metadata: { ...existing.metadata, ...deletion } }, existing)
  }

  /** Watch events wait from now on. */
  hold(): void {
    this.#held = true
  }

  /** Delivers what is held to one watch alone. */
  releaseTo(watch: OpenWatch): void {
    this.#deliver(watch, this.#rv)
  }

  /** Delivers watch events up to a revision, and from now on where none is given. */
  release(upTo?: number): void {
    if (upTo === undefined) this.#held = false
    for (const watch of this.#watches) this.#deliver(watch, upTo ?? this.#rv)
  }

  /** Forgets history: older watches and continue tokens are answered 410. */
  compact(): void {
    this.#oldest = this.#rv
    this.#snapshots.clear()
  }

  /** A backup. What it gives restores the server from it: connections break, and resourceVersions begin there again. */
  backup(): () => void {
    const [objects, changes, rv] = [[...this.#objects], this.#changes.length, this.#rv]
    return () => {
      this.#objects.clear()
      for (const [id, object] of objects) this.#objects.set(id, object)
      this.#changes.length = changes
      this.#rv = rv
      for (const watch of this.#watches) watch.break()
    }
  }

  /** Time passes on the server without a change that concerns anybody. */
  advance(revisions: number): void {
    this.#rv += revisions
  }

  readonly transport: Transport.Transport["Service"] = {
    request: (request) =>
      Effect.suspend(() => {
        this.requests.push(request)
        return this.fault(request).pipe(
          Effect.map((answer) => answer ?? this.#answer(request)),
          Effect.tap(() => this.latency(request))
        )
      }),
    stream: (request) =>
      Effect.suspend(() => {
        this.requests.push(request)
        return Effect.flatMap(this.fault(request), (answer) =>
          answer === undefined ? this.#watch(request) : Effect.succeed({ ...answer, values: Stream.empty }))
      })
  }

  /** A client of somebody else's. */
  readonly client: KubeClient.Client = KubeClient.make(this.transport)

  /** The client of the program under test. */
  readonly own: KubeClient.Client = KubeClient.make(this.transport)

  readonly layer: Layer.Layer<KubeClient.KubeClient> = Layer.succeed(KubeClient.KubeClient, this.own)

  #watch(request: Transport.Request) {
    return Effect.gen({ self: this }, function*() {
      const target = this.#locate(request.path)
      const streamed = parameter(request, "sendInitialEvents") === "true"
      const since = Number(parameter(request, "resourceVersion") ?? this.#rv)
      if (streamed && !this.streams) {
        return { ...refuse(422, "Invalid", "sendInitialEvents is forbidden for watch"), values: Stream.empty }
      }
      if (target === undefined) return { ...notFound, values: Stream.empty }
      if (since < this.#oldest) return { ...refuse(410, "Expired", "too old resource version"), values: Stream.empty }
      const queue = yield* Queue.unbounded<unknown, Broken>()
      const watch = new OpenWatch(queue, target.resource, matcher(target, request), request)
      yield* Effect.acquireRelease(
        Effect.sync(() => this.#watches.add(watch)),
        () => Effect.sync(() => this.#watches.delete(watch))
      )
      if (streamed) this.#initial(watch)
      if (!this.#held) this.#deliver(watch, this.#rv)
      return { ...ok(undefined), values: Stream.fromQueue(queue) }
    })
  }

  /** What is there, as additions, and the bookmark that ends it. */
  #initial(watch: OpenWatch): void {
    const { apiVersion, kind } = watch.resource
    const resourceVersion = String(this.#rv)
    const annotations = { [WatchEvent.initialEventsEnd]: "true" }
    watch.push(
      ...this.objects(watch.resource).filter(watch.matches).map((object) => ({ type: "ADDED", object }) as const),
      { type: "BOOKMARK", object: { kind, apiVersion, metadata: { resourceVersion, annotations } } }
    )
    watch.cursor = this.#rv
  }

  #deliver(watch: OpenWatch, upTo: number): void {
    for (const { after, before, id, rv } of this.#changes) {
      if (rv <= watch.cursor || rv > upTo || !id.startsWith(`${watch.resource.id} `)) continue
      const was = before !== undefined && watch.matches(before)
      const is = after !== undefined && watch.matches(after)
      if (is) watch.push({ type: was ? "MODIFIED" : "ADDED", object: after })
      else if (was) {
        watch.push({
          type: "DELETED",
          object: { ...before, metadata: { ...before.metadata, resourceVersion: String(rv) } }
        })
      }
    }
    watch.cursor = Math.max(watch.cursor, upTo)
  }

  #answer(request: Transport.Request): Transport.Response {
    const target = this.#locate(request.path)
    if (target === undefined) return notFound
    if (target.name === undefined) {
      return request.method === "GET" ? this.#list(target, request) : this.#create(target, request.body as Json)
    }
    const { name, namespace, resource } = target
    const existing = this.#objects.get(identity(resource, namespace, name))
    if (existing === undefined) {
      const { group, plural } = resource
      const details = { name, kind: plural, ...(group === "" ? {} : { group }) }
      return refuse(404, "NotFound", `${Resource.qualifiedName(resource)} "${name}" not found`, details)
    }
    switch (request.method) {
      case "GET":
        return ok(existing)
      case "DELETE": {
        const { preconditions } = request.body as { readonly preconditions?: { readonly uid?: string } }
        if (preconditions?.uid !== undefined && preconditions.uid !== existing.metadata.uid) {
          return refuse(409, "Conflict", "the UID in the precondition does not match")
        }
        const left = this.delete(resource, name, namespace)
        return ok(left ?? statusOf(200, "", "", { name, uid: existing.metadata.uid }))
      }
      case "PUT":
        return this.#replace(resource, existing, request.body as Json)
      default: {
        const json = request.headers["content-type"] === "application/json-patch+json"
        const patched = json
          ? applyJsonPatch(existing, request.body as ReadonlyArray<KubeClient.JsonPatchOperation>)
          : applyMergePatch(existing, request.body)
        return patched === undefined
          ? refuse(422, "Invalid", "the server rejected our request due to an error in our request")
          : this.#replace(resource, existing, patched as Json)
      }
    }
  }

  #list(target: Target, request: Transport.Request): Transport.Response {
    const token = parameter(request, "continue")
    const limit = Number(parameter(request, "limit") ?? Infinity)
    let list
    let from = 0
    if (token === undefined) {
      list = { items: this.objects(target.resource).filter(matcher(target, request)), rv: this.#rv }
    } else {
      list = this.#snapshots.get(token)
      if (list === undefined) return refuse(410, "Expired", "the provided continue parameter is too old")
      from = Number(token.split(".")[1])
    }
    const more = from + limit < list.items.length
    const next = `t${++this.#tokens}.${from + limit}`
    if (more) this.#snapshots.set(next, list)
    return ok({
      kind: target.resource.listKind,
      apiVersion: target.resource.apiVersion,
      metadata: { resourceVersion: String(list.rv), ...(more ? { continue: next } : {}) },
      items: list.items.slice(from, from + limit)
    })
  }

  #create({ namespace, resource }: Target, body: Json): Transport.Response {
    const metadata = body["metadata"] as Json
    const name = String(metadata["name"])
    if (this.#objects.has(identity(resource, namespace, name))) {
      return refuse(409, "AlreadyExists", `${Resource.qualifiedName(resource)} "${name}" already exists`)
    }
    return ok(this.#store(resource, { ...body, metadata: { ...metadata, name, namespace } }, undefined), 201)
  }

  #replace(resource: Resource.Any, existing: Obj, body: Json): Transport.Response {
    const { deletionTimestamp, finalizers, resourceVersion } = body["metadata"] as Partial<KubeObject.ObjectMeta>
    if (resourceVersion !== undefined && resourceVersion !== existing.metadata.resourceVersion) {
      return refuse(409, "Conflict", "the object has been modified")
    }
    if (deletionTimestamp !== undefined && (finalizers ?? []).length === 0) {
      this.#change(resource, existing, undefined)
      return ok({ ...existing, ...body })
    }
    return ok(JSON.stringify(existing) === JSON.stringify(body) ? existing : this.#store(resource, body, existing))
  }

  #store(resource: Resource.Any, body: Json, existing: Obj | undefined): Obj {
    const metadata = body["metadata"] as Json
    const object = deepFreeze({
      ...body,
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: {
        ...metadata,
        name: String(metadata["name"]),
        uid: existing?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: String(this.#rv + 1),
        creationTimestamp: existing?.metadata.creationTimestamp ?? "2026-01-01T00:00:00Z"
      }
    })
    this.#change(resource, existing, object)
    return object
  }

  #change(resource: Resource.Any, before: Obj | undefined, after: Obj | undefined): void {
    const { metadata } = after ?? before!
    const id = identity(resource, metadata.namespace, metadata.name)
    this.#rv += 1
    this.#changes.push({ rv: this.#rv, id, before, after })
    if (after === undefined) this.#objects.delete(id)
    else this.#objects.set(id, after)
    if (!this.#held) this.release()
  }

  #locate(path: string): Target | undefined {
    for (const resource of this.#kinds) {
      const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
      if (!path.startsWith(`${root}/`)) continue
      const parts = path.slice(root.length + 1).split("/")
      const namespace = parts[0] === "namespaces" && parts.length > 2 ? parts.splice(0, 2)[1] : undefined
      if (parts[0] === resource.plural) return { resource, namespace, name: parts[1] }
    }
    return undefined
  }
}

const notFound = refuse(404, "NotFound", "the server could not find the requested resource")

const identity = (resource: Resource.Any, namespace: string | undefined, name: string): string =>
  `${resource.id} ${namespace ?? ""}/${name}`

const matcher = ({ namespace }: Target, request: Transport.Request) => {
  const labels = Result.getOrThrow(Selector.parseLabels(parameter(request, "labelSelector") ?? ""))
  const fields = Result.getOrThrow(Selector.parseFields(parameter(request, "fieldSelector") ?? ""))
  return (object: Obj): boolean =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    Selector.matchesLabels(labels, object.metadata.labels) && Selector.matchesFields(fields, object)
}

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
