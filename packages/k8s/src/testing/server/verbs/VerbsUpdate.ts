/**
 * `update` and `patch` of objects and their status: everything that replaces a stored object.
 *
 * All of them use one function, `change`. It computes the new object, validates it against the stored one, and stores
 * it only if the stored one has not changed meanwhile; otherwise it starts again. If the request names a stale
 * resourceVersion, starting again ends in a Conflict.
 *
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go `Update`, pkg/registry/rest/update.go.
 */
import { type KubeObject, withoutManagedFields } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Attributes from "../../../api/Attributes.ts"
import * as Bodies from "../../../api/Bodies.ts"
import * as Metadata from "../../../api/Metadata.ts"
import * as MetadataRules from "../../../api/MetadataRules.ts"
import { arrayAt, asObject, at, freeze } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoValue from "../../../schema/GoValue.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as Escalation from "../../auth/Escalation.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf } from "../Registry.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as PatchedDocument from "../go/PatchedDocument.ts"
import * as Restoring from "../go/Restoring.ts"
import * as ApplyPatch from "./ApplyPatch.ts"
import * as Body from "./Body.ts"
import * as Ownership from "./Ownership.ts"
import * as Patching from "./Patching.ts"
import { createObject, createOwned } from "./VerbsCreate.ts"
import { expunge } from "./VerbsDelete.ts"
import * as Versions from "./Versions.ts"

type Refused = StatusError.StatusError

/** The part of an object that a request writes. */
export type Part = "object" | "status" | "finalize"

export interface Update {
  readonly exchange: Exchange.Exchange
  readonly options: Exchange.WriteOptions
  readonly part: Part
  /** Whether this is a PATCH, whose uid mismatch is reported as "immutable" rather than "conflict". */
  readonly patch: boolean
  /**
   * The attributes for validating admission of a write through a view such as Scale. Mutating admission was called with
   * the view before.
   */
  readonly view?: (
    attributes: Admission.Attributes,
    next: KubeObject,
    stored: KubeObject
  ) => Effect.Effect<Admission.Attributes, Refused>
}

const uidConflict = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  wanted: string,
  found: string
): Refused =>
  Exchange.storageConflict(
    exchange,
    exchange.route,
    options.dryRun,
    `UID in precondition: ${wanted}, UID in object meta: ${found}`
  )

/** The stored object after a write to its status subresource. */
const statusWrite = (exchange: Exchange.Exchange, next: KubeObject, stored: KubeObject): KubeObject => {
  const { strategy } = exchange.resource
  const { labels: _, ...written } = next.metadata
  const metadata = strategy.statusMetadata === "kept"
    ? {
      ...stored.metadata,
      resourceVersion: next.metadata.resourceVersion,
      managedFields: next.metadata.managedFields
    }
    : strategy.statusMetadata === "labelsKept"
    ? { ...written, ...(stored.metadata.labels === undefined ? {} : { labels: stored.metadata.labels }) }
    : strategy.statusMetadata === "ownersKept"
    ? { ...next.metadata, ownerReferences: stored.metadata.ownerReferences, deletionTimestamp: undefined }
    : next.metadata
  return Metadata.withStatus(
    { ...stored, metadata: Metadata.withoutUndefined(metadata) as KubeObject["metadata"] },
    Metadata.statusOf(next)
  )
}

/** `finalize` of a Namespace writes only the finalizers of the spec. */
const finalizeWrite = (next: KubeObject, stored: KubeObject): KubeObject => {
  const finalizers = at(next, "spec", "finalizers")
  const { finalizers: _, ...spec } = (at(stored, "spec") ?? {}) as Record<string, unknown>
  return {
    ...stored,
    metadata: next.metadata,
    spec: Array.isArray(finalizers) && finalizers.length > 0 ? { ...spec, finalizers } : spec
  } as KubeObject
}

const finalizerFaults = (next: KubeObject): ReadonlyArray<FieldError.FieldError> =>
  arrayAt(next, "spec", "finalizers").flatMap((name, index) =>
    MetadataRules.validateFinalizerName(String(name), `spec.finalizers[${index}]`)
  )

