/**
 * `update` and `patch`, of objects and of their status: everything that replaces a stored object by another.
 *
 * One function, `change`, does it for all of them: it asks for the new object, judges it against the stored one, and
 * stores it only if that is still the one it was judged against; otherwise it starts anew. Whether starting anew can
 * help is the resourceVersion's business: a request that names a stale one loses with a Conflict.
 *
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go `Update`, pkg/registry/rest/update.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Admission from "../Admission.ts"
import * as Body from "./Body.ts"
import * as Exchange from "./Exchange.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as MetadataRules from "./MetadataRules.ts"
import * as Patching from "./Patching.ts"
import { arrayAt, asObject, at, freeze } from "./Plain.ts"
import * as StatusError from "../StatusError.ts"
import { createObject, mergeOwners } from "./VerbsCreate.ts"

type Refused = StatusError.StatusError

/** Which part of an object a request writes. */
export type Part = "object" | "status" | "finalize"

export interface Update {
  readonly exchange: Exchange.Exchange
  readonly options: Exchange.WriteOptions
  readonly part: Part
  /** A PATCH says "immutable" where a PUT says "conflict". */
  readonly patch: boolean
}

/** The resourceVersion a write names; `undefined` for none. */
const namedVersion = (object: KubeObject): Result.Result<bigint | undefined, Refused> => {
  const text = object.metadata.resourceVersion ?? ""
  if (text === "") return Result.succeed(undefined)
  if (!/^\d+$/.test(text)) {
    return Result.fail(StatusError.plain(`strconv.ParseUint: parsing ${FieldError.quote(text)}: invalid syntax`))
  }
  const version = BigInt(text)
  return Result.succeed(version === 0n ? undefined : version)
}

