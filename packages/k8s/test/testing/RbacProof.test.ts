import {
  Action,
  Controller,
  CustomResource,
  CustomResourceVersions,
  KubeClient,
  Manager,
  Settings,
  Sync,
  Watch
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Crd from "../../src/Crd.ts"
import { CustomResourceDefinition } from "../../src/kinds/apiextensions.v1.ts"
import { ClusterRole, ConfigMap, Lease, RoleBinding, Secret, ServiceAccount } from "../../src/kinds/index.ts"
import * as Manifests from "../../src/Manifests.ts"
import * as StoredVersions from "../../src/StoredVersions.ts"
import * as FailureLog from "../../src/testing/FailureLog.ts"
import * as RbacProof from "../../src/testing/RbacProof.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import * as TestWebhooks from "../../src/testing/TestWebhooks.ts"
import * as Webhook from "../../src/Webhook.ts"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

const controller = (namespaces?: ReadonlyArray<string>) =>
  Controller.make("widgets", {
    for: Widget,
    namespaces,
    owns: [ConfigMap],
    reconcile: Effect.fnUntraced(function*(widget, { events }) {
      const client = yield* KubeClient.KubeClient
      const { name, namespace } = widget.metadata
      yield* client.apply(ConfigMap, { metadata: { namespace, name }, data: { size: String(widget.spec.size) } })
      yield* events.normal({ reason: "Applied", note: "the ConfigMap is there" })
      yield* client.patch(Widget, widget, KubeClient.Patch.merge({ status: { ready: true } }), {
        subresource: "status"
      })
      return Action.done
    }),
    finalize: () => Effect.succeed(Action.done)
  })

const manifests = (more: Partial<RbacProof.Options> = {}): RbacProof.Options => ({
  name: "widgets",
  namespace: "widgets-system",
  controllers: [controller()],
  writes: [{ resource: ConfigMap, verbs: ["create", "patch"] }],
  ...more
})

const key = { namespace: "default", name: "a" }

/** A widget comes and goes. */
const scenario = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Widget, { metadata: key, spec: { size: 1 } })
  yield* TestClock.adjust("1 minute")
  assert.isTrue((yield* client.get(Widget, key)).status?.ready)
  yield* client.delete(Widget, key)
  yield* TestClock.adjust("1 minute")
})

// Proofs that are to fail print nothing.
const cluster = Layer.provide(
  TestCluster.layer({ resources: [Widget] }),
  Layer.succeed(FailureLog.Out, () => {})
)

const election = { leaderElection: { namespace: "widgets-system", name: "widgets", identity: "a" } }

const prove = (
  options: RbacProof.Options,
  operator = Manager.layer(options.controllers as ReadonlyArray<Controller.Controller>, election)
) => RbacProof.prove({ manifests: options, operator }, scenario).pipe(Effect.provide(cluster))

/** The environment of the generated Deployment, in a Pod called `a`. */
const environmentOf = (options: RbacProof.Options): Record<string, string> => {
  const [{ spec }] = Manifests.deployment({ ...options, image: "widgets", resources: [Widget] }) as unknown as [
    { readonly spec: any }
  ]
  const fields: Record<string, string> = { "metadata.namespace": options.namespace, "metadata.name": "a" }
  return Object.fromEntries(
    spec.template.spec.containers[0].env.map(({ name, value, valueFrom }: any) => [
      name,
      value ?? fields[valueFrom.fieldRef.fieldPath]
    ])
  )
}

const named = (permissions: ReadonlyArray<Manifests.Permission>) =>
  permissions.map(({ resource, verb }) => `${verb} ${resource}`)

