import { CelRule, CustomResource, CustomResourceVersions, KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Schema } from "effect"
import * as Certificates from "../src/Certificates.ts"
import * as Crd from "../src/Crd.ts"
import { CustomResourceDefinition } from "../src/kinds/apiextensions.v1.ts"
import * as StoredVersions from "../src/StoredVersions.ts"
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
