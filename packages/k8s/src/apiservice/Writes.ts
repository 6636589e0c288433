/**
 * `create`, `update`, `patch`, `delete` and `deletecollection` of a stored kind.
 *
 * They validate and respond as a kube-apiserver does for a custom resource: defaults, unknown fields by
 * `fieldValidation`, the schema with its CEL rules, metadata, resourceVersions, finalizers, preconditions, dry runs. A
 * handler runs after all validation. If the object has changed by the time the handler is done, the write starts again,
 * so a handler may run twice for one write. Server-side apply is not supported (415), and there are no managedFields.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Bodies from "../api/Bodies.ts"
import * as Deletion from "../api/Deletion.ts"
import * as DeletionOptions from "../api/DeletionOptions.ts"
import { generatedName, missing, storageKey } from "../api/Identity.ts"
import * as Metadata from "../api/Metadata.ts"
import * as MetadataRules from "../api/MetadataRules.ts"
import { noObject, summarize } from "../api/Negotiation.ts"
import * as Patches from "../api/patch/Patches.ts"
import { asObject, copy, freeze, objectAt } from "../api/Plain.ts"
import type * as Representation from "../api/Representation.ts"
import * as Selecting from "../api/Selecting.ts"
import * as StatusError from "../api/StatusError.ts"
import * as WriteOptions from "../api/WriteOptions.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as StructuralSchema from "../schema/StructuralSchema.ts"
import type { Exchange } from "./Exchange.ts"
import * as Handling from "./Handling.ts"

type Refused = StatusError.StatusError
type Options = WriteOptions.WriteOptions
type Part = "object" | "status"

/** How many generated names are tried, and how often a patch is retried while the object keeps changing. */
const attempts = { names: 8, changes: 5 }

// --- bodies -----------------------------------------------------------------------------------------------------------

const bodyObject = ({ request: { body }, resource }: Exchange): Effect.Effect<JsonValue.JsonObject, Refused> => {
  if (JsonValue.isObject(body)) return Effect.succeed(copy(body))
  const text = body === undefined ? "" : FieldError.goJson(body)
  return Effect.fail(StatusError.badRequest(
    `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; ` +
      `json parse error: ${text === "" ? "unexpected end of JSON input" : noObject(body)} (${summarize(text)})`
  ))
}

/** Decodes a document as an object of the kind; `strict` turns the text about unknown fields into an error. */
const decode = Effect.fnUntraced(function*(
  exchange: Exchange,
  options: Options,
  body: JsonValue.JsonObject,
  strict: (text: string) => Refused
) {
  const { resource } = exchange
  const fault = Bodies.depthFault(exchange, body) ?? Bodies.kindFault(exchange, body)
  if (fault !== undefined) return yield* Effect.fail(fault)
  const { object, unknown } = yield* Effect.fromResult(resource.decode(body))
  const text = Bodies.unknownFields(exchange, options, unknown)
  if (text !== undefined) return yield* Effect.fail(strict(text))
  const { apiVersion, kind, metadata, ...rest } = object
  const { managedFields: _, ...kept } = Bodies.tidy(objectAt({ metadata }, "metadata"))
  return asObject({ apiVersion, kind, metadata: kept, ...rest })
})

const read = Effect.fnUntraced(function*(exchange: Exchange, options: Options) {
  const { kind, version } = exchange.resource
  return yield* decode(
    exchange,
    options,
    yield* bodyObject(exchange),
    (text) =>
      StatusError.badRequest(
        `${kind} in version ${FieldError.quote(version)} cannot be handled as a ${kind}: ${text}`
      )
  )
})

const invalid = ({ resource }: Exchange, name: string, faults: ReadonlyArray<FieldError.FieldError>): Refused =>
  StatusError.invalid(resource.kind, resource.group, name, faults)

const schemaFaults = (exchange: Exchange, next: KubeObject, previous: KubeObject | undefined, part: Part) => {
  const { errors, warnings } = StructuralSchema.judge(exchange.resource.schema, next, previous, part, [])
  exchange.warnings.push(...warnings)
  return errors
}

// --- create -----------------------------------------------------------------------------------------------------------

