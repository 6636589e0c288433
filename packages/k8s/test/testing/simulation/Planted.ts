/**
 * Operators that are wrong in one way each, after patterns of published bugs, and their corrected twins.
 *
 * All keep ConfigMaps or Pods for a `Box`: the smallest operator that shows the pattern.
 */
import { Action, Cache, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { Effect, Schema } from "effect"

export const Box = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Box",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ count: Schema.Int, observedGeneration: Schema.optionalKey(Schema.Int) })
})
export type Box = typeof Box.Type

const key = { namespace: "default", name: "box" }

const write = (size: number) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Box, { metadata: key, spec: { size } }).pipe(
      Effect.catchReason("KubeError", "AlreadyExists", () =>
        client.patch(Box, key, KubeClient.Patch.merge({ spec: { size } })))
    )
  )

const remove = KubeClient.KubeClient.use((client) => client.delete(Box, key))

/** The story they all live through: created, grown, shrunk. */
const story = [2, 3, 1].map((size) => ({ name: `size ${size}`, act: write(size) }))

export interface Planted {
  readonly name: string
  /** The oracle that should find it. */
  readonly oracle: string
  readonly wrong: Simulation.Scenario
  readonly right: Simulation.Scenario
}

const scenario = (
  name: string,
  controller: Controller.Controller,
  steps: Simulation.Scenario["steps"] = story
): Simulation.Scenario => ({ name, resources: [Box], operator: Manager.layer([controller]), steps })

const pod = (box: Box, name: { readonly name: string } | { readonly generateName: string }) => ({
  metadata: {
    ...name,
    namespace: "default",
    labels: { box: box.metadata.name },
    ownerReferences: [controllerReference(box)]
  },
  spec: { containers: [{ name: "c", image: "busybox" }] }
})

const unlessThere = <A, R>(effect: Effect.Effect<A, import("@effect-operator/core").KubeError.KubeError, R>) =>
  Effect.catchReason(effect, "KubeError", "AlreadyExists", () => Effect.void)

const unlessGone = <A, R>(effect: Effect.Effect<A, import("@effect-operator/core").KubeError.KubeError, R>) =>
  Effect.catchReason(effect, "KubeError", "NotFound", () => Effect.void)

const living = (box: Box) =>
  Effect.map(
    Cache.list(Pod, { owner: box }),
    (pods) => pods.filter((pod) => !isTerminating(pod)).sort((a, b) => a.metadata.name.localeCompare(b.metadata.name))
  )

/** Pods by ordinal: as many as the size says. */
const pods = (box: Box) =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const existing = yield* living(box)
    for (const dead of existing.filter(({ status }) => status?.phase === "Failed")) {
      yield* unlessGone(client.delete(Pod, dead))
    }
    const names = new Set(existing.map(({ metadata }) => metadata.name))
    for (let i = 0; i < box.spec.size; i++) {
      if (!names.has(`box-${i}`)) yield* unlessThere(client.create(Pod, pod(box, { name: `box-${i}` })))
    }
    for (const extra of existing.filter(({ metadata }) => Number(metadata.name.slice(4)) >= box.spec.size)) {
      yield* unlessGone(client.delete(Pod, extra))
    }
    return Action.done
  })

const report = (box: Box, count: number, observedGeneration?: number) =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    if (box.status?.count === count && box.status.observedGeneration === observedGeneration) return
    yield* client.patch(
      Box,
      box,
      KubeClient.Patch.merge({
        status: { count, ...(observedGeneration === undefined ? {} : { observedGeneration }) }
      }),
      { subresource: "status" }
    )
  })

const settings = (box: Box, data: Readonly<Record<string, string>>, name = "settings") => ({
  metadata: { namespace: "default", name, ownerReferences: [controllerReference(box)] },
  data
})

