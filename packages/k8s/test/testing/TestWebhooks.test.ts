import {
  Action,
  Cache,
  Controller,
  CustomResource,
  KubeClient,
  Manager,
  OwnerLabel,
  Watch
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { Webhook } from "@effect-operator/k8s"
import { ConfigMap, Pod, Service } from "@effect-operator/k8s/kinds"
import { Simulation, TestCluster, TestWebhooks } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"

const size = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))

const Group = CustomResource.make({
  group: "hooks.example.com",
  version: "v1",
  kind: "Group",
  spec: Schema.Struct({
    size,
    image: Schema.optionalKey(Schema.NonEmptyString)
  })
})
type Group = typeof Group.Type

const metadata = { namespace: "default", name: "one" }
/** Gives each Group an image, and each of its Pods a rank: the operator relies on both. */
const imaged = Webhook.mutating(Group, {
  mutate: ({ object }) => Effect.succeed({ ...object, spec: { image: "busybox", ...object.spec } })
})
const ranked = Webhook.mutating(Pod, {
  objectSelector: { matchExpressions: [{ key: "group", operator: "Exists" }] },
  mutate: ({ object }) =>
    Effect.succeed({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, rank: object.metadata.name.slice(-1) } }
    })
})
const growing = Webhook.validating(Group, {
  validate: Effect.fnUntraced(function*({ object, old }) {
    if (old !== undefined && object.spec.size < old.spec.size) return yield* Webhook.deny("a group may not shrink")
  })
})
const staying = { operations: ["DELETE"], validate: () => Webhook.deny("it must stay") } as const
const lasting = [
  Webhook.validating(Service, staying),
  Webhook.validating(Group, { ...staying, name: "stay.group.hooks.example.com", path: "/stay" })
]

/** As many Groups as the ConfigMap `quota` allows. */
const counted = Webhook.validating(Group, {
  operations: ["CREATE"],
  validate: Effect.fnUntraced(function*() {
    const quota = yield* Cache.get(ConfigMap, { namespace: "default", name: "quota" })
    if (quota === undefined) return yield* Webhook.deny("there is no quota")
  })
})

describe("TestWebhooks: hooks of a cluster", () => {
  const cluster = TestCluster.layer({ resources: [Group], webhooks: [imaged, growing, ranked] })

  it.effect("are called for each write, in order, whether or not the operator runs", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const made = yield* client.create(Group, { metadata, spec: { size: 2 } })
      assert.deepStrictEqual(made.spec, { size: 2, image: "busybox" })
      const shrunk = yield* Effect.result(
        client.patch(Group, metadata, KubeClient.Patch.merge({ spec: { size: 1 } }))
      )
      assert.isTrue(Result.isFailure(shrunk))
      if (Result.isFailure(shrunk)) assert.include(shrunk.failure.message, "a group may not shrink")
    }).pipe(Effect.provide(cluster)))

  it.effect("for built-in kinds, too, in all namespaces but kube-system", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const pod = (namespace: string) =>
        client.create(Pod, {
          metadata: { namespace, name: "pod-7", labels: { group: "one" } },
          spec: { containers: [{ name: "main", image: "busybox" }] }
        })
      assert.strictEqual((yield* pod("default")).metadata.labels?.["rank"], "7")
      assert.isUndefined((yield* pod("kube-system")).metadata.labels?.["rank"])
    }).pipe(Effect.provide(cluster)))

  it.effect("have what they need from a layer, which lives as long as the cluster", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const create = Effect.result(client.create(Group, { metadata, spec: { size: 2 } }))
      assert.isTrue(Result.isFailure(yield* create))
      yield* client.create(ConfigMap, { metadata: { namespace: "default", name: "quota" } })
      yield* Effect.yieldNow
      assert.isTrue(Result.isSuccess(yield* create))
    }).pipe(Effect.provide(TestCluster.layer({
      resources: [Group],
      webhooks: TestWebhooks.served([counted], Cache.layer([ConfigMap]))
    }))))
})