const attempt = Effect.fnUntraced(function*(exchange: Exchange, options: Options, object: KubeObject, name: string) {
  const { core, resource, route } = exchange
  const { resourceVersion, ...metadata } = Metadata.systemMetadata(exchange, object, name)
  const base = resource.strategy.statusSubresource ? Metadata.withStatus(object, undefined) : object
  const next = asObject({ ...base, metadata })
  const faults = [
    ...MetadataRules.validateObjectMeta(next.metadata, {
      namespaced: resource.scope === "Namespaced",
      nameRule: "subdomain"
    }),
    ...schemaFaults(exchange, next, undefined, "object")
  ]
  if (faults.length > 0) return yield* Effect.fail(invalid(exchange, next.metadata.name ?? "", faults))
  exchange.warnings.push(...MetadataRules.finalizerWarnings(next.metadata.finalizers, undefined))
  if (Metadata.setVersion(resourceVersion)) {
    return yield* Effect.fail(StatusError.plain("resourceVersion should not be set on objects to be created"))
  }
  const key = storageKey(route.namespace, next.metadata.name)
  const taken = Effect.suspend(() => {
    const existing = core.storage.get(resource.collection, key)
    if (existing === undefined) return Effect.void
    return Effect.fail(StatusError.alreadyExists(resource, next.metadata.name, {
      generated: (next.metadata.generateName ?? "") !== "",
      terminating: existing.metadata.deletionTimestamp !== undefined
    }))
  })
  yield* taken
  const handled = yield* Handling.create(exchange, next, options.dryRun)
  yield* taken
  return options.dryRun ? freeze(handled) : core.storage.put(resource.collection, key, route.namespace, handled).object
})

/** POST. */
export const create = Effect.fnUntraced(function*(exchange: Exchange) {
  const options = yield* WriteOptions.read(exchange, "CreateOptions")
  const body = yield* Bodies.placed(exchange, yield* read(exchange, options))
  const object = Metadata.mergeOwners(exchange, body)
  const { generateName = "", name = "" } = object.metadata
  const answer = (object: KubeObject) => ({ _tag: "Object", status: 201, object }) as const
  if (name !== "" || generateName === "") return answer(yield* attempt(exchange, options, object, name))
  for (let tries = 1;; tries++) {
    const result = yield* Effect.result(
      attempt(exchange, options, object, generatedName(generateName, exchange.random))
    )
    if (Result.isSuccess(result)) return answer(result.success)
    if (result.failure.body.reason !== "AlreadyExists" || tries === attempts.names) {
      return yield* Effect.fail(result.failure)
    }
  }
})

// --- update and patch -------------------------------------------------------------------------------------------------

/** The new object with the fields that clients cannot change. */
const completed = (exchange: Exchange, part: Part, next: KubeObject, stored: KubeObject): KubeObject => {
  const { statusSubresource } = exchange.resource.strategy
  const own = stored.metadata
  if (part === "status") return Metadata.withStatus(stored, Metadata.statusOf(next))
  const written = statusSubresource ? Metadata.withStatus(next, Metadata.statusOf(stored)) : next
  const bumps = !JsonValue.equals(
    Metadata.desired(written, statusSubresource),
    Metadata.desired(stored, statusSubresource)
  )
  return Metadata.mergeOwners(exchange, {
    ...written,
    apiVersion: stored.apiVersion,
    kind: stored.kind,
    metadata: Metadata.withoutUndefined({
      ...written.metadata,
      uid: written.metadata.uid ?? own.uid,
      creationTimestamp: own.creationTimestamp,
      generation: (own.generation ?? 1) + (bumps ? 1 : 0),
      resourceVersion: own.resourceVersion,
      deletionTimestamp: own.deletionTimestamp ?? written.metadata.deletionTimestamp,
      deletionGracePeriodSeconds: own.deletionGracePeriodSeconds ?? written.metadata.deletionGracePeriodSeconds
    }) as KubeObject["metadata"]
  })
}