/** The new object with all fields that clients cannot change. */
const completed = ({ exchange, part }: Update, next: KubeObject, stored: KubeObject): KubeObject => {
  const { strategy } = exchange.resource
  const own = stored.metadata
  const written = part === "status"
    ? statusWrite(exchange, next, stored)
    : part === "finalize"
    ? finalizeWrite(next, stored)
    : strategy.statusSubresource
    ? Metadata.withStatus(next, Metadata.statusOf(stored))
    : next
  const prepared = part === "object"
    ? asObject(strategy.prepareUpdate(written as never, stored, exchange.core.services))
    : part === "status"
    ? asObject(strategy.prepareStatus(written as never, stored, exchange.now))
    : written
  const bumps = part === "object" && (strategy.generation === true || strategy.generation === "later") && (
    !JsonValue.equals(
      Metadata.desired(prepared, strategy.statusSubresource),
      Metadata.desired(stored, strategy.statusSubresource)
    ) || (strategy.annotationsCount && !JsonValue.equals(prepared.metadata.annotations ?? {}, own.annotations ?? {})) ||
    (strategy.labelsCount && !JsonValue.equals(prepared.metadata.labels ?? {}, own.labels ?? {}))
  )
  const { generation: _, ...metadata } = prepared.metadata
  const generation = (own.generation ?? 0) + (bumps ? 1 : 0)
  return {
    ...prepared,
    apiVersion: stored.apiVersion,
    kind: stored.kind,
    metadata: Metadata.withoutUndefined({
      ...metadata,
      uid: metadata.uid ?? own.uid,
      creationTimestamp: own.creationTimestamp,
      generation: generation === 0 ? undefined : generation,
      // A deletion cannot be undone; validation reports a client that sets one, or another grace period.
      deletionTimestamp: own.deletionTimestamp ?? metadata.deletionTimestamp,
      deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? own.deletionGracePeriodSeconds
    }) as KubeObject["metadata"]
  }
}

/** The registry's validation of metadata for every kind: as of a new object, and as of an update. */
const metadataFaults = ({ resource }: Exchange.Exchange, next: KubeObject, stored: KubeObject) => [
  ...MetadataRules.validateObjectMeta(next.metadata, {
    namespaced: resource.scope === "Namespaced",
    nameRule: "pathSegment"
  }),
  ...MetadataRules.validateObjectMetaUpdate(next.metadata, stored.metadata)
]

const repeated = <A>(times: number, judge: () => ReadonlyArray<A>): ReadonlyArray<A> =>
  times === 0 ? [] : Array.from({ length: times }, judge).flat()

const faults = ({ exchange, part }: Update, next: KubeObject, stored: KubeObject) => {
  const { resource } = exchange
  const whole = part === "object"
  const { judgedAnew, judgedWithStatus, metadataJudge } = resource.strategy
  const options = { namespaced: resource.scope === "Namespaced", builtIn: metadataJudge === "builtIn" }
  const [updated, anew] = metadataJudge === "registry"
    ? [0, 0]
    : part === "status"
    ? [Math.min(judgedWithStatus, 1), Math.max(judgedWithStatus - 1, 0)]
    : [1, whole ? judgedAnew : 0]
  const ofMetadata = [
    // The kind's own validation includes metadata again, and every fault is reported each time it is found.
    ...metadataFaults(exchange, next, stored),
    ...repeated(updated, () => MetadataRules.validateObjectMetaUpdate(next.metadata, stored.metadata, options)),
    ...repeated(
      anew,
      () => MetadataRules.validateObjectMeta(next.metadata, { ...options, nameRule: "pathSegment" })
    )
  ]
  return [
    ...ofMetadata,
    ...resource.schemaFaults(
      next,
      stored,
      part === "status" ? "status" : "object",
      (text) => exchange.warnings.push(text),
      ofMetadata
    ),
    ...(part === "finalize" ? finalizerFaults(next) : []),
    ...(part === "status" ? resource.strategy.validateStatus(next, stored) : []),
    ...(whole ? resource.strategy.validate(next, stored) : []),
    ...(whole ? resource.strategy.validateUpdate(next, stored) : [])
  ]
}

const warnings = ({ exchange: { resource: { strategy } }, part }: Update, next: KubeObject, stored: KubeObject) =>
  part === "object"
    ? strategy.warnings(next, stored)
    : part === "status"
    ? strategy.statusWarnings(next, stored)
    : []

