/**
 * `delete` and `deletecollection`.
 *
 * A collection is deleted object by object, in list order. This is not atomic; objects that disappear meanwhile are
 * skipped.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import * as Deletion from "../../../api/Deletion.ts"
import * as DeletionOptions from "../../../api/DeletionOptions.ts"
import { freeze } from "../../../api/Plain.ts"
import * as Reading from "../../../api/Reading.ts"
import { parameter } from "../../../api/Routing.ts"
import * as Selecting from "../../../api/Selecting.ts"
import * as StatusError from "../../../api/StatusError.ts"
import type { Change } from "../../../api/Storage.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as Exchange from "../Exchange.ts"
import { selectable, type Served } from "../Registry.ts"
import * as Versions from "./Versions.ts"

const success = (exchange: Exchange.Exchange, object: KubeObject): Status => {
  const { group, plural } = exchange.resource
  const { name, uid } = object.metadata
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...(group === "" ? {} : { group }), kind: plural, uid }
  }
}

const decisions: Readonly<Record<string, typeof Deletion.decide>> = {
  namespaces: Deletion.decideNamespace,
  "customresourcedefinitions.apiextensions.k8s.io": Deletion.decideDefinition
}

/** An object without finalizers; custom objects, which have no Go type, keep an empty list. */
const released = ({ custom }: Served, object: KubeObject): KubeObject =>
  custom === undefined ? object : { ...object, metadata: { ...object.metadata, finalizers: [] } }

/**
 * How admission is called for a deletion: by name, without a name as for the objects of a collection, or not at all.
 */
export type Asking = "named" | "nameless" | "none"

/**
 * Removes an object from the store, then the object of the same name that its kind takes along. The latter needs no
 * admission, and its failure is ignored.
 */
export const expunge = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  name: string,
  namespace: string
): Effect.fn.Return<Change | undefined> {
  const { core, resource } = exchange
  const change = core.storage.remove(resource.collection, Exchange.storageKey(namespace, name), namespace)
  const { takesAlong } = resource.strategy
  const companion = takesAlong === undefined ? undefined : core.registry.lookup("", "v1", takesAlong)
  if (companion !== undefined) {
    yield* Effect.ignore(deleteObject({ ...exchange, resource: companion }, name, namespace, { dryRun: [] }, "none"))
  }
  return change
})

/** Deletes one object; returns what is left of it, or its last state. */
export const deleteObject = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  name: string,
  namespace: string,
  options: Deletion.DeleteOptions,
  asking: Asking = "named"
): Effect.fn.Return<{ readonly gone: boolean; readonly object: KubeObject }, StatusError.StatusError> {
  const { core, now, resource } = exchange
  const key = Exchange.storageKey(namespace, name)
  const dryRun = options.dryRun.length > 0
  const drains = resource.collection in decisions
  // A kind that is drained before it is removed gets its uid as a precondition at the start.
  const precise = ({ metadata: { uid } }: KubeObject) => drains ? { ...options, uid: options.uid ?? uid } : options
  const review = (oldObject: KubeObject) =>
    asking === "none" ? Effect.void : Admission.review(
      core,
      Admission.attributes(exchange, "DELETE", {
        name: asking === "named" ? name : "",
        namespace,
        oldObject,
        dryRun,
        options: () => Deletion.toApi(Deletion.completeOptions(oldObject, resource.strategy, precise(oldObject), now))
      })
    )
  for (;;) {
    const stored = core.storage.get(resource.collection, key)
    if (stored === undefined) return yield* Effect.fail(Exchange.notFound(exchange, name))
    const fault = Deletion.preconditionFault(stored, options, drains)
    if (fault !== undefined) {
      // For a kind that exists in two groups, the message names the group in which it is stored.
      const [, ...group] = resource.collection.split(".")
      const named = drains ? resource : { group: group.join("."), plural: resource.kind }
      return yield* Effect.fail(StatusError.conflict(named, name, fault))
    }
    const shown = yield* Versions.show(resource, stored)
    if (Deletion.isPending(stored, resource.strategy, options, now)) return { gone: false, object: shown }
    yield* review(shown)
    const decide = decisions[resource.collection] ?? Deletion.decide
    // A custom object that is marked for deletion is written in the current storage version.
    const base = resource.custom === undefined ? stored : shown
    const outcome = decide(base, resource.strategy, options, now)
    const marked = outcome._tag === "Mark" ? outcome.object : outcome._tag === "Remove" ? outcome.marked : base
    const encoded = marked === undefined || resource.custom === undefined
      ? marked
      : yield* Versions.store(resource, marked)
    if (core.storage.get(resource.collection, key) !== stored) continue
    if (
      outcome._tag === "Remove" && outcome.released !== undefined && options.resourceVersion !== undefined && !dryRun
    ) {
      // The server intends to update the precondition after it has removed the finalizers, but loses it instead.
      const why =
        `ResourceVersion in precondition: , ResourceVersion in object meta: ${stored.metadata.resourceVersion}`
      return yield* Effect.fail(Exchange.storageConflict(exchange, { name, namespace }, dryRun, why))
    }
    if (outcome._tag === "Keep" && JsonValue.equals(encoded, stored)) return { gone: false, object: shown }
    const last = encoded === undefined
      ? stored
      : dryRun
      ? freeze(encoded)
      : core.storage.put(resource.collection, key, namespace, encoded).object
    if (outcome._tag !== "Remove") return { gone: false, object: yield* Versions.show(resource, last) }
    // Marking and removing are two steps, with admission before each.
    if (encoded !== undefined) yield* review(yield* Versions.show(resource, last))
    // If finalizers are removed first, a dry run does not reach the removal of the object.
    if (dryRun && outcome.released !== undefined) {
      return { gone: false, object: freeze(released(resource, outcome.released)) }
    }
    const removed = dryRun ? undefined : yield* expunge(exchange, name, namespace)
    return { gone: true, object: yield* Versions.show(resource, removed?.object ?? last) }
  }
})