const metadataFaults = ({ resource }: Exchange, next: KubeObject, stored: KubeObject) => [
  ...MetadataRules.validateObjectMeta(next.metadata, {
    namespaced: resource.scope === "Namespaced",
    nameRule: "pathSegment"
  }),
  ...MetadataRules.validateObjectMetaUpdate(next.metadata, stored.metadata)
]

const updateFaults = (exchange: Exchange, part: Part, next: KubeObject, stored: KubeObject) => [
  ...metadataFaults(exchange, next, stored),
  // The kind's own validation checks metadata again, and every cause is reported each time it is found.
  ...MetadataRules.validateObjectMetaUpdate(next.metadata, stored.metadata),
  ...schemaFaults(exchange, next, stored, part)
]

/** Replaces the stored object by the result of `next`. */
const change = Effect.fnUntraced(function*<E, R>(
  exchange: Exchange,
  options: Options,
  part: Part,
  next: (stored: KubeObject) => Effect.Effect<KubeObject, E, R>
) {
  const { core: { storage }, resource, route } = exchange
  const key = storageKey(route.namespace, route.name)
  for (let tries = 0; tries < attempts.changes; tries++) {
    const stored = storage.get(resource.collection, key)
    if (stored === undefined) return yield* Effect.fail(missing(resource, route.name))
    const written = yield* next(stored)
    const outdated = Metadata.versionFault(exchange, written, stored)
    if (outdated !== undefined) return yield* Effect.fail(outdated)
    const admitted = completed(exchange, part, written, stored)
    const faults = updateFaults(exchange, part, admitted, stored)
    if (faults.length > 0) return yield* Effect.fail(invalid(exchange, route.name, faults))
    exchange.warnings.push(
      ...MetadataRules.finalizerWarnings(admitted.metadata.finalizers, stored.metadata.finalizers)
    )
    const ends = stored.metadata.deletionTimestamp !== undefined && (admitted.metadata.finalizers ?? []).length === 0
    if (!ends && JsonValue.equals(admitted, stored)) return stored
    const handled = yield* ends
      ? Effect.as(Handling.remove(exchange, stored, options.dryRun), admitted)
      : Handling.update(exchange, admitted, stored, options.dryRun)
    if (storage.get(resource.collection, key) !== stored) continue
    if (options.dryRun) return freeze(handled)
    if (!ends) return storage.put(resource.collection, key, route.namespace, handled).object
    storage.remove(resource.collection, key, route.namespace)
    return freeze(handled)
  }
  return yield* Effect.fail(StatusError.conflict(resource, route.name, StatusError.objectModified))
})

const answer = (object: KubeObject): Representation.Answer => ({ _tag: "Object", status: 200, object })

const uidConflict = (exchange: Exchange, { dryRun }: Options, wanted: string, found: string): Refused =>
  Metadata.storageConflict(
    exchange,
    exchange.route,
    dryRun,
    `UID in precondition: ${wanted}, UID in object meta: ${found}`
  )

/** Why a document of another kind may not replace an object. A status is accepted from a document of any kind. */
const kindFault = (exchange: Exchange, part: Part, next: KubeObject, stored: KubeObject): Refused | undefined => {
  const { resource, route } = exchange
  if (part === "status" || next.kind === resource.kind) return undefined
  return Metadata.versionFault(exchange, next, stored) ?? StatusError.invalid(next.kind, resource.group, route.name, [
    ...metadataFaults(exchange, completed(exchange, part, next, stored), stored),
    FieldError.invalid("kind", next.kind, `must be ${resource.kind}`)
  ])
}

/** PUT. */
export const replace = (part: Part) =>
  Effect.fnUntraced(function*(exchange: Exchange) {
    const options = yield* WriteOptions.read(exchange, "UpdateOptions")
    const body = yield* read(exchange, options)
    const placed = yield* Bodies.placed(exchange, body)
    yield* Bodies.named(exchange, body)
    const uid = placed.metadata.uid ?? ""
    const next = (stored: KubeObject) => {
      const other = uid !== "" && uid !== stored.metadata.uid
      const fault = kindFault(exchange, part, placed, stored) ??
        (other ? uidConflict(exchange, options, uid, stored.metadata.uid) : undefined)
      return fault === undefined ? Effect.succeed(placed) : Effect.fail(fault)
    }
    return answer(yield* change(exchange, options, part, next))
  })

