/** What must hold on the way, in the user's own words. */
import { Action, Cache } from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment, Pod, Service } from "@effect-operator/k8s/kinds"
import { Temporal } from "@effect-operator/k8s/testing"
import { Clock, Effect } from "effect"
import * as B from "./Box.ts"

const isNamed = (name: string) => (object: { readonly metadata: { readonly name: string } }) =>
  object.metadata.name === name

const ordered = Temporal.until(
  "settings before Pods",
  ({ of }) => of("Pod").length === 0,
  ({ of }) => of("ConfigMap").some(isNamed("settings"))
)

const never = Temporal.never(
  "never without a Pod once there were two",
  ({ change, of }) =>
    change.object.kind === "Pod" && of("ConfigMap").some(isNamed("released")) && of("Pod").length === 0
)

const atMost = Temporal.always("at most three Pods", ({ of }) => of("Pod").length <= 3)

const release = (gentle: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const wanted = `v${box.spec.size}`
    const pods = yield* Cache.list(Pod, { owner: box })
    const old = pods.filter(({ metadata }) => metadata.name !== wanted)
    const current = pods.find(({ metadata }) => metadata.name === wanted)
    if (!gentle) { for (const pod of old) yield* B.unlessGone(it.delete(Pod, pod, { gracePeriodSeconds: 0 })) }
    if (current !== undefined && B.isFailed(current)) yield* B.unlessGone(it.delete(Pod, current))
    if (current === undefined) yield* B.unlessThere(it.create(Pod, B.podOf(box, { name: wanted })))
    if (current?.status?.phase === "Running") {
      yield* B.keep(box, "released", {})
      if (gentle) { for (const pod of old) yield* B.unlessGone(it.delete(Pod, pod, { gracePeriodSeconds: 0 })) }
    }
    return Action.done
  })

const surge = (all: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const pods = yield* Cache.list(Pod, { owner: box })
    const current = pods.filter(({ metadata }) => metadata.name.startsWith(`v${box.spec.size}-`))
    const old = pods.filter((pod) => !current.includes(pod))
    const good = current.filter((pod) => !B.isFailed(pod))
    for (const pod of [...old, ...current.filter(B.isFailed)]) yield* B.unlessGone(it.delete(Pod, pod))
    if (!all && old.length > 0) return Action.done
    for (let i = 0; i < 2; i++) {
      const name = `v${box.spec.size}-${i}`
      if (!good.some(isNamed(name))) yield* B.unlessThere(it.create(Pod, B.podOf(box, { name })))
    }
    return Action.done
  })

const isReady = (pod: Pod | undefined): boolean =>
  pod !== undefined && !isTerminating(pod) &&
  pod.status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True") === true

const names = ["box-0", "box-1", "box-2"]

/** Three Pods of an image that are replaced one after the other, each when the one before is ready. */
const replaced = (awaited: (pods: ReadonlyMap<string, Pod>) => ReadonlyArray<string>, awaits: (name: string) => void) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const pods = new Map((yield* Cache.list(Pod, { owner: box })).map((pod) => [pod.metadata.name, pod]))
      const image = `box:${box.spec.size}`
      for (const name of names) {
        const pod = pods.get(name)
        if (pod !== undefined && B.isFailed(pod)) yield* B.unlessGone(it.delete(Pod, pod))
        const wanted = { ...B.podOf(box, { name }), spec: { containers: [{ name: "c", image }] } }
        if (pod === undefined) yield* B.unlessThere(it.create(Pod, wanted))
      }
      if (awaited(pods).some((name) => !isReady(pods.get(name)))) return Action.done
      const old = names.find((name) => pods.get(name)?.spec?.containers[0]?.image !== image && pods.has(name))
      if (old === undefined) return Action.done
      awaits(old)
      return yield* B.done(B.unlessGone(it.delete(Pod, pods.get(old)!)))
    })
  )

const coloured = (box: B.Box) => ({ box: box.metadata.name, colour: `v${box.spec.size}` })

