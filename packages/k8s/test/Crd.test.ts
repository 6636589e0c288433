import { CustomResource, KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Crd from "../src/Crd.ts"
import { CustomResourceDefinition } from "../src/kinds/apiextensions.v1.ts"
import * as TestCluster from "../src/testing/TestCluster.ts"

const make = (kind: string, spec: CustomResource.AnySchema = Schema.Struct({ size: Schema.Int })) =>
  CustomResource.make({
    group: "example.com",
    version: "v1",
    kind,
    shortNames: ["x"],
    categories: ["all"],
    spec,
    status: Schema.Struct({ ready: Schema.Boolean }),
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