/** DELETE of an object. */
export const remove: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { resource, route } = exchange
  const asked = yield* Effect.fromResult(DeletionOptions.read(exchange.request))
  exchange.warnings.push(...resource.strategy.deletionWarnings(asked))
  const why = resource.strategy.stays(route.name)
  if (why !== undefined) return yield* Effect.fail(StatusError.forbidden(resource, route.name, why))
  const { gone, object } = yield* deleteObject(exchange, route.name, route.namespace, asked)
  if (gone && !resource.strategy.answersDeleted) {
    return { _tag: "Plain", status: 200, body: success(exchange, object) } as const
  }
  // The oldest way to request cascading deletion gets a 202 while the object still exists.
  return { _tag: "Object", status: !gone && asked.orphanDependents === false ? 202 : 200, object } as const
})

/** DELETE of a collection. */
export const removeCollection: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, request, resource } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const faults = Reading.optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const { fields, matches } = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const asked = yield* Effect.fromResult(DeletionOptions.read(exchange.request))
  const wanted = yield* Effect.fromResult(Reading.version(exchange))
  exchange.warnings.push(...resource.strategy.deletionWarnings(asked))
  if (wanted !== undefined && parameter(request, "continue") === undefined) yield* Reading.reached(core.storage, wanted)
  const limit = Number(parameter(request, "limit") ?? 0)
  // The objects to delete are read in pages, even without a limit.
  const planned = Reading.plan(exchange, wanted, Reading.isSingle(exchange, fields), limit >= 0)
  const { from, listing, revision } = yield* Effect.fromResult(planned)
  const start = Reading.indexFrom(listing.keys, from)
  const { items, next } = yield* Versions.page(
    resource,
    listing,
    start,
    limit > 0 ? limit : Number.POSITIVE_INFINITY,
    matches
  )
  for (const { metadata } of items) {
    yield* deleteObject(exchange, metadata.name, metadata.namespace ?? "", asked, "nameless").pipe(
      Effect.catchIf((error) => error.status === 404, () => Effect.void)
    )
  }
  // The response contains the objects as they were listed.
  const { keys } = listing
  const [custom, selected] = [resource.custom !== undefined, matches !== undefined]
  const metadata = Reading.pageMetadata(exchange, { custom, revision, keys, next, selected })
  return { _tag: "List", items, metadata } as const
})
