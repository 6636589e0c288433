import { CelRule, CustomResource, CustomResourceVersions, KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Certificates from "../src/Certificates.ts"
import * as Crd from "../src/Crd.ts"
import { CustomResourceDefinition } from "../src/kinds/apiextensions.v1.ts"
import { ConfigMap } from "../src/kinds/core.v1.ts"
import * as StoredVersions from "../src/StoredVersions.ts"
import { ApiServer } from "../src/testing/ApiServer.ts"
import * as TestCluster from "../src/testing/TestCluster.ts"

const make = (kind: string, spec: CustomResource.AnySchema = Schema.Struct({ size: Schema.Int })) =>
  CustomResource.make({
    group: "example.com",
    version: "v1",
    kind,
    shortNames: ["x"],
    categories: ["all"],
    spec,
    status: Schema.Struct({ ready: Schema.Boolean, size: Schema.optionalKey(Schema.Int) }),
    printerColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
    scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
  })

it("says everything the declaration says, the same every time", () => {
  const crd = Crd.make(make("Widget"))
  assert.deepStrictEqual(crd, Crd.make(make("Widget")))
  assert.strictEqual(crd.metadata.name, "widgets.example.com")
  assert.deepStrictEqual(crd.spec.names, {
    kind: "Widget",
    listKind: "WidgetList",
    plural: "widgets",
    singular: "widget",
    shortNames: ["x"],
    categories: ["all"]
  })
  const [version] = crd.spec.versions
  assert.deepStrictEqual(version?.subresources, {
    status: {},
    scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
  })
  assert.deepStrictEqual(version?.schema?.openAPIV3Schema?.required, ["spec"])
})

it("names are pluralized as Kubernetes does", () => {
  const plurals = ["Widget", "Policy", "Ingress", "Box", "Gateway", "Batch"].map((kind) => make(kind).plural)
  assert.deepStrictEqual(plurals, ["widgets", "policies", "ingresses", "boxes", "gateways", "batches"])
})

it("a Schema without a structural form throws, and names every field", () => {
  const spec = Schema.Struct({ a: Schema.Number, b: Schema.Tuple([Schema.Int]) })
  assert.throws(() => Crd.make(make("Widget", spec)), /Widget\.v1\.example\.com.*\n.*spec\.a: .*\n.*spec\.b: /)
})

it.effect("install creates the definition, updates one that is there, and waits until the kind is served", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Crd.install(make("Widget"))
    yield* Crd.install(make("Widget", Schema.Struct({ size: Schema.Int, note: Schema.optionalKey(Schema.String) })))
    const crd = yield* client.get(CustomResourceDefinition, { name: "widgets.example.com" })
    const { spec } = crd.spec.versions[0]!.schema!.openAPIV3Schema!.properties!
    assert.deepStrictEqual(Object.keys(spec!.properties!), ["size", "note"])
    const created = yield* client.create(make("Widget"), {
      metadata: { namespace: "default", name: "a" },
      spec: { size: 1 }
    })
    assert.strictEqual(created.metadata.generation, 1)
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("install changes what a definition says of names, labels and conversion, and takes away what is dropped", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const version = (version: string, more: object = {}) =>
      CustomResource.make({ group: "example.com", version, kind: "Rack", spec: Schema.Struct({}), ...more })
    const versions = (more: object = {}) => {
      const change = ({ spec }: { readonly spec: object }) => ({ spec })
      return CustomResourceVersions.make({
        steps: [
          CustomResourceVersions.between(version("v1", more), version("v2", more), { up: change, down: change })
        ]
      })
    }
    const found = client.get(CustomResourceDefinition, { name: "racks.example.com" })
    const service = { name: "hooks", namespace: "default", path: "/convert" }
    yield* Crd.install(versions({ shortNames: ["ra"], categories: ["all"] }), {
      conversion: { clientConfig: { service } },
      labels: { team: "a" }
    })
    yield* client.patch(
      CustomResourceDefinition,
      { name: "racks.example.com" },
      KubeClient.Patch.merge({ metadata: { labels: { theirs: "b" } } })
    )
    yield* Crd.install(versions({ shortNames: ["ra"] }), {
      conversion: { clientConfig: { url: "https://hooks.example.com/convert" } },
      labels: { team: "c" },
      annotations: { note: "d" }
    })
    const changed = yield* found
    assert.deepInclude(changed.spec.conversion?.webhook?.clientConfig, { url: "https://hooks.example.com/convert" })
    assert.isUndefined(changed.spec.conversion?.webhook?.clientConfig?.service)
    assert.deepStrictEqual(changed.metadata.labels, { theirs: "b", team: "c" })
    assert.deepStrictEqual(changed.metadata.annotations, { note: "d" })
    assert.deepStrictEqual(changed.spec.names.shortNames, ["ra"])
    assert.isUndefined(changed.spec.names.categories)
    yield* Crd.install(versions(), { conversion: "None" })
    const last = yield* found
    assert.deepStrictEqual(last.spec.conversion, { strategy: "None" })
    assert.isUndefined(last.spec.names.shortNames)
    yield* Crd.install(versions(), { conversion: "None" })
    assert.strictEqual((yield* found).metadata.resourceVersion, last.metadata.resourceVersion, "the same again")
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("install keeps the authority that somebody else has given to its webhook", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const Rack = make("Rack")
    const service = { name: "hooks", namespace: "default" }
    const conversion = { clientConfig: { service } }
    const name = { name: "racks.example.com" }
    const caBundle = Buffer.from((yield* Certificates.authority({ now: Date.now() })).certPem).toString("base64")
    yield* Crd.install(Rack, { conversion })
    yield* client.patch(
      CustomResourceDefinition,
      name,
      KubeClient.Patch.merge({ spec: { conversion: { webhook: { clientConfig: { caBundle } } } } })
    )
    yield* Crd.install(Rack, { conversion })
    const { spec } = yield* client.get(CustomResourceDefinition, name)
    assert.strictEqual(spec.conversion?.webhook?.clientConfig?.caBundle, caBundle)
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("install fails at once where the names are taken, and says by what", () =>
  Effect.gen(function*() {
    yield* Crd.install(make("Widget"))
    const clash = CustomResource.make({
      group: "example.com",
      version: "v1",
      kind: "Other",
      shortNames: ["widget"],
      spec: Schema.Struct({})
    })
    const error = yield* Effect.flip(Crd.install(clash))
    assert.strictEqual(error.reason._tag, "Invalid")
    assert.match(error.message, /others\.example\.com: ShortNamesConflict: .*"widget" is already in use/)
  }).pipe(Effect.provide(TestCluster.layer())))

it("everything else that can be declared", () => {
  const Widget = CustomResource.make({
    group: "example.com",
    version: "v1",
    kind: "Widget",
    spec: Schema.UndefinedOr(Schema.Struct({ colour: Schema.String })),
    rules: [CelRule.make<"spec">("!has(self.spec) || self.spec.colour != ''", "needs a colour")],
    selectableFields: [".spec.colour"],
    deprecated: "use Gadget"
  })
  const { metadata, spec } = Crd.make(Widget, { labels: { a: "b" }, annotations: { c: "d" } })
  assert.deepStrictEqual(metadata, {
    name: "widgets.example.com",
    labels: { a: "b" },
    annotations: { c: "d" }
  })
  const [version] = spec.versions
  assert.deepInclude(version, {
    deprecated: true,
    deprecationWarning: "use Gadget",
    selectableFields: [{ jsonPath: ".spec.colour" }]
  })
  const root = version!.schema!.openAPIV3Schema!
  assert.isUndefined(root.required)
  assert.deepStrictEqual(root["x-kubernetes-validations"], [
    { rule: "!has(self.spec) || self.spec.colour != ''", message: "needs a colour" }
  ])
})

const gadget = (version: string) =>
  CustomResource.make({ group: "example.com", version, kind: "Gadget", spec: Schema.Struct({ size: Schema.Int }) })

const [V1, V2] = [gadget("v1"), gadget("v2")]
const same = { up: ({ spec }: typeof V1.Type) => ({ spec }), down: ({ spec }: typeof V2.Type) => ({ spec }) }
const steps = [CustomResourceVersions.between(V1, V2, same)] as const

it("several versions: the newest first, one of them stored, a webhook between them", () => {
  const versions = CustomResourceVersions.make({ steps, storage: V1, unserved: [V2] })
  assert.throws(() => Crd.make(versions), /several versions need `conversion`/)
  const clientConfig = { service: { name: "hook", namespace: "operators", path: "/convert" } }
  const { spec } = Crd.make(versions, { conversion: { clientConfig } })
  assert.deepStrictEqual(spec.versions.map(({ name, served, storage }) => [name, served, storage]), [
    ["v2", false, false],
    ["v1", true, true]
  ])
  assert.deepStrictEqual(spec.conversion, {
    strategy: "Webhook",
    webhook: { clientConfig, conversionReviewVersions: ["v1"] }
  })
})

it.effect("objects of an old version are stored anew, so that it can go", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const name = { name: "gadgets.example.com" }
    yield* Crd.install(V1)
    for (const name of ["a", "b"]) {
      yield* client.create(V1, { metadata: { namespace: "default", name }, spec: { size: 1 } })
    }
    const wrong = yield* Effect.flip(Effect.sandbox(StoredVersions.migrate(V2)))
    assert.include(String(Cause.squash(wrong)), "stores v1, not v2")
    yield* Crd.install(CustomResourceVersions.make({ steps }), { conversion: "None" })
    const before = yield* client.get(CustomResourceDefinition, name)
    assert.deepStrictEqual(before.status?.storedVersions, ["v1", "v2"])
    const refused = yield* Effect.flip(Crd.install(V2))
    assert.include(refused.message, "status.storedVersions[0]")

    assert.deepStrictEqual(yield* StoredVersions.migrate(V2), { written: 2, before: ["v1", "v2"] })
    assert.deepStrictEqual(yield* StoredVersions.migrate(V2), { written: 0, before: ["v2"] })
    const after = yield* client.get(CustomResourceDefinition, name)
    assert.deepStrictEqual(after.status?.storedVersions, ["v2"])
    yield* Crd.install(V2)
    assert.strictEqual((yield* client.get(V2, { namespace: "default", name: "a" })).spec.size, 1)
  }).pipe(Effect.provide(TestCluster.layer())))

/** A kind of which objects are stored in two versions, and a client with small pages whose first writes `before` precedes. */
const halfWay = Effect.fnUntraced(function*(
  objects: number,
  before: Partial<Record<"object" | "definition", Effect.Effect<unknown, unknown>>>
) {
  const client = yield* KubeClient.KubeClient
  yield* Crd.install(V1)
  for (let n = 0; n < objects; n++) {
    yield* client.create(V1, { metadata: { namespace: "default", name: `a${n}` }, spec: { size: 1 } })
  }
  yield* Crd.install(CustomResourceVersions.make({ steps }), { conversion: "None" })
  const seen = new Set<string>()
  const replace: typeof client.replace = (resource, object, options) => {
    const what = resource.plural === CustomResourceDefinition.plural ? "definition" : "object"
    const first = !seen.has(what)
    seen.add(what)
    const write = client.replace(resource, object, options)
    return first ? Effect.andThen(Effect.orDie(before[what] ?? Effect.void), write) : write
  }
  const list: typeof client.list = (resource, options) => client.list(resource, { ...options, limit: 4 })
  return { ...client, list, replace }
})

const stored = Effect.map(
  KubeClient.KubeClient.use((client) => client.get(CustomResourceDefinition, { name: "gadgets.example.com" })),
  ({ status }) => status?.storedVersions
)

it.effect("a list that expires before all objects are written begins anew, and goes on", () =>
  Effect.gen(function*() {
    const { compact } = yield* ApiServer
    const kube = yield* KubeClient.KubeClient
    const goOn = kube.create(ConfigMap, { metadata: { namespace: "default", name: "later" } })
    const client = yield* halfWay(10, { object: Effect.andThen(goOn, compact()) })
    const { written } = yield* Effect.provideService(StoredVersions.migrate(V2), KubeClient.KubeClient, client)
    assert.strictEqual(written, 10)
    assert.deepStrictEqual(yield* stored, ["v2"])
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("that others write the definition meanwhile is no obstacle, but another spec is", () =>
  Effect.gen(function*() {
    const kube = yield* KubeClient.KubeClient
    const definition = { name: "gadgets.example.com" }
    const migrate = (definitionChange: Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(
        halfWay(1, { definition: definitionChange }),
        (client) => Effect.provideService(StoredVersions.migrate(V2), KubeClient.KubeClient, client)
      )
    const patch = (patch: object) => kube.patch(CustomResourceDefinition, definition, KubeClient.Patch.merge(patch))
    const other = yield* Effect.flip(migrate(patch({ spec: { names: { shortNames: ["gg"] } } })))
    assert.strictEqual(other.reason._tag, "Conflict")
    assert.deepStrictEqual(yield* stored, ["v1", "v2"])
    yield* kube.delete(V2, { namespace: "default", name: "a0" })
    yield* kube.delete(CustomResourceDefinition, definition)
    yield* TestClock.adjust("1 second")
    yield* migrate(patch({ metadata: { labels: { by: "another" } } }))
    assert.deepStrictEqual(yield* stored, ["v2"])
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("two that migrate at once both succeed", () =>
  Effect.gen(function*() {
    const provided = (client: KubeClient.KubeClient["Service"]) =>
      Effect.provideService(StoredVersions.migrate(V2), KubeClient.KubeClient, client)
    const client = yield* halfWay(3, { definition: provided(yield* KubeClient.KubeClient) })
    assert.deepStrictEqual(yield* provided(client), { written: 3, before: ["v1", "v2"] })
    assert.deepStrictEqual(yield* stored, ["v2"])
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("install waits for a definition that is being deleted, and creates another", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Crd.install(V1)
    const key = { namespace: "default", name: "a" }
    yield* client.create(V1, { metadata: { ...key, finalizers: ["example.com/wait"] }, spec: { size: 1 } })
    const before = yield* client.get(CustomResourceDefinition, { name: "gadgets.example.com" })
    yield* client.delete(CustomResourceDefinition, before)
    const installing = yield* Effect.forkChild(Crd.install(V1), { startImmediately: true })
    yield* TestClock.adjust("10 seconds")
    assert.isUndefined(installing.pollUnsafe(), "the kind is about to go with its objects")
    yield* client.patch(V1, key, KubeClient.Patch.merge({ metadata: { finalizers: null } }))
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(installing)
    const after = yield* client.get(CustomResourceDefinition, { name: "gadgets.example.com" })
    assert.notStrictEqual(after.metadata.uid, before.metadata.uid)
    yield* client.create(V1, { metadata: key, spec: { size: 2 } })

    yield* client.patch(V1, key, KubeClient.Patch.merge({ metadata: { finalizers: ["example.com/wait"] } }))
    yield* client.delete(CustomResourceDefinition, after)
    const late = yield* Effect.forkChild(Effect.exit(Crd.install(V1)), { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    const exit = yield* Fiber.join(late)
    assert.isTrue(Exit.isFailure(exit))
    assert.include(String(Exit.isFailure(exit) ? Cause.squash(exit.cause) : ""), "is being deleted")
  }).pipe(Effect.provide(TestCluster.layer())))

it.effect("install does not wait for the webhook that converts what is stored already", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Crd.install(V1)
    yield* client.create(V1, { metadata: { namespace: "default", name: "a" }, spec: { size: 1 } })
    const clientConfig = { service: { namespace: "default", name: "served-later", path: "/convert" } }
    const installing = yield* Effect.forkChild(
      Crd.install(CustomResourceVersions.make({ steps }), { conversion: { clientConfig } }),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(installing)
    assert.include((yield* Effect.flip(client.listPage(V2))).message, "served-later")
    const fields = (name: string) => client.listPage(V2, { namespace: "default", fields: `metadata.name=${name}` })
    assert.include((yield* Effect.flip(fields("a"))).message, "served-later")
    assert.lengthOf((yield* fields("b")).items, 0)
  }).pipe(Effect.provide(TestCluster.layer())))
