/**
 * `ResourceQuotaController`: the status of ResourceQuotas, without which admission lets every request pass.
 *
 * `status.hard` is a copy of the spec. `status.used` is what the objects of the namespace use within the quota's
 * scopes: for Pods, Services and claims their requests, for all other kinds, including custom ones, their number. A
 * kind that does not exist is left out while it does not exist. Usage is recalculated whenever an object is created,
 * changed or deleted, so usage that admission has charged for a request that failed is given back. (A real controller
 * recalculates at deletions, and everything every five minutes.)
 *
 * Source: k8s.io/kubernetes/pkg/controller/resourcequota.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import { keyString, type KubeObject, parseKey } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { stringAt } from "../api/Plain.ts"
import { ResourceQuota } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import type { ApiServer } from "./ApiServer.ts"
import * as Builtins from "./server/Builtins.ts"
import * as PodResources from "./server/PodResources.ts"
import * as QuotaUsage from "./server/QuotaUsage.ts"
import * as Informers from "./sim/Informers.ts"
import * as Inventory from "./sim/Inventory.ts"
import * as Loop from "./sim/Loop.ts"

/** Maintains the quotas of the server until the scope closes. */
export const layer: Layer.Layer<never, never, ApiServer | KubeClient> = Layer.effectDiscard(
  Effect.suspend(() => run)
).pipe(Layer.provide(Informers.layer))

const definitions = "CustomResourceDefinition"

type Amounts = QuotaUsage.Amounts

/** The objects of a server, by namespace, collection and name. */
class Tally {
  readonly #objects = new Map<string, Map<string, KubeObject>>()

  #of(namespace: string, collection: string): Map<string, KubeObject> {
    const place = `${namespace}/${collection}`
    const objects = this.#objects.get(place) ?? new Map<string, KubeObject>()
    if (objects.size === 0) this.#objects.set(place, objects)
    return objects
  }

  set(collection: string, object: KubeObject): void {
    this.#of(object.metadata.namespace!, collection).set(object.metadata.name, object)
  }

  remove(collection: string, { metadata }: KubeObject): void {
    this.#of(metadata.namespace!, collection).delete(metadata.name)
  }

  all(namespace: string, collection: string): Iterable<KubeObject> {
    return this.#objects.get(`${namespace}/${collection}`)?.values() ?? []
  }
}

/** Events are too frequent to count, and expire by themselves. */
const uncounted = "events"

/** The built-in collections that a quota can count. */
const builtIn = (): ReadonlySet<string> =>
  new Set(
    Builtins.resources()
      .filter(({ collection, scope, verbs }) =>
        scope === "Namespaced" && collection !== uncounted &&
        ["create", "list", "watch", "delete"].every((verb) => verbs.includes(verb))
      )
      .map(({ collection }) => collection)
  )

/** What the objects in a quota's namespace use of what it limits. */
const used = (
  quota: ResourceQuota,
  hard: Amounts,
  tally: Tally,
  exists: (collection: string) => boolean,
  now: number
): Amounts => {
  const collections = new Set(Object.keys(hard).map(QuotaUsage.collectionOf))
  let sum: Amounts = {}
  for (const collection of collections) {
    if (collection === undefined || !exists(collection)) continue
    const evaluator = QuotaUsage.evaluatorOf(collection)
    const concerned = Object.keys(hard).filter(evaluator.concerns)
    sum = PodResources.plus(sum, Object.fromEntries(concerned.map((name) => [name, "0"])))
    for (const object of tally.all(quota.metadata.namespace, collection)) {
      if (!QuotaUsage.covers(evaluator, quota, hard, object)) continue
      const usage = Object.entries(evaluator.usage(object, now)).filter(([name]) => concerned.includes(name))
      sum = PodResources.plus(sum, Object.fromEntries(usage))
    }
  }
  return sum
}

const run: Effect.Effect<void, never, ApiServer | KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(
  function*() {
    const client = yield* KubeClient
    const clock = yield* Clock.Clock
    const quotas = yield* (yield* Informers.Informers).of(ResourceQuota)
    const tally = new Tally()
    const own = builtIn()
    const defined = new Set<string>()
    const exists = (collection: string) => own.has(collection) || defined.has(collection)
    const agenda = yield* Loop.make({
      reads: [quotas],
      sync: Effect.fnUntraced(function*(key) {
        const quota = quotas.get(parseKey(key))
        if (quota === undefined) return
        const hard = QuotaUsage.amountsAt(quota, "spec", "hard")
        const status = { hard, used: used(quota, hard, tally, exists, clock.currentTimeMillisUnsafe()) }
        if (JsonValue.equals(quota.status, status)) return
        yield* client.replace(ResourceQuota, { ...quota, status }, { subresource: "status" })
      })
    })
    quotas.listen((quota, before) => {
      if (quota === undefined) agenda.forget(keyString(before!))
      else agenda.now(keyString(quota))
    })
    const recount = ({ metadata: { namespace } }: KubeObject, collection: string): void => {
      for (const quota of quotas.inNamespace(namespace!)) {
        const hard = Object.keys(QuotaUsage.amountsAt(quota, "spec", "hard"))
        if (hard.some(QuotaUsage.evaluatorOf(collection).concerns)) agenda.now(keyString(quota))
      }
    }
    const wake = (collection: string): void => {
      for (const quota of quotas.all()) {
        if (Object.hasOwn(QuotaUsage.amountsAt(quota, "spec", "hard"), `count/${collection}`)) {
          agenda.now(keyString(quota))
        }
      }
    }
    /** Records whether the kind of a definition exists. */
    const define = (definition: KubeObject, is: boolean): void => {
      const { name } = definition.metadata
      if (stringAt(definition, "spec", "scope") !== "Namespaced" || defined.has(name) === is) return
      if (is) defined.add(name)
      else defined.delete(name)
      wake(name)
    }
    const followed =
      (change: (collection: string, object: KubeObject) => void, is: boolean) =>
      (resource: Resource.Any, object: KubeObject): void => {
        if (resource.kind === definitions) return define(object, is)
        if (resource.scope === "Cluster") return
        const collection = Resource.qualifiedName(resource)
        change(collection, object)
        recount(object, collection)
      }
    yield* Inventory.follow({
      onPresent: followed((collection, object) => tally.set(collection, object), true),
      onGone: followed((collection, object) => tally.remove(collection, object), false)
    })
  }
)