/** Whether this update completes a pending deletion. */
const endsDeletion = (exchange: Exchange.Exchange, next: KubeObject, stored: KubeObject): boolean =>
  stored.metadata.deletionTimestamp !== undefined &&
  (next.metadata.finalizers ?? []).length === 0 &&
  (stored.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (exchange.resource.collection !== "namespaces" || arrayAt(next, "spec", "finalizers").length === 0)

/** One attempt: the answer, or `undefined` if the stored object changed meanwhile. */
const attempt = Effect.fnUntraced(function*(update: Update, written: KubeObject, raw: KubeObject, stored: KubeObject) {
  const { exchange, options, patch, view } = update
  const { core, resource, route } = exchange
  const uid = written.metadata.uid ?? ""
  if (uid !== "" && uid !== stored.metadata.uid && !patch) {
    return yield* Effect.fail(uidConflict(exchange, options, uid, stored.metadata.uid))
  }
  // The result of a patch is not checked before mutating admission.
  const sent = patch ? written : Metadata.mergeOwners(exchange, written)
  const attributes = Admission.attributes(exchange, "UPDATE", {
    object: sent,
    oldObject: stored,
    dryRun: options.dryRun
  })
  // Mutating admission of a view was called with the view.
  const mutated = view === undefined ? yield* Admission.admit(core, attributes, sent) : sent
  const next = Metadata.mergeOwners(exchange, mutated, " after mutating admission happens")
  const escalation = Escalation.fault(exchange, next, stored)
  if (escalation !== undefined) return yield* Effect.fail(escalation)
  const outdated = Metadata.versionFault(exchange, next, stored)
  if (outdated !== undefined) return yield* Effect.fail(outdated)
  const versioned = { ...next, metadata: { ...next.metadata, resourceVersion: stored.metadata.resourceVersion } }
  const admitted = Ownership.settled(completed(update, versioned, stored), stored)
  const refusal = update.part === "object"
    ? resource.strategy.refusal(admitted, stored, core.services, options.dryRun)
    : undefined
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  const found = faults(update, admitted, stored)
  if (found.length > 0) return yield* Effect.fail(Exchange.invalid(exchange, route.name, found))
  exchange.warnings.push(...warnings(update, admitted, stored))
  yield* Admission.review(
    core,
    view === undefined ? { ...attributes, object: admitted } : yield* view(attributes, admitted, stored)
  )
  if (resource.custom !== undefined) {
    exchange.warnings.push(
      ...MetadataRules.finalizerWarnings(admitted.metadata.finalizers, stored.metadata.finalizers)
    )
  }
  const encoded = yield* Versions.store(resource, admitted)
  const key = Exchange.storageKey(route.namespace, route.name)
  if (core.storage.get(resource.collection, key) !== raw) return undefined
  const ends = endsDeletion(exchange, admitted, stored)
  // A custom object whose stored form differs from the current one is stored again: this is how storage migration
  // works.
  const same = admitted.metadata.managedFields === stored.metadata.managedFields &&
    JsonValue.equals(admitted, stored) && (resource.custom === undefined || JsonValue.equals(encoded, raw))
  if (!ends && same) return stored
  if (options.dryRun) return freeze(yield* Versions.rehearse(resource, admitted, encoded))
  if (ends) {
    yield* expunge(exchange, route.name, route.namespace)
    return freeze(admitted)
  }
  const change = core.storage.put(resource.collection, key, route.namespace, encoded)
  return yield* Versions.show(resource, change.object)
})

/** The maximum number of attempts of a patch if the object keeps changing. A PUT cannot be retried. */
const attempts = 5

/** Replaces the stored object with the result of `next`. */
export const change = Effect.fnUntraced(function*(
  update: Update,
  next: (stored: KubeObject) => Effect.Effect<KubeObject, Refused>
) {
  const { core, resource, route } = update.exchange
  const key = Exchange.storageKey(route.namespace, route.name)
  for (let tries = 0; tries < attempts; tries++) {
    const raw = core.storage.get(resource.collection, key)
    if (raw === undefined) return yield* Effect.fail(Exchange.notFound(update.exchange))
    const stored = yield* Versions.current(resource, raw)
    const result = yield* attempt(update, yield* next(stored), raw, stored)
    if (result !== undefined) return result
  }
  return yield* Effect.fail(StatusError.conflict(resource, route.name, StatusError.objectModified))
})

/** Whether a document has the kind and version of the URL. For built-in kinds, decoding has checked that. */
const isOwn = ({ resource }: Exchange.Exchange, { apiVersion, kind }: KubeObject): boolean =>
  kind === resource.kind && apiVersion === apiVersionOf(resource)

/** The refusal of a custom object with another kind or version. */
const typeFault = (update: Update, next: KubeObject, stored: KubeObject): Refused => {
  const { exchange } = update
  const { resource, route } = exchange
  const { apiVersion, kind } = next
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0]! : ""
  const whole = { ...completed(update, next, stored), apiVersion, kind }
  const ofMetadata = metadataFaults(exchange, whole, stored)
  return Metadata.versionFault(exchange, next, stored) ?? StatusError.invalid(kind, group, route.name, [
    ...ofMetadata,
    ...resource.schemaFaults(whole, stored, "object", (text) => exchange.warnings.push(text), ofMetadata)
  ])
}

