/** How things end: owners, finalizers, clean-ups. */
import { Action, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Pod, ServiceAccount } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import * as B from "./Box.ts"

const life: B.Steps = [...B.sized(1), ...B.deleted]

const outside: B.Reconcile = () =>
  B.done(
    Effect.gen(function*() {
      const it = yield* B.client
      if ((yield* B.cached("outside")) === undefined) {
        yield* B.unlessThere(it.create(ConfigMap, B.map("outside", {})))
      }
    })
  )

const cleaned = B.done(B.client.use((it) => B.unlessGone(it.delete(ConfigMap, B.named("outside")))))

const clean = B.boxes(outside, { finalize: () => cleaned })

/** Whom the Pods of one Box run as: an account that is called after it, and goes with it, or stays. */
const account = (owned: boolean) =>
  B.boxes((box) =>
    B.done(
      Effect.gen(function*() {
        const it = yield* B.client
        const metadata = {
          ...B.named(`${box.metadata.name}-runner`),
          ...(owned && { ownerReferences: [controllerReference(box)] })
        }
        if ((yield* B.unlessGone(it.get(ServiceAccount, metadata))) === undefined) {
          yield* it.create(ServiceAccount, { metadata })
        }
      })
    ), { watches: [Watch.cached(ServiceAccount)] })

const ofTom: B.Steps = [
  { name: "tom", act: B.write(1, B.named("tom")) },
  { name: "delete tom", act: B.client.use((it) => it.delete(B.Box, B.named("tom"))) }
]

const nothingLeft = (steps: B.Steps): B.Steps =>
  steps.map((step) =>
    step.name === "delete"
      ? { ...step, desired: (objects) => B.count("Pod", objects) === 0 && B.count("ConfigMap", objects) === 0 }
      : step
  )

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "finalizer: a clean-up whose failure is swallowed",
    "same end state",
    life,
    B.boxes(outside, {
      finalize: () => B.done(Effect.ignore(B.client.use((it) => it.delete(ConfigMap, B.named("outside")))))
    }),
    clean
  ),
  B.bug(
    "finalizer: let go before the clean-up",
    "same end state",
    life,
    B.boxes(outside, {
      finalize: (box) =>
        Effect.gen(function*() {
          const it = yield* B.client
          yield* it.patch(B.Box, box, B.merge({ metadata: { finalizers: null } }))
          return yield* cleaned
        })
    }),
    clean
  ),
  B.bug(
    "finalizer: never let go",
    "finalizers released",
    life,
    B.boxes(outside, { finalize: () => Effect.as(cleaned, Action.requeueAfter("1 hour")) }),
    clean
  ),
  B.bug(
    "finalizer: on a child, where nobody removes it",
    "finalizers released",
    life,
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("child")) !== undefined) return Action.done
        const child = B.map("child", {}, box)
        const metadata = { ...child.metadata, finalizers: ["planted.example.com/child"] }
        return yield* B.done(B.unlessThere(it.create(ConfigMap, { ...child, metadata })))
      })
    ),
    B.boxes((box) => B.done(B.keep(box, "child", {})))
  ),
  B.bug(
    "finalizer: waits for what only it can bring about",
    "finalizers released",
    life,
    B.boxes(outside, {
      finalize: () =>
        Effect.gen(function*() {
          const it = yield* B.client
          const left = yield* Effect.result(it.get(ConfigMap, B.named("outside")))
          return left._tag === "Success" ? Action.requeueAfter("1 minute") : Action.done
        })
    }),
    clean
  ),
  B.bug(
    "no owner: children stay when their parent goes",
    "desired state",
    nothingLeft(life),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("child")) !== undefined) return Action.done
        return yield* B.done(B.unlessThere(it.create(ConfigMap, B.map("child", { of: box.metadata.name }))))
      })
    ),
    B.boxes((box) => B.done(B.keep(box, "child", { of: box.metadata.name })))
  ),
  B.bug(
    "lifecycle: an account that is called after a Box outlives it",
    "nothing left behind",
    ofTom,
    account(false),
    account(true),
    { without: ["removed"] }
  ),
  B.bug(
    "wrong owner: a uid from somewhere else, and the garbage collector takes all",
    "comes to rest",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const pod = B.podOf(box, { name: "box-0" })
        const owner = { ...controllerReference(box), uid: "00000000-0000-4000-8000-000000000000" }
        const found = yield* Effect.result(it.get(Pod, B.named("box-0")))
        if (found._tag === "Failure") {
          yield* B.unlessThere(it.create(Pod, { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } }))
        }
        return Action.requeueAfter("10 seconds")
      })
    ),
    B.boxes(B.pods)
  )
]