describe("RbacProof", () => {
  it.effect("an operator converges with the permissions of its manifests alone, and uses all of them", () =>
    Effect.gen(function*() {
      const { missing, unused, used } = yield* prove(manifests())
      assert.deepStrictEqual([missing, unused], [[], []])
      assert.includeMembers(named(used), [
        "list widgets",
        "watch widgets",
        "patch widgets",
        "patch widgets/status",
        "patch configmaps",
        "create events",
        "create leases",
        "update leases"
      ])
    }))

  it.effect("a permission that is missing fails the test, and says which, and what to add", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(prove(manifests({ writes: [{ resource: ConfigMap, verbs: ["create"] }] })))
      assert.strictEqual(error._tag, "RuleMissing")
      assert.strictEqual(
        error.message,
        "system:serviceaccount:widgets-system:widgets lacks permissions:\n" +
          "  patch configmaps \"a\" in namespace \"default\"\n" +
          "    add { resource: ConfigMap, verbs: [\"patch\"] } to `writes`"
      )
    }))

  it.effect("a kind of Kubernetes that the manifests do not mention is told by its name, too", () =>
    Effect.gen(function*() {
      const sealing = Controller.make("sealing", {
        for: Widget,
        reconcile: ({ metadata: { name, namespace } }) =>
          KubeClient.KubeClient.use((client) => client.create(Secret, { metadata: { namespace, name } })).pipe(
            Effect.as(Action.done)
          )
      })
      const proven = prove(manifests({ controllers: [sealing], writes: [] }), Manager.layer([sealing], election))
      const error = yield* Effect.flip(proven)
      assert.include(error.message, "    add { resource: Secret, verbs: [\"create\"] } to `writes`")
    }))

  it.effect("who works as others needs to be allowed to, and not what they are allowed to do", () =>
    Effect.gen(function*() {
      const tenant = KubeClient.serviceAccount("default", "tenant")
      const outcomes: Array<string> = []
      const deploying = Controller.make("deploying", {
        for: Widget,
        reconcile: ({ metadata: { name, namespace } }) =>
          KubeClient.KubeClient.use((client) => client.create(Secret, { metadata: { namespace, name } })).pipe(
            Effect.match({
              onSuccess: () => outcomes.push("created"),
              onFailure: ({ message }) => outcomes.push(message)
            }),
            Effect.provideService(KubeClient.Impersonated, tenant),
            Effect.as(Action.done)
          )
      })
      const proven = (writes: RbacProof.Options["writes"]) =>
        RbacProof.prove(
          {
            manifests: manifests({ controllers: [deploying], writes }),
            operator: Manager.layer([deploying], election)
          },
          KubeClient.KubeClient.use((client) => client.create(Widget, { metadata: key, spec: { size: 1 } })).pipe(
            Effect.andThen(TestClock.adjust("1 second"))
          )
        ).pipe(Effect.provide(cluster))
      const error = yield* Effect.flip(proven([]))
      assert.include(error.message, "  impersonate serviceaccounts \"tenant\" in namespace \"default\"\n")
      assert.include(error.message, "    add { resource: ServiceAccount, verbs: [\"impersonate\"] } to `writes`")
      outcomes.length = 0
      const { unused } = yield* proven([{ resource: ServiceAccount, verbs: ["impersonate"] }])
      assert.deepStrictEqual(named(unused), [])
      assert.include(outcomes[0], `User "${tenant}" cannot create resource "secrets"`)
    }))

  it.effect("an apply that makes its object needs to create it", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(prove(manifests({ writes: [{ resource: ConfigMap, verbs: ["patch"] }] })))
      assert.include(error.message, "create configmaps \"a\" in namespace \"default\"")
    }))

  it.effect("who binds a role needs what it allows, or to be allowed to bind it", () =>
    Effect.gen(function*() {
      const binder = Controller.make("binder", {
        for: Widget,
        owns: [RoleBinding],
        reconcile: Effect.fnUntraced(function*(widget) {
          yield* Sync.children(widget, [RoleBinding], [
            Sync.child(RoleBinding, {
              metadata: { name: widget.metadata.name },
              roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
              subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" }]
            })
          ])
          const client = yield* KubeClient.KubeClient
          yield* client.patch(Widget, widget, KubeClient.Patch.merge({ status: { ready: true } }), {
            subresource: "status"
          })
          return Action.done
        })
      })
      const writes: ReadonlyArray<Manifests.Write> = [
        { resource: RoleBinding, verbs: ["create", "patch", "delete"] }
      ]
      const proven = (writes: ReadonlyArray<Manifests.Write>) =>
        prove(manifests({ controllers: [binder], writes }), Manager.layer([binder], election))
      const refused = yield* Effect.flip(proven(writes))
      assert.instanceOf(refused, RbacProof.RuleMissing)
      assert.include((refused as RbacProof.RuleMissing).message, "bind clusterroles.rbac.authorization.k8s.io \"edit\"")
      const { unused } = yield* proven([...writes, { resource: ClusterRole, verbs: ["bind"], names: ["edit"] }])
      assert.notInclude(named(unused), "bind clusterroles")
    }))

  it.effect("one that the framework needs is told as well: here the lease, which the manifests do not know of", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(prove(manifests({ leaderElection: false })))
      assert.include(error.message, "leases.coordination.k8s.io \"widgets\" in namespace \"widgets-system\"")
    }))

  it.effect("leases of each controller are made and renewed by what the manifests grant and set", () =>
    Effect.gen(function*() {
      const proved = (options: RbacProof.Options) =>
        Effect.gen(function*() {
          const client = yield* KubeClient.KubeClient
          const leases = Effect.map(
            client.listPage(Lease, { namespace: options.namespace }),
            ({ items }) => items.map(({ metadata: { name }, spec }) => ({ name, renewed: spec?.renewTime }))
          )
          const renewing = Effect.gen(function*() {
            yield* TestClock.adjust("1 minute")
            const before = yield* leases
            yield* scenario
            const after = yield* leases
            assert.deepStrictEqual(after.map(({ name }) => name), ["widgets-others", "widgets-widgets"])
            for (const [i, { name, renewed }] of after.entries()) {
              assert.notStrictEqual(renewed, before[i]!.renewed, name)
            }
          })
          const operator = Layer.provide(
            Manager.layer(options.controllers as ReadonlyArray<Controller.Controller>),
            Layer.provide(Settings.layer, ConfigProvider.layer(ConfigProvider.fromEnvRecord(environmentOf(options))))
          )
          return yield* RbacProof.prove({ manifests: options, operator }, renewing)
        }).pipe(Effect.provide(cluster))
      const others = Controller.make("others", { for: Widget, reconcile: () => Effect.succeed(Action.done) })
      const perController = manifests({
        controllers: [controller(), others],
        leaderElection: { per: "controller" }
      })
      const { missing, unused, used } = yield* proved(perController)
      assert.deepStrictEqual([missing, unused], [[], []])
      assert.includeMembers(named(used), ["create leases", "get leases", "update leases"])
    }))

  it.effect("leases of each replica are made, followed and renewed by what the manifests grant and set", () =>
    Effect.gen(function*() {
      const options = manifests({ leaderElection: { per: "object" } })
      const operator = Manager.layer([controller()], {
        leaderElection: { ...election.leaderElection, per: "object" }
      })
      const { missing, unused, used } = yield* prove(options, operator)
      assert.deepStrictEqual([missing, unused], [[], []])
      assert.includeMembers(named(used), ["create leases", "list leases", "watch leases", "update leases"])
    }))

  it.effect("a shard has its lease, hands objects back, and has children follow them by what the manifests grant", () =>
    Effect.gen(function*() {
      const options = manifests({ leaderElection: { per: "ring" } })
      const operator = Manager.layer([controller()], { leaderElection: { ...election.leaderElection, per: "ring" } })
      const [shard, drain] = ["shard", "drain"].map((what) => `${what}.alpha.sharding.timebertt.dev/widgets`)
      const assigned = Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        const labels = { [shard!]: "a" }
        const finalizers = ["example.com/widgets"]
        const widget = yield* client.create(Widget, { metadata: { ...key, labels, finalizers }, spec: { size: 1 } })
        const child = { namespace: key.namespace, name: "from-elsewhere" }
        yield* client.create(ConfigMap, { metadata: { ...child, ownerReferences: [controllerReference(widget)] } })
        yield* TestClock.adjust("1 minute")
        assert.isTrue((yield* client.get(Widget, key)).status?.ready)
        assert.deepStrictEqual((yield* client.get(ConfigMap, child)).metadata.labels, labels)
        yield* client.patch(Widget, key, KubeClient.Patch.merge({ metadata: { labels: { [drain!]: "true" } } }))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual((yield* client.get(Widget, key)).metadata.labels ?? {}, {})
        yield* client.patch(Widget, key, KubeClient.Patch.merge({ metadata: { labels } }))
        yield* client.delete(Widget, key)
        yield* TestClock.adjust("1 minute")
        assert.isEmpty((yield* client.listPage(Widget)).items)
      })
      const { missing, unused } = yield* RbacProof.prove({ manifests: options, operator }, assigned).pipe(
        Effect.provide(cluster)
      )
      assert.deepStrictEqual([missing, unused], [[], []])
    }))

  it.effect("the right to one lease for all does not do for a lease of each controller", () =>
    Effect.gen(function*() {
      const operator = Manager.layer([controller()], {
        leaderElection: { ...election.leaderElection, per: "controller" }
      })
      const { message } = yield* Effect.flip(prove(manifests(), operator))
      assert.include(message, `leases.coordination.k8s.io "widgets-widgets" in namespace "widgets-system"`)
    }))

  it.effect("what nobody used is reported", () =>
    Effect.gen(function*() {
      const more = manifests({
        controllers: [{ ...controller(), watches: [...controller().watches, Watch.cached(Secret)] }],
        writes: [
          { resource: ConfigMap, verbs: ["create", "patch", "delete"] },
          { resource: Secret, verbs: ["get"], names: ["a"] }
        ]
      })
      const operator = Manager.layer([controller()], election)
      const { unused } = yield* prove(more, operator)
      assert.deepStrictEqual(named(unused), [
        "get secrets",
        "list secrets",
        "watch secrets",
        "delete configmaps",
        "get secrets"
      ])
    }))

  it.effect("an operator of certain namespaces needs roles in those, and nothing of the others", () =>
    Effect.gen(function*() {
      const confined = manifests({
        controllers: [controller(["default"])],
        writes: [{ resource: ConfigMap, verbs: ["create", "patch"], namespaces: ["default"] }]
      })
      const { missing, unused, used } = yield* prove(confined)
      assert.deepStrictEqual([missing, unused], [[], []])
      assert.sameMembers([...new Set(used.map(({ namespace }) => namespace))], ["default", "widgets-system"])
    }))

  it.effect("with webhooks, in virtual time", () =>
    Effect.gen(function*() {
      const service = { namespace: "widgets-system", name: "widgets-webhook" }
      const hooks = [Webhook.validating(Widget, {
        validate: ({ object }) => object.spec.size > 9 ? Webhook.deny("too large") : Effect.void
      })]
      const refused = Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        yield* Webhook.install(hooks, { name: "widgets", reachable: { service } })
        yield* scenario
        const error = yield* Effect.flip(client.create(Widget, { metadata: key, spec: { size: 10 } }))
        assert.include(error.message, "denied the request: too large")
      })
      const operator = Manager.layer([controller()], election).pipe(
        Layer.provide(Webhook.layer(hooks, { name: "widgets", service })),
        Layer.provide(TestWebhooks.layer)
      )
      const subject = { manifests: manifests({ webhooks: hooks }), operator }
      const { missing } = yield* RbacProof.prove(subject, refused).pipe(Effect.provide(cluster))
      assert.deepStrictEqual(missing, [])
    }))

  it.effect("objects are brought to the stored version under the operator's account, if the manifests say so", () =>
    Effect.gen(function*() {
      const gadget = (version: string) =>
        CustomResource.make({
          group: "example.com",
          version,
          kind: "Gadget",
          spec: Schema.Struct({ size: Schema.Int })
        })
      const [V1, V2] = [gadget("v1"), gadget("v2")]
      const step = CustomResourceVersions.between(V1, V2, {
        up: ({ spec }) => ({ spec }),
        down: ({ spec }) => ({ spec })
      })
      /** The versions on disk, after an operator with these manifests was to leave one of them. */
      const migrated = (migrates: ReadonlyArray<CustomResource.CustomResource>) =>
        Effect.gen(function*() {
          const client = yield* KubeClient.KubeClient
          yield* Crd.install(V1)
          yield* client.create(V1, { metadata: { namespace: "default", name: "a" }, spec: { size: 1 } })
          yield* Crd.install(CustomResourceVersions.make({ steps: [step] }), { conversion: "None" })
          const migrate = Layer.effectDiscard(Effect.ignore(StoredVersions.migrate(V2)))
          const operator = Layer.provideMerge(Manager.layer([controller()]), migrate)
          yield* RbacProof.prove({ manifests: manifests({ migrates }), operator }, TestClock.adjust("1 minute"))
          const { status } = yield* client.get(CustomResourceDefinition, { name: "gadgets.example.com" })
          return status?.storedVersions
        }).pipe(Effect.provide(cluster))
      const { message } = yield* Effect.flip(migrated([]))
      assert.include(message, "get customresourcedefinitions.apiextensions.k8s.io \"gadgets.example.com\"")
      assert.include(message, "for StoredVersions.migrate, list the kind in `migrates`")
      assert.deepStrictEqual(yield* migrated([V2]), ["v2"])
    }))
})