/**
 * The replacement of the stored object. A status is accepted from a document of any kind, but fields of another kind
 * cannot be tracked, so the object then loses all managedFields.
 */
const replacement = (update: Update, next: KubeObject, stored: KubeObject) => {
  const { exchange, options, part } = update
  return isOwn(exchange, next)
    ? Ownership.updated(exchange, options, stored, next)
    : part === "object"
    ? Effect.fail(typeFault(update, next, stored))
    : Effect.succeed(withoutManagedFields(next))
}

const answer = (object: KubeObject, status = 200): Exchange.Answer => ({ _tag: "Object", status, object })

/** PUT. */
export const replace = (part: Part): Exchange.Verb =>
  Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const { core, resource, route } = exchange
    const options = yield* Exchange.writeOptions(exchange, "UpdateOptions")
    const body = yield* Body.read(exchange, options)
    const placed = yield* Bodies.placed(exchange, body)
    yield* Bodies.named(exchange, body)
    const key = Exchange.storageKey(route.namespace, route.name)
    if (core.storage.get(resource.collection, key) === undefined) {
      const misnamed = Exchange.nameFault(route.name)
      if (misnamed !== undefined) return yield* Effect.fail(misnamed)
      if (part !== "object" || !resource.strategy.createsOnUpdate) {
        // Repeated owners are warned about before the object is looked for.
        Metadata.mergeOwners(exchange, placed)
        return yield* Effect.fail(Exchange.notFound(exchange))
      }
      const uid = placed.metadata.uid ?? ""
      if (uid !== "") return yield* Effect.fail(uidConflict(exchange, options, uid, ""))
      const { resourceVersion: _, ...metadata } = placed.metadata
      yield* mayCreate(exchange)
      // The server sets a resourceVersion before the object is stored.
      const created = yield* createObject(exchange, options, { ...placed, metadata } as KubeObject)
      return answer(created, 201)
    }
    const update = { exchange, options, part, patch: false }
    return answer(yield* change(update, (stored) => replacement(update, placed, stored)))
  })

/** A PUT or apply that creates an object requires permission to create it. */
const mayCreate = (exchange: Exchange.Exchange): Effect.Effect<void, StatusError.StatusError> => {
  const { core, request, route, user } = exchange
  const attributes = { ...Attributes.fromRequest(request, route), verb: "create" }
  const { allowed, reason } = core.authorizer.authorize(user, attributes)
  // Without the header of refusals that precede decoding.
  const { headers: _, ...refused } = Attributes.forbidden(user, attributes, reason)
  return allowed ? Effect.void : Effect.fail(refused)
}

/** A PATCH with server-side apply. If the object does not exist, it is created. */
const apply = Effect.fnUntraced(function*(exchange: Exchange.Exchange, part: Part) {
  const { core, resource, route } = exchange
  const options = yield* Exchange.writeOptions(exchange, "ApplyOptions")
  const misnamed = Exchange.nameFault(route.name)
  if (misnamed !== undefined) return yield* Effect.fail(misnamed)
  const key = Exchange.storageKey(route.namespace, route.name)
  const isStored = core.storage.get(resource.collection, key) !== undefined
  // If the object cannot be created, the 404 precedes any error of the patch.
  if (!isStored && part !== "object") return yield* Effect.fail(Exchange.notFound(exchange))
  const request = yield* ApplyPatch.read(exchange, options)
  if (isStored) {
    const update = { exchange, options, part, patch: true }
    return answer(yield* change(update, (stored) => ApplyPatch.next(exchange, request, stored)))
  }
  const next = yield* ApplyPatch.next(exchange, request, undefined)
  const { resourceVersion: _, uid = "", ...metadata } = next.metadata
  if (uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
    return yield* Effect.fail(StatusError.conflict(resource, route.name, why))
  }
  yield* mayCreate(exchange)
  return answer(yield* createOwned(exchange, options, asObject({ ...next, metadata })), 201)
})

