/** Operators with more to do than Pods: settings, secrets, namespaces, copies elsewhere. */
import { Action, Cache, Controller, CustomResource, Manager, Watch } from "@effect-operator/core"
import { controllerReference, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment, Namespace, Secret } from "@effect-operator/k8s/kinds"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { Effect, Random, Schema } from "effect"
import * as B from "./Box.ts"

const Shop = CustomResource.make({
  group: "field.example.com",
  version: "v1",
  kind: "Shop",
  spec: Schema.Struct({
    settings: Schema.optionalKey(Schema.Record(Schema.String, Schema.NullOr(Schema.String))),
    places: Schema.optionalKey(Schema.Array(Schema.String)),
    rotation: Schema.optionalKey(Schema.Int)
  }),
  status: Schema.Struct({ places: Schema.optionalKey(Schema.Array(Schema.String)) })
})
type Shop = typeof Shop.Type

const { client, merge, named, unlessGone, unlessThere } = B
const key = named("shop")

type Reconcile = (shop: Shop) => Effect.Effect<Action.Action, unknown, any>

interface More {
  readonly owns?: ReadonlyArray<unknown>
  readonly watches?: ReadonlyArray<unknown>
  readonly finalize?: Reconcile
}

const shops = (reconcile: Reconcile, more: More): Simulation.Operator =>
  Manager.layer([Controller.make("shops", { for: Shop, reconcile, ...more } as never) as Controller.Controller])

const put = (name: string, spec: Shop["spec"]): B.Steps[number] => ({
  name,
  act: client.use((it) =>
    it.create(Shop, { metadata: key, spec }).pipe(
      Effect.catchReason("KubeError", "AlreadyExists", () => it.patch(Shop, key, merge({ spec })))
    )
  )
})

const drop: B.Steps[number] = { name: "delete", act: client.use((it) => it.delete(Shop, key)) }

const spaces = (...names: ReadonlyArray<string>): B.Steps[number] => ({
  name: "namespaces",
  act: client.use((it) =>
    Effect.forEach(names, (name) => it.create(Namespace, { metadata: { name } }), { discard: true })
  )
})

const bug = (
  name: string,
  oracle: string,
  steps: B.Steps,
  wrong: Simulation.Operator,
  right: Simulation.Operator,
  options: Simulation.Options = {}
): B.Planted => {
  const scenario = { resources: [Shop], steps }
  const slug = name.replace(/[^a-z0-9]+/g, "-")
  return {
    name: `field: ${name}`,
    oracle,
    wrong: { ...scenario, name: `${slug}-wrong`, operator: wrong },
    right: { ...scenario, name: `${slug}-right`, operator: right },
    options
  }
}

const owned = (shop: Shop, name: string) => ({ ...named(name), ownerReferences: [controllerReference(shop)] })

/** Objects that say by a label whose they are. */
const label = "field.example.com/shop"
const labelled = <A extends KubeObject>(resource: A) => resource.metadata.labels?.[label] === undefined ? [] : [key]

const settings = (shop: Shop, keeps: boolean) =>
  Effect.gen(function*() {
    const it = yield* client
    const data: Record<string, string | null> = { ...shop.spec.settings }
    const found = yield* Cache.get(ConfigMap, named("settings"))
    if (found === undefined) {
      return yield* B.done(it.create(ConfigMap, { metadata: owned(shop, "settings"), data: data as never }))
    }
    const surplus = keeps ? [] : Object.keys(found.data ?? {}).filter((name) => !(name in data))
    const changed = Object.entries(data).some(([name, value]) => found.data?.[name] !== value)
    if (surplus.length === 0 && !changed) return Action.done
    const gone = Object.fromEntries(surplus.map((name) => [name, null]))
    return yield* B.done(it.patch(ConfigMap, found, merge({ data: { ...gone, ...data } })))
  })

/** The template says which settings its Pods have read: it must not say so before they are there. */
const rollout = (early: boolean) =>
  shops((shop) =>
    Effect.gen(function*() {
      const it = yield* client
      const hash = JSON.stringify(shop.spec.settings)
      const found = yield* Cache.get(Deployment, named("shop"))
      const says = found?.spec?.template.metadata?.annotations?.["settings"] === hash
      const roll = Effect.gen(function*() {
        const labels = { app: "shop" }
        const metadata = { labels, annotations: { settings: hash } }
        if (found === undefined) {
          const template = { metadata, spec: { containers: [{ name: "c", image: "shop:1" }] } }
          const spec = { replicas: 1, selector: { matchLabels: labels }, template }
          yield* it.create(Deployment, { metadata: owned(shop, "shop"), spec })
        } else if (!says) yield* it.patch(Deployment, found, merge({ spec: { template: { metadata } } }))
      })
      if (early && says) return Action.done
      if (early) yield* roll
      yield* settings(shop, false)
      if (!early) yield* roll
      return Action.done
    }), { owns: [Deployment, ConfigMap] })

