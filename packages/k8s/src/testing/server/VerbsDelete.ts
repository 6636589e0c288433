/**
 * `delete` and `deletecollection`.
 *
 * A collection is deleted object by object, in the order of a list; it is not atomic, and an object that is gone
 * meanwhile does not matter.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import * as Admission from "../Admission.ts"
import * as Deletion from "./Deletion.ts"
import * as Exchange from "./Exchange.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { freeze } from "./Plain.ts"
import { parameter } from "./Routing.ts"
import * as Selecting from "./Selecting.ts"
import * as StatusError from "../StatusError.ts"

const options = (exchange: Exchange.Exchange): Effect.Effect<Deletion.DeleteOptions, StatusError.StatusError> => {
  const { body } = exchange.request
  if (body !== undefined && body !== "" && body !== null && !JsonValue.isObject(body)) {
    return Effect.fail(StatusError.badRequest("the body of a deletion must be DeleteOptions"))
  }
  const read = Deletion.readOptions(body, (name) => parameter(exchange.request, name))
  const faults = Deletion.optionFaults(read)
  return faults.length > 0 ? Effect.fail(StatusError.invalidOptions("DeleteOptions", faults)) : Effect.succeed(read)
}

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

/** Deletes one object; the result is what is left of it, or what it was. */
export const deleteObject = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  name: string,
  namespace: string,
  options: Deletion.DeleteOptions
) {
  const { core, now, resource } = exchange
  const key = Exchange.storageKey(namespace, name)
  const attributes: Admission.Attributes = {
    operation: "DELETE",
    resource,
    subresource: "",
    namespace,
    name,
    object: undefined,
    oldObject: undefined,
    user: exchange.user,
    dryRun: options.dryRun.length > 0,
    warn: (text) => exchange.warnings.push(text)
  }
  for (;;) {
    const stored = core.storage.get(resource.collection, key)
    if (stored === undefined) return yield* Effect.fail(Exchange.notFound(exchange, name))
    const fault = Deletion.preconditionFault(stored, options)
    if (fault !== undefined) {
      return yield* Effect.fail(StatusError.conflict({ group: resource.group, plural: resource.kind }, name, fault))
    }
    yield* Admission.review(core, { ...attributes, oldObject: resource.fromStorage(stored) })
    if (core.storage.get(resource.collection, key) !== stored) continue
    const decide = decisions[resource.collection] ?? Deletion.decide
    const outcome = decide(stored, resource.strategy, options, now)
    const put = (object: KubeObject) =>
      options.dryRun.length > 0 ? freeze(object) : core.storage.put(resource.collection, key, namespace, object).object
    switch (outcome._tag) {
      case "Keep":
        return { gone: false, object: resource.fromStorage(stored) }
      case "Mark":
        return { gone: false, object: resource.fromStorage(put(outcome.object)) }
      case "Remove": {
        const last = outcome.marked === undefined ? stored : put(outcome.marked)
        const removed = options.dryRun.length > 0 ? undefined : core.storage.remove(resource.collection, key, namespace)
        return { gone: true, object: resource.fromStorage(removed?.object ?? last) }
      }
    }
  }
})

/** DELETE of an object. */
export const remove: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { resource, route } = exchange
  const asked = yield* options(exchange)
  const { gone, object } = yield* deleteObject(exchange, route.name, route.namespace, asked)
  if (gone && !resource.strategy.answersDeleted) {
    return { _tag: "Plain", status: 200, body: success(exchange, object) } as const
  }
  // The oldest way to ask for cascading deletion is answered "accepted" while the object is still there.
  return { _tag: "Object", status: !gone && asked.orphanDependents === false ? 202 : 200, object } as const
})

/** DELETE of a collection. */
export const removeCollection: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, request, resource, route } = exchange
  const asked = yield* options(exchange)
  const { matches } = yield* Effect.fromResult(Selecting.read(resource, request))
  const { get, keys } = core.storage.list(resource.collection, route.namespace)
  const found = keys.map(get).filter((object) => matches === undefined || matches(object))
  const limit = Number(parameter(request, "limit") ?? 0)
  const items = limit > 0 ? found.slice(0, limit) : found
  for (const { metadata } of items) {
    yield* deleteObject(exchange, metadata.name, metadata.namespace ?? "", asked).pipe(
      Effect.catchIf((error) => error.status === 404, () => Effect.void)
    )
  }
  return {
    _tag: "List",
    items: items.map(resource.fromStorage),
    metadata: { resourceVersion: String(core.storage.revision) }
  } as const
})