const uidConflict = (exchange: Exchange.Exchange, wanted: string, found: string): Refused => {
  const { resource, route } = exchange
  const group = resource.custom === undefined ? "" : `${resource.group}/`
  const key = `/registry/${group}${resource.plural}/${Exchange.storageKey(route.namespace, route.name)}`
  return StatusError.conflict(
    resource,
    route.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ` +
      `UID in precondition: ${wanted}, UID in object meta: ${found}`
  )
}

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

const withStatus = (object: KubeObject, status: unknown): KubeObject => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  return status === undefined ? rest : { ...rest, status } as KubeObject
}

/** What a write to the status subresource makes of the stored object. */
const statusWrite = (exchange: Exchange.Exchange, next: KubeObject, stored: KubeObject): KubeObject => {
  const { strategy } = exchange.resource
  const { labels: _, ...written } = next.metadata
  const metadata = strategy.statusMetadata === "kept"
    ? { ...stored.metadata, resourceVersion: next.metadata.resourceVersion }
    : strategy.statusMetadata === "labelsKept"
    ? { ...written, ...(stored.metadata.labels === undefined ? {} : { labels: stored.metadata.labels }) }
    : { ...next.metadata, ownerReferences: stored.metadata.ownerReferences }
  return withStatus({ ...stored, metadata: withoutUndefined(metadata) as KubeObject["metadata"] }, statusOf(next))
}

const withoutUndefined = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

/** `finalize` of a Namespace writes the spec's finalizers and nothing else of the spec. */
const finalizeWrite = (next: KubeObject, stored: KubeObject): KubeObject => {
  const finalizers = at(next, "spec", "finalizers")
  const { finalizers: _, ...spec } = (at(stored, "spec") ?? {}) as Record<string, unknown>
  return {
    ...stored,
    metadata: next.metadata,
    spec: Array.isArray(finalizers) && finalizers.length > 0 ? { ...spec, finalizers } : spec
  } as KubeObject
}

/** What counts for the generation: all but metadata, and but the status where that has its own subresource. */
const desired = (object: KubeObject, statusSubresource: boolean): JsonValue.JsonObject => {
  const { metadata: _, status, ...rest } = object as KubeObject & { readonly status?: unknown }
  return statusSubresource || status === undefined ? rest : { ...rest, status }
}

/** The new object with everything in it that no client can change. */
const completed = ({ exchange, part }: Update, next: KubeObject, stored: KubeObject): KubeObject => {
  const { strategy } = exchange.resource
  const own = stored.metadata
  const written = part === "status"
    ? statusWrite(exchange, next, stored)
    : part === "finalize"
    ? finalizeWrite(next, stored)
    : strategy.statusSubresource
    ? withStatus(next, statusOf(stored))
    : next
  const prepared = part === "object"
    ? asObject(strategy.prepareUpdate(written as never, stored))
    : written
  const bumps = part === "object" && strategy.generation &&
    !JsonValue.equals(
      desired(prepared, strategy.statusSubresource),
      desired(stored, strategy.statusSubresource)
    )
  const { generation: _, ...metadata } = prepared.metadata
  const generation = own.generation === undefined && !strategy.generation
    ? undefined
    : (own.generation ?? 0) + (bumps ? 1 : 0)
  return mergeOwners(exchange, {
    ...prepared,
    apiVersion: stored.apiVersion,
    kind: stored.kind,
    metadata: withoutUndefined({
      ...metadata,
      uid: metadata.uid ?? own.uid,
      creationTimestamp: own.creationTimestamp,
      generation,
      // A deletion cannot be taken back; a client that sets one is told so by the validation.
      deletionTimestamp: own.deletionTimestamp ?? metadata.deletionTimestamp,
      deletionGracePeriodSeconds: own.deletionGracePeriodSeconds ?? metadata.deletionGracePeriodSeconds
    }) as KubeObject["metadata"]
  })
}

const faults = ({ exchange, part }: Update, next: KubeObject, stored: KubeObject) => {
  const { resource } = exchange
  const whole = part === "object"
  const builtIn = resource.custom === undefined
  const metadata = MetadataRules.validateObjectMetaUpdate(next.metadata, stored.metadata, { builtIn })
  return [
    // Judged by the registry and by the kind's own validation: every cause is told twice.
    ...metadata,
    ...metadata,
    ...resource.schemaFaults(next, stored, part === "status" ? "status" : "object"),
    ...(whole ? resource.strategy.validate(next) : []),
    ...(whole ? resource.strategy.validateUpdate(next, stored) : [])
  ]
}

/** True if this update is the end of an object that waited only for it. */
const endsDeletion = (exchange: Exchange.Exchange, next: KubeObject, stored: KubeObject): boolean =>
  stored.metadata.deletionTimestamp !== undefined &&
  (next.metadata.finalizers ?? []).length === 0 &&
  (stored.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (exchange.resource.collection !== "namespaces" || arrayAt(next, "spec", "finalizers").length === 0)

/** One try: the answer, or `undefined` if the stored object changed meanwhile. */
const attempt = Effect.fnUntraced(function*(update: Update, next: KubeObject, raw: KubeObject, stored: KubeObject) {
  const { exchange, options, patch } = update
  const { core, resource, route } = exchange
  const version = yield* Effect.fromResult(namedVersion(next))
  const uid = next.metadata.uid ?? ""
  if (uid !== "" && uid !== stored.metadata.uid && !patch) {
    return yield* Effect.fail(uidConflict(exchange, uid, stored.metadata.uid))
  }
  if (version === undefined && !resource.strategy.unconditionalUpdate) {
    // Named by the resource, not the kind, unlike every other refusal of this form.
    return yield* Effect.fail(StatusError.invalid(resource.plural, resource.group, route.name, [
      FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    ]))
  }
  if (version !== undefined && version !== BigInt(stored.metadata.resourceVersion)) {
    return yield* Effect.fail(StatusError.conflict(resource, route.name, StatusError.objectModified))
  }
  const versioned = { ...next, metadata: { ...next.metadata, resourceVersion: stored.metadata.resourceVersion } }
  const final = completed(update, versioned, stored)
  const attributes: Admission.Attributes = {
    operation: "UPDATE",
    resource,
    subresource: route.subresource,
    namespace: route.namespace,
    name: route.name,
    object: final,
    oldObject: stored,
    user: exchange.user,
    dryRun: options.dryRun,
    warn: (text) => exchange.warnings.push(text)
  }
  const admitted = yield* Admission.admit(core, attributes, final)
  const found = faults(update, admitted, stored)
  if (found.length > 0) return yield* Effect.fail(Exchange.invalid(exchange, route.name, found))
  yield* Admission.review(core, { ...attributes, object: admitted })
  if (resource.custom !== undefined) {
    exchange.warnings.push(
      ...MetadataRules.finalizerWarnings(admitted.metadata.finalizers, stored.metadata.finalizers)
    )
  }
  const key = Exchange.storageKey(route.namespace, route.name)
  if (core.storage.get(resource.collection, key) !== raw) return undefined
  const ends = endsDeletion(exchange, admitted, stored)
  if (!ends && JsonValue.equals(admitted, stored)) return stored
  if (options.dryRun) return freeze(admitted)
  if (ends) {
    core.storage.remove(resource.collection, key, route.namespace)
    return freeze(admitted)
  }
  const change = core.storage.put(resource.collection, key, route.namespace, resource.toStorage(admitted))
  return resource.fromStorage(change.object)
})

/** How often a patch is tried against an object that keeps changing. A PUT cannot be tried again. */
const attempts = 5

/** Replaces the stored object by what `next` makes of it. */
export const change = Effect.fnUntraced(function*(
  update: Update,
  next: (stored: KubeObject) => Effect.Effect<KubeObject, Refused>
) {
  const { core, resource, route } = update.exchange
  const key = Exchange.storageKey(route.namespace, route.name)
  for (let tries = 0; tries < attempts; tries++) {
    const raw = core.storage.get(resource.collection, key)
    if (raw === undefined) return yield* Effect.fail(Exchange.notFound(update.exchange))
    const stored = resource.fromStorage(raw)
    const result = yield* attempt(update, yield* next(stored), raw, stored)
    if (result !== undefined) return result
  }
  return yield* Effect.fail(StatusError.conflict(resource, route.name, StatusError.objectModified))
})

const answer = (object: KubeObject, status = 200): Exchange.Answer => ({ _tag: "Object", status, object })

/** PUT. */
export const replace = (part: Part): Exchange.Verb =>
  Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const { core, resource, route } = exchange
    const options = yield* Exchange.writeOptions(exchange, "UpdateOptions")
    const body = yield* Body.read(exchange, options)
    yield* Body.named(exchange, body)
    const placed = yield* Body.placed(exchange, body, "update")
    const key = Exchange.storageKey(route.namespace, route.name)
    if (core.storage.get(resource.collection, key) === undefined) {
      const uid = placed.metadata.uid ?? ""
      if (uid !== "") return yield* Effect.fail(uidConflict(exchange, uid, ""))
      if (part !== "object" || !resource.strategy.createsOnUpdate) {
        return yield* Effect.fail(Exchange.notFound(exchange))
      }
      const { resourceVersion: _, ...metadata } = placed.metadata
      // The server fills in a resourceVersion before the object is stored.
      const created = yield* createObject(exchange, options, { ...placed, metadata } as KubeObject)
      return answer(created, 201)
    }
    const update = { exchange, options, part, patch: false }
    return answer(yield* change(update, () => Effect.succeed(placed)))
  })

/** PATCH, but for server-side apply. */
export const patch = (part: Part): Exchange.Verb =>
  Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const options = yield* Exchange.writeOptions(exchange, "PatchOptions")
    const apply = yield* Patching.reader(exchange)
    const next = Effect.fnUntraced(function*(stored: KubeObject) {
      const patched = yield* apply(stored)
      const unreadable = (text: string) =>
        StatusError.invalid("", "", "", [FieldError.invalid("patch", FieldError.goJson(patched), text)])
      const read = yield* Body.decode(exchange, options, patched, unreadable).pipe(
        Effect.mapError((error) => error.status === 400 ? unreadable(error.body.message ?? "") : error)
      )
      yield* Body.named(exchange, read)
      return yield* Body.placed(exchange, read, "update")
    })
    return answer(yield* change({ exchange, options, part, patch: true }, next))
  })