/** A strategic merge patch applies to a typed value, so it cannot change apiVersion and kind. */
const typed = ({ request, resource }: Exchange.Exchange, patched: JsonValue.JsonObject): JsonValue.JsonObject =>
  Patching.isStrategic(request) &&
    [patched["apiVersion"], patched["kind"]].every((text) => text === undefined || typeof text === "string")
    ? { ...patched, apiVersion: apiVersionOf(resource), kind: resource.kind }
    : patched

/** Decodes the result of a patch; a failure is reported as a fault of the patch. */
const readPatched = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  patched: JsonValue.JsonObject,
  fault: (text: string) => FieldError.FieldError,
  merged = false
) => {
  const unreadable = (text: string) => StatusError.invalid("", "", "", [fault(text)])
  return Body.decode(exchange, options, patched, unreadable, merged).pipe(
    Effect.mapError((error) => error.status === 400 ? unreadable(error.body.message ?? "") : error)
  )
}

const readMerged = (exchange: Exchange.Exchange, options: Exchange.WriteOptions, patched: JsonValue.JsonObject) =>
  readPatched(
    exchange,
    options,
    patched,
    (text) => FieldError.invalid("patch", GoValue.print(exchange.request.body), Restoring.word(text)),
    true
  )

const readDocument = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  patched: JsonValue.JsonObject,
  stored: KubeObject
) => {
  const { request, resource } = exchange
  const definition = resource.custom === undefined
    ? BuiltinSchema.definitionOf(resource.group, resource.version, resource.kind)
    : undefined
  const read = (document: JsonValue.JsonObject, print: (document: unknown) => string) =>
    readPatched(
      exchange,
      options,
      document,
      (text) => FieldError.invalid("patch", print(document), Restoring.bare(text))
    )
  const whole = read(patched, FieldError.goJson)
  // Which fault comes first depends on the order of fields, which matters only if there is a fault.
  return definition === undefined
    ? whole
    : Effect.catch(
      whole,
      () => read(PatchedDocument.ordered(definition, patched, stored, request.body), FieldError.goJsonInOrder)
    )
}

/**
 * The refusal of a patched built-in object without an apiVersion: it is decoded as the server's internal type, which
 * knows none of the fields and has no name.
 */
const versionless = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  patched: JsonValue.JsonObject,
  stored: KubeObject
): Refused | undefined => {
  const { request, resource, route } = exchange
  const { apiVersion = null, kind = null, ...fields } = patched
  const lost = (apiVersion === null || apiVersion === "") && [null, "", resource.kind].includes(kind as string | null)
  const definition = resource.custom === undefined && lost
    ? BuiltinSchema.definitionOf(resource.group, resource.version, resource.kind)
    : undefined
  if (definition === undefined) return undefined
  const text = Bodies.unknownFields(exchange, options, Object.keys(fields).sort())
  if (text === undefined) return Bodies.undeterminable(route.name)
  const printed = FieldError.goJsonInOrder(PatchedDocument.ordered(definition, patched, stored, request.body))
  return StatusError.invalid("", "", "", [FieldError.invalid("patch", printed, text)])
}

/** Decodes the result of a request's patch, which may be a view of the stored object. */
export const readPatch = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  made: JsonValue.JsonObject,
  stored: KubeObject
) => {
  const patched = typed(exchange, made)
  const nameless = Patching.isStrategic(exchange.request) ? undefined : versionless(exchange, options, patched, stored)
  if (nameless !== undefined) return Effect.fail(nameless)
  return Patching.isStrategic(exchange.request)
    ? readMerged(exchange, options, patched)
    : readDocument(exchange, options, patched, stored)
}

/** PATCH. */
export const patch = (part: Part): Exchange.Verb =>
  Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    if (ApplyPatch.isApply(exchange)) return yield* apply(exchange, part)
    const unreadableType = Patching.unreadable(exchange)
    if (unreadableType !== undefined) return yield* Effect.fail(unreadableType)
    const options = yield* Exchange.writeOptions(exchange, "PatchOptions")
    const update = { exchange, options, part, patch: true }
    const patching = yield* Patching.reader(exchange)
    const next = Effect.fnUntraced(function*(stored: KubeObject) {
      const read = yield* readPatch(exchange, options, yield* patching(stored), stored)
      const placed = yield* Bodies.placed(exchange, read)
      yield* Bodies.named(exchange, read)
      return yield* replacement(update, placed, stored)
    })
    return answer(yield* change(update, next))
  })