/** A Service in front of a Pod of each size, which is turned to the next one and lets go of the last. */
const turned = (early: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const wanted = `v${box.spec.size}`
      const pods = yield* Cache.list(Pod, { owner: box })
      const pod = pods.find(isNamed(wanted))
      for (const dead of pods.filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, dead))
      const made = B.podOf(box, { name: wanted })
      if (pod === undefined) {
        yield* B.unlessThere(it.create(Pod, { ...made, metadata: { ...made.metadata, labels: coloured(box) } }))
      }
      const service = yield* Cache.get(Service, B.named("box"))
      const spec = { selector: coloured(box), ports: [{ port: 80 }] }
      const metadata = { ...B.named("box"), ownerReferences: [controllerReference(box)] }
      if (service === undefined) yield* B.unlessThere(it.create(Service, { metadata, spec }))
      else if (service.spec?.selector?.["colour"] !== wanted) {
        if (!early && !isReady(pod)) return Action.done
        yield* it.patch(Service, service, B.merge({ spec: { selector: coloured(box) } }))
      }
      if (!isReady(pod)) return Action.done
      for (const old of pods) {
        if (!isNamed(wanted)(old)) yield* B.unlessGone(it.delete(Pod, old))
      }
      return Action.done
    }), { owns: [Pod, Service] })

const imageOf = (deployment: Deployment | undefined) => deployment?.spec?.template.spec?.containers[0]?.image

const isUp = ({ metadata, status }: Deployment) =>
  status?.observedGeneration === metadata.generation && status?.updatedReplicas === 1 && status.availableReplicas === 1

/** Two colours that take turns behind a Service; whose turn is over stands by, or is `forgotten`. */
const colours = (forgotten: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const apply = (app: string, image = `v${box.spec.size}`) =>
        it.apply(Deployment, {
          metadata: { ...B.named(app), ownerReferences: [controllerReference(box)] },
          spec: {
            selector: { matchLabels: { app } },
            template: { metadata: { labels: { app } }, spec: { containers: [{ name: "c", image }] } }
          }
        }, { force: true })
      const serving = (yield* Cache.get(Service, B.named("front")))?.spec?.selector?.["app"] ?? "blue"
      const other = serving === "blue" ? "green" : "blue"
      const [one, two] = [yield* Cache.get(Deployment, B.named(serving)), yield* Cache.get(Deployment, B.named(other))]
      const isTurn = one !== undefined && imageOf(one) !== `v${box.spec.size}`
      const next = yield* apply(isTurn ? other : serving)
      if (!isTurn && !forgotten && two !== undefined) yield* apply(other, imageOf(two))
      if (isTurn && !isUp(next)) return Action.done
      yield* it.apply(Service, {
        metadata: { ...B.named("front"), ownerReferences: [controllerReference(box)] },
        spec: { selector: { app: isTurn ? other : serving }, ports: [{ port: 80 }] }
      }, { force: true })
      return isTurn ? Action.requeue : Action.done
    }), { owns: [Deployment, Service] })

/** A Service in front of one of two colours, which gives way to the other; `told`: which it is is written down beside it. */
const oneOfTwo = (told: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const front = yield* Cache.get(Service, B.named("front"))
      const serving = front?.spec?.selector?.["app"] ?? "box-blue"
      const image = `v${box.spec.size}`
      const isGood = imageOf(yield* Cache.get(Deployment, B.named(serving))) === image
      const next = front === undefined || isGood ? serving : serving === "box-blue" ? "box-green" : "box-blue"
      const made = yield* it.apply(Deployment, {
        metadata: { ...B.named(next), ownerReferences: [controllerReference(box)] },
        spec: {
          selector: { matchLabels: { app: next } },
          template: { metadata: { labels: { app: next } }, spec: { containers: [{ name: "c", image }] } }
        }
      }, { force: true })
      if (!told && (front === undefined || box.status?.phase === undefined)) yield* B.status(box, { phase: next })
      if (front !== undefined && !isUp(made)) return Action.done
      yield* it.apply(Service, {
        metadata: { ...B.named("front"), ownerReferences: [controllerReference(box)] },
        spec: { selector: { app: next }, ports: [{ port: 80 }] }
      }, { force: true })
      if (told) yield* B.status(box, { phase: next })
      for (const old of yield* Cache.list(Deployment, { owner: box })) {
        if (!isNamed(next)(old) && !isTerminating(old)) yield* B.unlessGone(it.delete(Deployment, old))
      }
      return Action.done
    }), { owns: [Deployment, Service] })

