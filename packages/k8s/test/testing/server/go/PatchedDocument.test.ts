import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as PatchedDocument from "../../../../src/testing/server/go/PatchedDocument.ts"
import { configMap, configMaps, layer, patch, post } from "../../support/server.ts"

const deployment = "io.k8s.api.apps.v1.Deployment"

const container = { ports: [{ protocol: "TCP", containerPort: 80 }], image: "i", name: "c" }

const stored = {
  status: {},
  spec: { template: { spec: { containers: [container] }, metadata: { labels: { b: "1", a: "2" } } }, replicas: 1 },
  metadata: {
    managedFields: [{ fieldsV1: { "f:spec": {}, "f:metadata": {} }, time: "t", operation: "Update", manager: "m" }],
    uid: "u",
    name: "a"
  },
  kind: "Deployment",
  apiVersion: "apps/v1"
}

const printed = (patched: object, body: unknown): string =>
  FieldError.goJsonInOrder(PatchedDocument.ordered(deployment, patched as never, stored, body))

const metadata = `"metadata":{"name":"a","uid":"u","managedFields":[{"manager":"m","operation":"Update","time":"t",` +
  `"fieldsV1":{"f:metadata":{},"f:spec":{}}}]}`

describe("PatchedDocument", () => {
  it("keys are sorted where a patch has been, and else in the order of the type", () => {
    const spec = { ...stored.spec, replicas: "x" }
    assert.strictEqual(
      printed({ ...stored, spec }, { spec: { replicas: "x" } }),
      `{"apiVersion":"apps/v1","kind":"Deployment",${metadata},"spec":{"replicas":"x","template":{"metadata":{"labels":` +
        `{"a":"2","b":"1"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"protocol":"TCP"}]` +
        "}]}}},\"status\":{}}"
    )
  })

  it("what a merge patch names is touched, though it stays, and what it puts in the place of an object is as sent", () => {
    const body = { metadata: { name: "a" }, spec: { replicas: "x" } }
    assert.include(
      printed({ ...stored, spec: { ...stored.spec, replicas: "x" } }, body),
      `"metadata":{"managedFields":[{"manager":"m","operation":"Update","time":"t","fieldsV1":{"f:metadata":{},"f:spec":{}}` +
        `}],"name":"a","uid":"u"}`
    )
    const spec = [{ b: 1, a: 2 }]
    assert.include(printed({ ...stored, spec }, { spec }), `"spec":[{"b":1,"a":2}]`)
  })

  it("what a merge patch brings is sorted, what a JSON patch brings is as it was sent", () => {
    const value = [{ name: 5, image: "i" }]
    const template = { ...stored.spec.template, spec: { containers: value } }
    const patched = { ...stored, spec: { ...stored.spec, template } }
    assert.include(
      printed(patched, { spec: { template: { spec: { containers: value } } } }),
      `[{"image":"i","name":5}]`
    )
    const operations = [{ op: "replace", path: "/spec/template/spec/containers", value }]
    assert.include(printed(patched, operations), `[{"name":5,"image":"i"}]`)
    const second = { ...stored.spec.template, spec: { containers: [{ ...container, name: 5 }] } }
    assert.include(
      printed({ ...stored, spec: { ...stored.spec, template: second } }, [
        { op: "replace", path: "/spec/template/spec/containers/0/name", value: 5 }
      ]),
      `[{"image":"i","name":5,"ports":[{"containerPort":80,"protocol":"TCP"}]}]`
    )
  })

  it.effect("of several faults the first one in the document is told", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const { body, status } = yield* patch(`${configMaps}/a`, "merge", { immutable: "x", binaryData: 5 })
      assert.strictEqual(status, 422)
      const [, document, fault] = /^ "" is invalid: patch: Invalid value: "(.*)": (.*)$/s.exec(body.message)!
      assert.strictEqual(
        fault,
        "json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type map[string][]uint8"
      )
      assert.deepStrictEqual(
        Object.keys(JSON.parse(JSON.parse(`"${document}"`))),
        ["apiVersion", "binaryData", "data", "immutable", "kind", "metadata"]
      )
    }).pipe(Effect.provide(layer)))
})