describe("TestWebhooks: hooks in a simulation", () => {
  const podOf = (group: Group, rank: number) => ({
    metadata: {
      namespace: "default",
      name: `${group.metadata.name}-${rank}`,
      labels: { group: group.metadata.name },
      ownerReferences: [controllerReference(group)]
    },
    spec: { containers: [{ name: "main", image: group.spec.image! }] }
  })

  /** Finds its Pods by the rank that the hook has given them; what has none is not one of them. */
  const operator = Manager.layer([
    Controller.make("groups", {
      for: Group,
      owns: [Pod],
      reconcile: Effect.fnUntraced(function*(group) {
        const client = yield* KubeClient.KubeClient
        const pods = yield* Cache.list(Pod, { namespace: "default", labels: { group: group.metadata.name } })
        const failed = pods.filter(({ status }) => status?.phase === "Failed")
        for (const pod of failed) yield* client.delete(Pod, pod)
        const ranks = pods.filter((pod) => !failed.includes(pod)).map(({ metadata }) => metadata.labels?.["rank"])
        for (let rank = 0; rank < group.spec.size; rank++) {
          if (ranks.includes(String(rank))) continue
          yield* Effect.catchReason(
            client.create(Pod, podOf(group, rank)),
            "KubeError",
            "AlreadyExists",
            () => Effect.void
          )
        }
        const more = pods.filter(({ metadata }) => Number(metadata.labels?.["rank"]) >= group.spec.size)
        for (const pod of more) yield* client.delete(Pod, pod)
        return Action.done
      })
    })
  ])
  const subject = {
    name: "groups",
    resources: [Group],
    operator,
    steps: [],
    draws: Simulation.draws(Group, {
      spec: Schema.Struct({ size }),
      desired: (group, objects) => objects.filter((object) => object.kind === "Pod").length === (group?.spec.size ?? 0)
    })
  }
  const some = { runs: 30, depth: 1, interleavings: 1, stories: 2 } as const

  it.live("change what is stored, so that an operator converges that relies on them", () =>
    Effect.gen(function*() {
      const { run } = yield* Simulation.checkConvergence({ ...subject, webhooks: [imaged, ranked] }, some)
      assert.isAbove(run, 20)
      const serving = Layer.provide(
        subject.operator,
        Webhook.layer([imaged, ranked], { name: "groups", service: { namespace: "default", name: "groups" } })
      )
      const whole = { ...subject, operator: serving, webhooks: [imaged, ranked] }
      assert.isAbove((yield* Simulation.checkConvergence(whole, { ...some, runs: 10 })).run, 5)
      const failure = yield* Effect.flip(Simulation.checkConvergence({ ...subject, webhooks: [imaged] }, some))
      assert.isAtMost(failure.faults, 1)
    }))

  it.live("also where a run begins later in the story, and where they read a cache", () =>
    Effect.gen(function*() {
      const steps = [1, 3, 2].map((size) => ({
        name: `size ${size}`,
        act: KubeClient.KubeClient.use((client) => client.apply(Group, { metadata, spec: { size } }, { force: true }))
      }))
      const quota = {
        name: "quota",
        act: KubeClient.KubeClient.use((client) =>
          client.create(ConfigMap, { metadata: { namespace: "default", name: "quota" } })
        )
      }
      const { draws: _, ...story } = subject
      const scenario = { ...story, webhooks: TestWebhooks.served([imaged, ranked, counted], Cache.layer([ConfigMap])) }
      const { run } = yield* Simulation.checkConvergence({ ...scenario, steps: [quota, ...steps] }, {
        ...some,
        window: 1
      })
      assert.isAbove(run, 20)
      const failure = yield* Effect.flip(Simulation.checkConvergence({ ...scenario, steps }, some))
      assert.strictEqual(failure.oracle, "valid scenario")
      assert.include(failure.message, "there is no quota")
    }))

  it.live("what they deny is not drawn, and what may not be removed is not missed", () =>
    Effect.gen(function*() {
      const owner = OwnerLabel.make("hooks.example.com/group")
      const kept = Manager.layer([
        Controller.make("groups", {
          for: Group,
          watches: [Watch.labelled(Service, owner)],
          reconcile: Effect.fnUntraced(function*(group) {
            const client = yield* KubeClient.KubeClient
            yield* client.apply(Service, {
              metadata: { namespace: "default", name: group.metadata.name, ...OwnerLabel.metadata(owner, group) },
              spec: { ports: [{ port: 80 + group.spec.size }], selector: { group: group.metadata.name } }
            }, { force: true })
            return Action.done
          })
        })
      ])
      const webhooks = [imaged, growing, ...lasting]
      const draws = Simulation.draws(Group, {
        desired: (group, objects) =>
          group !== undefined && objects.some((object) =>
            object.kind === "Service" && (object as Service).spec?.ports?.[0]?.port === 80 + group.spec.size
          )
      })
      const scenario = { ...subject, operator: kept, draws, webhooks }
      assert.isAbove((yield* Simulation.checkConvergence(scenario, some)).run, 20)
      const removed = yield* Simulation.checkConvergence(scenario, { ...some, faults: ["removed"] })
      assert.isAbove(removed.run, 0)
    }))
})