const away = { namespace: "away", name: "dashboard" }

const dashboard = (byReference: boolean) =>
  shops((shop) =>
    Effect.gen(function*() {
      const it = yield* client
      if (byReference && shop.status !== undefined) return Action.done
      if ((yield* Cache.get(ConfigMap, away)) === undefined) {
        const metadata = { ...away, labels: { [label]: "" } }
        const ownerReferences = [controllerReference(shop)]
        yield* unlessThere(
          it.create(ConfigMap, { metadata: byReference ? { ...metadata, ownerReferences } : metadata })
        )
      }
      if (byReference) yield* it.patch(Shop, shop, merge({ status: { places: [] } }), { subresource: "status" })
      return Action.done
    }), {
    watches: [Watch.make(ConfigMap, { map: labelled })],
    finalize: () => B.done(client.use((it) => unlessGone(it.delete(ConfigMap, away))))
  })

const server = External.state("server", () => new Map<string, string>())
const tell = (what: string, act: (known: Map<string, string>) => void) =>
  External.call(what, () => "refused", Effect.map(server, act))

const draw = Effect.map(Random.nextIntBetween(100_000, 999_999), (n) => btoa(`word-${n}`))

/** A password that the server is told: written down before, and what counts only after. */
const rotating = (atOnce: boolean) =>
  shops((shop) =>
    Effect.gen(function*() {
      const it = yield* client
      const rotation = String(shop.spec.rotation ?? 0)
      const secret = yield* Cache.get(Secret, named("password"))
      const write = (annotations: object, data: object, found = secret) => {
        const metadata = { annotations, ...(found && { resourceVersion: found.metadata.resourceVersion }) }
        return found === undefined
          ? it.create(Secret, { metadata: { ...owned(shop, "password"), ...metadata } as never, data: data as never })
          : it.patch(Secret, found, merge({ metadata, data }))
      }
      const known = secret?.metadata.annotations ?? {}
      if (known["rotation"] === rotation) return Action.done
      if (atOnce) {
        const password = yield* draw
        yield* write({ rotation }, { password })
        yield* tell("set password", (all) => void all.set("password", password))
        return Action.done
      }
      const coming = known["next"] === undefined ? yield* write({ next: rotation }, { next: yield* draw }) : secret!
      const password = coming.data!["next"]!
      yield* tell("set password", (all) => void all.set("password", password))
      const next = coming.metadata.annotations!["next"]!
      yield* write({ rotation: next, next: null }, { password, next: null }, coming)
      return next === rotation ? Action.done : Action.requeue
    }), { owns: [Secret] })

/** A namespace for the Shop, and its name outside: which is given back for as long as it is not. */
const registered = (forgetful: boolean) =>
  shops(() =>
    Effect.gen(function*() {
      const it = yield* client
      if ((yield* Cache.get(Namespace, { name: "of-shop" })) === undefined) {
        yield* unlessThere(it.create(Namespace, { metadata: { name: "of-shop", labels: { [label]: "" } } }))
      }
      yield* tell("register", (all) => void all.set("of-shop", "up"))
      return Action.done
    }), {
    watches: [Watch.make(Namespace, { map: labelled })],
    finalize: () =>
      Effect.gen(function*() {
        const it = yield* client
        const space = yield* Cache.get(Namespace, { name: "of-shop" })
        const unregister = tell("unregister", (all) => void all.delete("of-shop"))
        if (!forgetful || (space !== undefined && isTerminating(space))) yield* unregister
        if (space === undefined) return Action.done
        if (!isTerminating(space)) yield* unlessGone(it.delete(Namespace, space))
        return Action.requeueAfter("5 seconds")
      })
  })

/** A copy in each place, and none where there was one. */
const copies = (forgetful: boolean) =>
  shops((shop) =>
    Effect.gen(function*() {
      const it = yield* client
      const { places = [] } = shop.spec
      const all = yield* Cache.list(ConfigMap, { labels: { [label]: "" } })
      for (const namespace of places.filter((place) => !all.some(({ metadata }) => metadata.namespace === place))) {
        yield* unlessThere(it.create(ConfigMap, { metadata: { namespace, name: "copy", labels: { [label]: "" } } }))
      }
      const say = shop.status?.places?.join() === places.join()
        ? Effect.void
        : it.patch(Shop, shop, merge({ status: { places } }), { subresource: "status" })
      const old = forgetful
        ? (shop.status?.places ?? []).map((namespace) => ({ namespace, name: "copy" }))
        : all.map(({ metadata }) => ({ namespace: metadata.namespace!, name: "copy" }))
      if (forgetful) yield* say
      for (const copy of old.filter(({ namespace }) => !places.includes(namespace))) {
        yield* unlessGone(it.delete(ConfigMap, copy))
      }
      if (!forgetful) yield* say
      return Action.done
    }), {
    watches: [Watch.make(ConfigMap, { map: labelled })],
    finalize: () =>
      Effect.gen(function*() {
        const it = yield* client
        for (const copy of yield* Cache.list(ConfigMap, { labels: { [label]: "" } })) {
          yield* unlessGone(it.delete(ConfigMap, copy))
        }
        return Action.done
      })
  })

