/**
 * `delete` and `deletecollection`.
 *
 * A collection is deleted object by object, in the order of a list; it is not atomic, and an object that is gone
 * meanwhile does not matter.
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

/** An object without finalizers; where it is kept as it is, not as a type has it, an empty list of them is left. */
const released = ({ custom }: Served, object: KubeObject): KubeObject =>
  custom === undefined ? object : { ...object, metadata: { ...object.metadata, finalizers: [] } }

/** How admission is asked about a deletion: by name, nameless as about each of a collection, or not at all. */
export type Asking = "named" | "nameless" | "none"

/**
 * Takes an object out of the store, and the one of the same name that its kind takes along: after the fact, unasked,
 * and whether or not that can be done.
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

/** Deletes one object; the result is what is left of it, or what it was. */
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
  // What is drained before it goes is known by its uid from the start.
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
      // Where two groups have a kind, it is told as it is stored.
      const [, ...group] = resource.collection.split(".")
      const named = drains ? resource : { group: group.join("."), plural: resource.kind }
      return yield* Effect.fail(StatusError.conflict(named, name, fault))
    }
    const shown = yield* Versions.show(resource, stored)
    if (Deletion.isPending(stored, resource.strategy, options, now)) return { gone: false, object: shown }
    yield* review(shown)
    const decide = decisions[resource.collection] ?? Deletion.decide
    // What is marked of a custom object, or was before, is written in the form of today.
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
      // The server means to renew the precondition after it has taken the finalizers away, and loses it instead.
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
    // Marked and removed are two steps, and admission is asked before each.
    if (encoded !== undefined) yield* review(yield* Versions.show(resource, last))
    // A dry run does not come to the removal where finalizers are taken away before.
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
  // The oldest way to ask for cascading deletion is answered "accepted" while the object is still there.
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
  // What is to be deleted is read in pages, also without a limit.
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
  // What was deleted is told as it was listed.
  const { keys } = listing
  const [custom, selected] = [resource.custom !== undefined, matches !== undefined]
  const metadata = Reading.pageMetadata(exchange, { custom, revision, keys, next, selected })
  return { _tag: "List", items, metadata } as const
})
