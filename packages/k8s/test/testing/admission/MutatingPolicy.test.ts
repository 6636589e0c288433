import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, mutating } from "../support/policies.ts"
import {
  type Answer,
  configMap,
  configMaps,
  crds,
  get,
  patch,
  pod,
  pods,
  post,
  put,
  widget,
  widgetDefinition,
  widgets
} from "../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.reason ?? "-"} ${body.message ?? ""}`

const create = (data: object = {}, name = "a") => post(configMaps, configMap(name, { data }))

const test = (title: string, body: () => Generator<Effect.Effect<any, any, any>, void, any>) =>
  it.effect(title, () => Effect.gen(body).pipe(Effect.provide(layer)) as Effect.Effect<void>)

const apply = (expression: string) => ({ patchType: "ApplyConfiguration", applyConfiguration: { expression } })
const json = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } })

const podWrites = {
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["pods"] }]
}

describe("apply configurations", () => {
  test("are merged", function*() {
    yield* mutating({ mutations: [apply("Object{data: {'added': object.data.k + '!'}}")] })
    const { body, status } = yield* create({ k: "v" })
    assert.strictEqual(status, 201)
    assert.deepStrictEqual(body.data, { k: "v", added: "v!" })
    assert.deepStrictEqual((yield* get(`${configMaps}/a`)).body.data, body.data)
  })

  test("know lists by their keys", function*() {
    yield* mutating({
      matchConstraints: podWrites,
      mutations: [apply(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 'side:1'}]}}"
      )]
    })
    const { body } = yield* post(pods, pod("x"))
    assert.sameMembers(body.spec.containers.map(({ image }: { readonly image: string }) => image), ["app:1", "side:1"])
    const again = yield* patch(`${pods}/x`, "merge", { metadata: { labels: { a: "b" } } })
    assert.strictEqual(again.status, 200)
    assert.lengthOf(again.body.spec.containers, 2)
  })

  test("take fields that an expression leaves out as they are", function*() {
    yield* mutating({
      mutations: [apply("Object{metadata: Object.metadata{labels: {?'from': object.data[?'k']}}}")]
    })
    assert.deepStrictEqual((yield* create({ k: "v" })).body.metadata.labels, { from: "v" })
    assert.notProperty((yield* create({}, "b")).body.metadata.labels ?? {}, "from")
  })

  test("must name types by where they stand", function*() {
    yield* mutating({ mutations: [apply("Object{metadata: Object.spec{}}")] })
    assert.strictEqual(
      message(yield* create()),
      "403 Invalid policy 'p' with binding 'p' denied request: " +
        "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", " +
        "which matches field name path from root Object type"
    )
  })

  test("may not touch lists that are replaced as a whole", function*() {
    yield* post(crds, widgetDefinition())
    yield* mutating({
      matchConstraints: podWrites,
      mutations: [apply(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'main', args: ['x']}]}}"
      )]
    })
    const { body, status } = yield* post(pods, pod("x"))
    assert.strictEqual(status, 403)
    assert.match(
      body.message,
      /error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \.spec\.containers/
    )
  })

  test("of custom resources", function*() {
    yield* post(crds, widgetDefinition())
    yield* mutating({
      matchConstraints: {
        resourceRules: [{ apiGroups: ["example.com"], apiVersions: ["*"], operations: ["*"], resources: ["widgets"] }]
      },
      mutations: [apply("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}")]
    })
    const { body } = yield* post(widgets, widget("a", { spec: { replicas: 3 } }))
    assert.strictEqual(body.spec.replicas, 4)
  })
})

describe("JSON patches", () => {
  test("are lists of operations", function*() {
    yield* mutating({
      mutations: [json(
        "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, " +
          "JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}, " +
          "JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('example.com/x'), value: 'y'}]"
      )]
    })
    const { body, status } = yield* create({ k: "v" })
    assert.strictEqual(status, 201)
    assert.deepStrictEqual(body.metadata.annotations, { "example.com/x": "y" })
  })

  test("do nothing where a test fails", function*() {
    yield* mutating({
      mutations: [json(
        "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, JSONPatch{op: 'add', path: '/data/l', value: 'x'}]"
      )]
    })
    assert.deepStrictEqual((yield* create({ k: "w" })).body.data, { k: "w" })
    assert.deepStrictEqual((yield* create({ k: "v" }, "b")).body.data, { k: "v", l: "x" })
  })

  test("may carry objects", function*() {
    yield* mutating({
      mutations: [json("[JSONPatch{op: 'add', path: '/metadata/labels', value: Object.metadata.labels{a: 'b'}}]")]
    })
    assert.deepStrictEqual((yield* create()).body.metadata.labels, { a: "b" })
  })

  test("that cannot be applied refuse, unless failures are ignored", function*() {
    const mutations = [json("[JSONPatch{op: 'remove', path: '/data/missing'}]")]
    yield* mutating({ mutations })
    assert.match(
      message(yield* create({ k: "v" })),
      /^403 Invalid policy 'p' with binding 'p' denied request: JSON Patch: /
    )
    yield* patch("/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies/p", "merge", {
      spec: { failurePolicy: "Ignore" }
    })
    assert.strictEqual((yield* create({ k: "v" })).status, 201)
  })
})

describe("rounds", () => {
  const append = (text: string) => json(`[JSONPatch{op: 'replace', path: '/data/k', value: object.data.k + '${text}'}]`)

  test("each mutation sees what the one before it left", function*() {
    yield* mutating({ mutations: [append("1"), append("2")] })
    assert.deepStrictEqual((yield* create({ k: "" })).body.data, { k: "12" })
  })

  test("policies that want it are asked again when a later one changed the object", function*() {
    yield* mutating({ mutations: [append("a")], reinvocationPolicy: "IfNeeded" }, "a")
    yield* mutating({ mutations: [append("b")] }, "b")
    assert.deepStrictEqual((yield* create({ k: "" })).body.data, { k: "aba" })
  })

  test("others are not", function*() {
    yield* mutating({ mutations: [append("a")] }, "a")
    yield* mutating({ mutations: [append("b")] }, "b")
    assert.deepStrictEqual((yield* create({ k: "" })).body.data, { k: "ab" })
  })

  test("conditions are asked about the object as it is by then", function*() {
    yield* mutating({ mutations: [append("a")] }, "a")
    yield* mutating({
      matchConditions: [{ name: "unmarked", expression: "!object.data.k.endsWith('a')" }],
      mutations: [append("b")]
    }, "b")
    assert.deepStrictEqual((yield* create({ k: "" })).body.data, { k: "a" })
  })

  test("variables and parameters", function*() {
    yield* post(configMaps, configMap("params", { data: { suffix: "!" } }))
    yield* mutating(
      {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "made", expression: "object.data.k + params.data.suffix" }],
        mutations: [apply("Object{data: {'k': variables.made}}")]
      },
      "p",
      { paramRef: { name: "params", parameterNotFoundAction: "Deny" } }
    )
    assert.deepStrictEqual((yield* create({ k: "v" })).body.data, { k: "v!" })
  })

  test("an update is mutated, too", function*() {
    yield* mutating({ mutations: [append("+")] })
    yield* create({ k: "" })
    const { body } = yield* put(`${configMaps}/a`, configMap("a", { data: { k: "x" } }))
    assert.deepStrictEqual(body.data, { k: "x+" })
  })
})
