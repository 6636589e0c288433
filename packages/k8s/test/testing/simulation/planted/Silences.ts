/** What nobody hears of: refusals, specs that nothing speaks of, and children that are tied by no more than a label. */
import { Action, Controller, Manager, Predicate, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment, Secret } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import * as B from "./Box.ts"

/** Settings that are never changed: what becomes of a refusal is in `refused`. */
const sealed = (refused: (box: B.Box) => Effect.Effect<unknown, unknown, any>): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const data = { size: String(box.spec.size) }
    const found = yield* B.cached("settings")
    if (found === undefined) {
      yield* B.unlessThere(it.create(ConfigMap, { ...B.map("settings", data, box), immutable: true }))
    } else if (found.data?.["size"] !== data.size) {
      yield* it.patch(ConfigMap, found, B.merge({ data })).pipe(
        Effect.catchReason("KubeError", "Invalid", () => refused(box))
      )
    }
    return Action.done
  })

/** Speaks of the generation it has seen; of the second one not, unless `always`. */
const speaking = (always: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    yield* B.keep(box, "settings", { size: String(box.spec.size) })
    const { generation = 0 } = box.metadata
    // Without a Pod there is nothing to report.
    if (box.spec.size > 0 || always) yield* B.status(box, { observedGeneration: generation })
    return Action.done
  })

const label = "planted.example.com/of"

/** A copy for each marked ConfigMap, which knows by its label whose it is. */
const copies = (predicate: Predicate.Predicate) =>
  Manager.layer([
    Controller.make("copies", {
      for: ConfigMap,
      labels: { copied: "yes" },
      watches: [
        Watch.make(Secret, {
          predicate,
          map: ({ metadata }) => {
            const name = metadata.labels?.[label]
            return name === undefined ? [] : [{ namespace: metadata.namespace!, name }]
          }
        })
      ],
      reconcile: ({ data, metadata }) =>
        Effect.gen(function*() {
          const copy = { ...B.named(`${metadata.name}-copy`), labels: { [label]: metadata.name } }
          yield* (yield* B.client).apply(Secret, { metadata: copy, stringData: data ?? {} }, { force: true })
          return Action.done
        })
    }) as Controller.Controller
  ])

const marked = (size: number) =>
  B.client.use((it) =>
    it.apply(ConfigMap, { metadata: { ...B.named("source"), labels: { copied: "yes" } }, data: { size: String(size) } })
  )

const noBoxes = ({ right, wrong, ...rest }: B.Planted): B.Planted => ({
  ...rest,
  wrong: { ...wrong, resources: [] },
  right: { ...right, resources: [] }
})

/** A Deployment of so many Pods. */
const deployed = (replicasOf: (size: number) => number) =>
  B.boxes((box) =>
    B.done(B.client.use((it) =>
      it.apply(Deployment, {
        metadata: { ...B.named("web"), ownerReferences: [controllerReference(box)] },
        spec: {
          replicas: replicasOf(box.spec.size),
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "busybox" }] } }
        }
      }, { force: true })
    )), { owns: [Deployment] })

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "a refusal is swallowed, in every run",
    "rejections are reported",
    B.sized(1, 2),
    B.boxes(sealed((box) => B.status(box, { phase: "Ready", observedGeneration: box.metadata.generation ?? 0 }))),
    B.boxes(sealed((box) => B.status(box, { phase: "Refused" })))
  ),
  B.bug(
    "a spec in the middle of the story that the status never speaks of",
    "observed generation",
    B.sized(1, 0, 2),
    B.boxes(speaking(false)),
    B.boxes(speaking(true))
  ),
  noBoxes(B.bug(
    "children of a built-in kind, tied by a label, are not missed",
    "removed objects are recreated",
    [{ name: "marked", act: marked(1) }],
    copies(({ _tag }) => _tag !== "Deleted"),
    copies(() => true)
  )),
  B.bug(
    "no Pods are asked for, and there is one",
    "zero is honored",
    B.sized(2, 0),
    deployed((size) => size || 1),
    deployed((size) => size)
  )
]