/** A Deployment that is to start again with each size; `noted`: that it does so is written down before. */
const restarting = (noted: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const size = String(box.spec.size)
      const isKnown = (yield* B.cached("settings"))?.data?.["size"] === size
      const found = yield* Cache.get(Deployment, B.named("web"))
      const now = new Date(yield* Clock.currentTimeMillis).toISOString()
      const restartedAt = isKnown ? found?.spec?.template.metadata?.annotations?.["restartedAt"] ?? now : now
      if (noted) yield* B.keep(box, "settings", { size })
      yield* it.apply(Deployment, {
        metadata: { ...B.named("web"), ownerReferences: [controllerReference(box)] },
        spec: {
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" }, annotations: { restartedAt } },
            spec: { containers: [{ name: "c", image: "busybox" }] }
          }
        }
      }, { force: true })
      if (!noted) yield* B.keep(box, "settings", { size })
      return Action.done
    }), { owns: [Deployment, ConfigMap] })

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "course: settings are there before who reads them is started again",
    "old Pods are replaced",
    B.sized(1, 2),
    restarting(true),
    restarting(false)
  ),
  B.bug(
    "course: the colour whose turn is over is forgotten",
    "nothing left of an earlier spec",
    B.sized(1, 2),
    colours(true),
    colours(false)
  ),
  B.bug(
    "course: the other colour comes in the place of one that is removed, and the status tells of that one",
    "same end state",
    B.sized(1),
    oneOfTwo(false),
    oneOfTwo(true)
  ),
  B.bug(
    "course: Pods before the settings they read",
    "settings before Pods",
    B.sized(1),
    B.boxes((box) => Effect.tap(B.pods(box), () => B.keep(box, "settings", {}))),
    B.boxes((box) => Effect.andThen(B.keep(box, "settings", {}), B.pods(box))),
    { oracles: [ordered] }
  ),
  B.bug(
    "course: the old goes before the new is there",
    "never without a Pod once there were two",
    B.sized(1, 2),
    B.boxes(release(false)),
    B.boxes(release(true)),
    // Nobody can promise that no Pod is lost.
    { oracles: [never], without: ["podFailed", "podRemoved"] }
  ),
  B.bug(
    "course: more at once than there is room for",
    "at most three Pods",
    B.sized(1, 2),
    B.boxes(surge(true)),
    B.boxes(surge(false)),
    { oracles: [atMost] }
  ),
  B.bug(
    "course: what is promised never comes",
    "says that it is done",
    B.sized(1),
    B.boxes((box) => B.done(B.keep(box, "settings", {}))),
    B.boxes((box) => B.done(Effect.andThen(B.keep(box, "settings", {}), B.status(box, { phase: "done" })))),
    {
      oracles: [
        Temporal.eventually(
          "says that it is done",
          ({ of }) => of("Box").some((box) => (box as unknown as B.Box).status?.phase === "done")
        )
      ]
    }
  ),
  B.bug(
    "course: the next one goes before the last is back, as nobody remembers that",
    "availability is kept",
    B.sized(1, 2),
    B.remembering(() => ({ last: [] as Array<string> }), (memory) =>
      replaced(() => memory.last, (name) => {
        memory.last = [name]
      })),
    replaced(() => names, () => {})
  ),
  B.bug(
    "course: a Service is turned to a Pod that is not ready",
    "Services select only ready Pods",
    B.sized(1, 2),
    turned(true),
    turned(false)
  )
]