const keeping = (keeps: boolean) => shops((shop) => settings(shop, keeps), { owns: [ConfigMap] })

/** Labels the namespaces that people have made, and a Shop names; `keeps` those that it does not name any more. */
const opening = (keeps: boolean) => {
  const label = (open: string | null) => merge({ metadata: { labels: { open } } })
  const everywhere = () => [key]
  return shops(
    ({ spec: { places = [] } }) =>
      B.done(client.use((it) =>
        Effect.flatMap(Cache.list(Namespace), (all) =>
          Effect.forEach(all, (namespace) => {
            const [isOpen, isPlace] = [
              namespace.metadata.labels?.["open"] !== undefined,
              places.includes(namespace.metadata.name)
            ]
            if (isPlace && !isOpen) return it.patch(Namespace, namespace, label("yes"))
            return isOpen && !isPlace && !keeps ? it.patch(Namespace, namespace, label(null)) : Effect.void
          }, { discard: true }))
      )),
    { watches: [Watch.make(Namespace, { map: everywhere })] }
  )
}

/** A copy in each namespace that is labelled; `keeps` it where the label is gone. */
const copying = (keeps: boolean) =>
  shops((shop) =>
    Effect.gen(function*() {
      const it = yield* client
      const places = (yield* Cache.list(Namespace, { labels: { open: "yes" } })).map(({ metadata }) => metadata.name)
      for (const namespace of places) {
        const metadata = { namespace, name: "copy", labels: { [label]: "" } }
        yield* it.apply(ConfigMap, { metadata, data: shop.spec.settings as never }, { force: true })
      }
      const copies = yield* Cache.list(ConfigMap, { labels: { [label]: "" } })
      for (const copy of copies.filter(({ metadata }) => !keeps && !places.includes(metadata.namespace!))) {
        yield* unlessGone(it.delete(ConfigMap, copy))
      }
      return Action.done
    }), { watches: [Watch.make(ConfigMap, { map: labelled }), Watch.make(Namespace, { map: () => [key] })] })

const marked = (name: string, open: string | null, ...names: ReadonlyArray<string>): B.Steps[number] => ({
  name,
  act: client.use((it) =>
    Effect.forEach(names, (name) => it.patch(Namespace, { name }, merge({ metadata: { labels: { open } } })), {
      discard: true
    })
  )
})

export const planted: ReadonlyArray<B.Planted> = [
  bug(
    "a copy stays in a namespace that is not chosen any more",
    "nothing left of an earlier spec",
    [
      spaces("a", "b"),
      marked("both", "yes", "a", "b"),
      put("a Shop", { settings: { a: "b" } }),
      marked("one", null, "a")
    ],
    copying(true),
    copying(false)
  ),
  bug(
    "what others have made keeps the mark that is not wanted any more",
    "nothing left of an earlier spec",
    [spaces("a", "b"), put("two places", { places: ["a", "b"] }), put("one place", { places: ["a"] })],
    opening(true),
    opening(false)
  ),
  bug(
    "a setting that is not wanted any more stays",
    "nothing left of an earlier spec",
    [
      put("one setting", { settings: { a: "1" } }),
      put("two", { settings: { a: "1", b: "2" } }),
      put("one", { settings: { b: null } })
    ],
    keeping(true),
    keeping(false)
  ),
  bug(
    "a hash that says what is not done yet",
    "same end state",
    [put("settings", { settings: { a: "1" } }), put("others", { settings: { a: "2" } })],
    rollout(true),
    rollout(false),
    { faults: ["crashAfter", "travelRestart"] }
  ),
  bug(
    "owned by somebody in another namespace",
    "valid owner references",
    [spaces("away"), put("a Shop", {})],
    dashboard(true),
    dashboard(false)
  ),
  bug(
    "a password that counts before the server knows it",
    "same end state",
    [put("a Shop", { rotation: 1 }), put("another password", { rotation: 2 })],
    rotating(true),
    rotating(false),
    { faults: ["externalFails"] }
  ),
  bug(
    "gone before the outside was told",
    "same end state",
    [put("a Shop", {}), drop],
    registered(true),
    registered(false),
    { faults: ["crashAway"] }
  ),
  bug(
    "copies left in places of before",
    "same end state",
    [spaces("a", "b", "c"), put("in a and b", { places: ["a", "b"] }), put("in b and c", { places: ["b", "c"] }), drop],
    copies(true),
    copies(false),
    { faults: ["crashAfter"] }
  )
]
