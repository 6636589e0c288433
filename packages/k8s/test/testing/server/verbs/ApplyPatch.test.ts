import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import {
  configMap,
  configMaps,
  crds,
  get,
  patch,
  post,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const layer = ApiServer.layer

const message = ({ body, status }: { readonly body: any; readonly status: number }) => `${status} ${body.message}`

const apply = (body: unknown, query = "fieldManager=m") => patch(`${configMaps}/a?${query}`, "apply", body)

describe("ApplyPatch", () => {
  it.effect("takes YAML text and plain values for the same", () =>
    Effect.gen(function*() {
      const text = yield* apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: v\n")
      assert.strictEqual(text.status, 201)
      const value = yield* apply(configMap("a", { data: { k: "v" } }))
      assert.deepStrictEqual(value.body, text.body)
    }).pipe(Effect.provide(layer)))

  it.effect("refuses what is no YAML, no object, or another kind", () =>
    Effect.gen(function*() {
      assert.match(
        message(yield* apply("a: [1")),
        /^400 error decoding YAML: error converting YAML to JSON: yaml: line 1/
      )
      assert.strictEqual(
        message(yield* apply("[1]")),
        "400 error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go " +
          "value of type map[string]interface {}"
      )
      assert.strictEqual(message(yield* apply("")), "400 invalid object type: /, Kind=")
      assert.strictEqual(
        message(yield* apply({ ...configMap("a"), apiVersion: "apps/v1" })),
        "400 invalid object type: apps/v1, Kind=ConfigMap"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("lets the last of two equal keys count, unless the client is strict", () =>
    Effect.gen(function*() {
      const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v","k":"w"}}`
      assert.strictEqual(
        message(yield* apply(text, "fieldManager=m&fieldValidation=Strict")),
        "400 error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n" +
          `  line 1: key "k" already set in map`
      )
      assert.strictEqual((yield* get(`${configMaps}/a`)).status, 404)
      const silent = yield* apply(text, "fieldManager=m&fieldValidation=Ignore&dryRun=All")
      assert.deepStrictEqual([silent.status, silent.headers["warning"]], [201, undefined])
      for (const status of [201, 200]) {
        const applied = yield* apply(text)
        assert.deepStrictEqual([applied.status, applied.body.data, applied.headers["warning"]], [
          status,
          { k: "w" },
          `299 - "line 1: key \\"k\\" already set in map"`
        ])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("an item without its key has the one that its type writes for it", () =>
    Effect.gen(function*() {
      const pods = "/api/v1/namespaces/default/pods"
      const send = (spec: object) =>
        patch(`${pods}/p?fieldManager=m`, "apply", { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec })
      const head = "500 failed to create typed patch object (/p; /v1, Kind=Pod): .spec.containers"
      assert.strictEqual(
        message(yield* send({ containers: [{ image: "i" }] })),
        `422 Pod "p" is invalid: spec.containers[0].name: Required value`
      )
      assert.strictEqual(
        message(yield* send({ containers: [{ image: "i" }, { image: "j" }] })),
        `${head}: duplicate entries for key [name=""]`
      )
      assert.strictEqual(
        message(yield* send({ containers: [{ name: "c", image: "i", ports: [{ name: "a" }, { name: "b" }] }] })),
        `${head}[name="c"].ports: duplicate entries for key [containerPort=0,protocol="TCP"]`
      )
      assert.strictEqual(
        message(
          yield* patch("/api/v1/namespaces/default/serviceaccounts/s?fieldManager=m", "apply", {
            apiVersion: "v1",
            kind: "ServiceAccount",
            metadata: { name: "s" },
            secrets: [{}]
          })
        ),
        "500 failed to create typed patch object (/s; /v1, Kind=ServiceAccount): .secrets: element 0: associative list " +
          `with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key ` +
          "fields)",
        "what may be left out has none"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what a type cannot hold, though its schema has it, is told by the converter", () =>
    Effect.gen(function*() {
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s", namespace: "default" },
        data: { k: "?" }
      }
      const refused = yield* patch("/api/v1/namespaces/default/secrets/s?fieldManager=m", "apply", secret)
      assert.strictEqual(
        message(refused),
        "500 failed to convert new object (default/s; /v1, Kind=Secret) to proper version: unable to convert " +
          "unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a null that the schema of a custom kind does not allow is refused, unless there is a default", () =>
    Effect.gen(function*() {
      const properties = { a: { type: "string" }, d: { type: "string", default: "x" } }
      const { spec: { versions: [version] } } = widgetDefinition() as any
      const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } }
      yield* post(crds, widgetDefinition({ versions: [{ ...version, schema }] }))
      const send = (spec: object) => {
        const { metadata: _, spec: __, status: ___, ...type } = widget("n") as any
        return patch(`${widgets}/n?fieldManager=m`, "apply", { ...type, metadata: { name: "n" }, spec })
      }
      const refused = yield* send({ a: null })
      assert.match(
        message(refused),
        /^422 .*spec\.a: Invalid value: "null": spec\.a in body must be of type string: "null"$/
      )
      assert.deepStrictEqual((yield* send({ d: null })).body.spec, { d: "x" })
    }).pipe(Effect.provide(layer)))
})