export const planted: ReadonlyArray<Planted> = [
  {
    name: "intermediate state: marks the work done before it is",
    oracle: "same end state",
    wrong: scenario(
      "intermediate-wrong",
      Controller.make("boxes", {
        for: Box,
        owns: [Pod],
        reconcile: (box) =>
          Effect.gen(function*() {
            // Whoever dies after this line believes on the next start that there is nothing to do.
            if (box.status?.count === box.spec.size) return Action.done
            yield* report(box, box.spec.size)
            return yield* pods(box)
          })
      })
    ),
    right: scenario(
      "intermediate-right",
      Controller.make("boxes", {
        for: Box,
        owns: [Pod],
        reconcile: (box) => Effect.tap(pods(box), () => report(box, box.spec.size))
      })
    )
  },
  {
    name: "hot loop: a status that says the time",
    oracle: "quiet once stable",
    wrong: scenario(
      "clock-wrong",
      Controller.make("boxes", {
        for: Box,
        owns: [ConfigMap],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* unlessThere(client.create(ConfigMap, settings(box, {})))
            yield* client.patch(
              ConfigMap,
              { namespace: "default", name: "settings" },
              KubeClient.Patch.merge({
                data: {
                  looked: String(Math.floor((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) / 1000))
                }
              })
            )
            return Action.requeueAfter("10 minutes")
          })
      })
    ),
    right: scenario(
      "clock-right",
      Controller.make("boxes", {
        for: Box,
        owns: [ConfigMap],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            if ((yield* Cache.get(ConfigMap, { namespace: "default", name: "settings" })) === undefined) {
              yield* unlessThere(client.create(ConfigMap, settings(box, {})))
            }
            return Action.requeueAfter("10 minutes")
          })
      })
    )
  },
  {
    name: "create by chance: a generated name without looking for what is there",
    oracle: "same end state",
    wrong: scenario(
      "generated-wrong",
      Controller.make("boxes", {
        for: Box,
        owns: [Pod],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            // What it made is written down only in the status: a lost answer is a Pod nobody knows of.
            const known = box.status?.count ?? 0
            for (let i = known; i < box.spec.size; i++) {
              yield* client.create(Pod, pod(box, { generateName: "box-" }))
              yield* report(box, i + 1)
            }
            return Action.done
          })
      }),
      [{ name: "size 2", act: write(2) }, { name: "size 3", act: write(3) }]
    ),
    right: scenario(
      "generated-right",
      Controller.make("boxes", {
        for: Box,
        owns: [Pod],
        reconcile: (box) => pods(box)
      }),
      [{ name: "size 2", act: write(2) }, { name: "size 3", act: write(3) }]
    )
  },
  {
    name: "finalizer: let go before the clean-up",
    oracle: "same end state",
    wrong: scenario(
      "finalizer-wrong",
      Controller.make("boxes", {
        for: Box,
        watches: [],
        reconcile: () =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* unlessThere(
              client.create(ConfigMap, { metadata: { namespace: "default", name: "outside" }, data: {} })
            )
            return Action.done
          }),
        // The clean-up is tried once, and its failure is swallowed.
        finalize: () =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* Effect.ignore(client.delete(ConfigMap, { namespace: "default", name: "outside" }))
            return Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }, { name: "delete", act: remove }]
    ),
    right: scenario(
      "finalizer-right",
      Controller.make("boxes", {
        for: Box,
        watches: [],
        reconcile: () =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* unlessThere(
              client.create(ConfigMap, { metadata: { namespace: "default", name: "outside" }, data: {} })
            )
            return Action.done
          }),
        finalize: () =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* unlessGone(client.delete(ConfigMap, { namespace: "default", name: "outside" }))
            return Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }, { name: "delete", act: remove }]
    )
  },
  {
    name: "swallowed error: a failed write is taken for done",
    oracle: "same end state",
    wrong: scenario(
      "swallowed-wrong",
      Controller.make("boxes", {
        for: Box,
        owns: [ConfigMap],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* Effect.ignore(client.create(ConfigMap, settings(box, { size: "any" })))
            return Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }]
    ),
    right: scenario(
      "swallowed-right",
      Controller.make("boxes", {
        for: Box,
        owns: [ConfigMap],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            yield* unlessThere(client.create(ConfigMap, settings(box, { size: "any" })))
            return Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }]
    )
  },
  {
    name: "unobserved generation: the status speaks of an older spec",
    oracle: "observed generation",
    wrong: scenario(
      "observed-wrong",
      Controller.make("boxes", {
        for: Box,
        reconcile: (box) => Effect.as(report(box, box.spec.size, 1), Action.done)
      })
    ),
    right: scenario(
      "observed-right",
      Controller.make("boxes", {
        for: Box,
        reconcile: (box) => Effect.as(report(box, box.spec.size, box.metadata.generation), Action.done)
      })
    )
  },
  {
    name: "missing requeue: waits for something without being woken",
    oracle: "same end state",
    wrong: scenario(
      "requeue-wrong",
      Controller.make("boxes", {
        for: Box,
        watches: [],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            const gave = yield* Effect.result(client.create(ConfigMap, settings(box, {})))
            // "It will be there the next time somebody looks": nobody looks.
            return gave._tag === "Failure" ? Action.done : Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }]
    ),
    right: scenario(
      "requeue-right",
      Controller.make("boxes", {
        for: Box,
        watches: [],
        reconcile: (box) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            const gave = yield* Effect.result(client.create(ConfigMap, settings(box, {})))
            return gave._tag === "Failure" && gave.failure.reason._tag !== "AlreadyExists"
              ? Action.requeueAfter("1 second")
              : Action.done
          })
      }),
      [{ name: "size 1", act: write(1) }]
    )
  }
]