const patchTypes = [Patches.json, Patches.merge]

/** PATCH. */
export const patch = (part: Part) =>
  Effect.fnUntraced(function*(exchange: Exchange) {
    const { request, resource } = exchange
    const type = Patches.typeOf(request)
    if (!patchTypes.includes(type)) return yield* Effect.fail(StatusError.unsupportedMediaTypes(patchTypes))
    const options = yield* WriteOptions.read(exchange, "PatchOptions")
    const apply = Patches.read(type, request.body)
    return answer(
      yield* change(
        exchange,
        options,
        part,
        Effect.fnUntraced(function*(stored) {
          const patched = yield* apply(stored)
          const document = { ...patched, apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind }
          const refuse = (text: string) =>
            StatusError.invalid("", "", "", [FieldError.invalid("patch", FieldError.goJson(document), text)])
          const body = yield* decode(exchange, options, document, refuse)
          const placed = yield* Bodies.placed(exchange, body)
          yield* Bodies.named(exchange, body)
          return placed
        })
      )
    )
  })

// --- delete -----------------------------------------------------------------------------------------------------------

const deleteOptions = ({ request }: Exchange): Effect.Effect<Deletion.DeleteOptions, Refused> =>
  Effect.fromResult(DeletionOptions.read(request))

/** Deletes one object. Returns what is left of it, or what it was. */
const deleteObject = Effect.fnUntraced(function*(
  exchange: Exchange,
  name: string,
  namespace: string,
  options: Deletion.DeleteOptions
) {
  const { core: { storage }, now, resource } = exchange
  const key = storageKey(namespace, name)
  const dryRun = options.dryRun.length > 0
  for (;;) {
    const stored = storage.get(resource.collection, key)
    if (stored === undefined) return yield* Effect.fail(missing(resource, name))
    const fault = Deletion.preconditionFault(stored, options, false)
    if (fault !== undefined) {
      const target = { group: resource.group, plural: resource.kind }
      return yield* Effect.fail(StatusError.conflict(target, name, fault))
    }
    const outcome = Deletion.decide(stored, resource.strategy, options, now)
    if (outcome._tag === "Keep") return { gone: false, object: stored }
    if (outcome._tag === "Remove") yield* Handling.remove(exchange, stored, dryRun)
    if (storage.get(resource.collection, key) !== stored) continue
    if (outcome._tag === "Mark") {
      const object = dryRun
        ? freeze(outcome.object)
        : storage.put(resource.collection, key, namespace, outcome.object).object
      return { gone: false, object }
    }
    const removed = dryRun ? undefined : storage.remove(resource.collection, key, namespace)
    return { gone: true, object: removed?.object ?? stored }
  }
})

const success = ({ resource: { group, plural } }: Exchange, { metadata: { name, uid } }: KubeObject): Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details: { name, group, kind: plural, uid }
})

/** DELETE of an object. */
export const remove = Effect.fnUntraced(function*(exchange: Exchange) {
  const { name, namespace } = exchange.route
  const { gone, object } = yield* deleteObject(exchange, name, namespace, yield* deleteOptions(exchange))
  return gone ? { _tag: "Plain", status: 200, body: success(exchange, object) } as const : answer(object)
})

/** DELETE of a collection, object by object. */
export const removeCollection = Effect.fnUntraced(function*(exchange: Exchange) {
  const { core: { storage }, request, resource, route } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const { matches } = yield* Effect.fromResult(Selecting.read(resource.selectable, parsed))
  const options = yield* deleteOptions(exchange)
  const resourceVersion = String(storage.revision)
  const { get, keys } = storage.list(resource.collection, route.namespace)
  const items = keys.map(get).filter((object) => matches === undefined || matches(object))
  for (const { metadata } of items) {
    yield* deleteObject(exchange, metadata.name, metadata.namespace ?? "", options).pipe(
      Effect.catchIf(({ status }) => status === 404, () => Effect.void)
    )
  }
  return { _tag: "List", items, metadata: { resourceVersion, continue: "" } } as const
})
