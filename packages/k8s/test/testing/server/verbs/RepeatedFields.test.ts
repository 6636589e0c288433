import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as RequestBody from "../../../../src/api/RequestBody.ts"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"

const request = Effect.fnUntraced(function*(
  path: string,
  text: string,
  { contentType, fieldValidation = "Ignore" }: { contentType?: string; fieldValidation?: string } = {}
) {
  const { handle } = yield* ApiServer
  const method = "POST"
  const decoded = yield* RequestBody.decode({
    method,
    contentType,
    bytes: new TextEncoder().encode(text),
    kind: Effect.succeed("X")
  })
  const body = Result.getOrThrow(decoded)
  const query = [["fieldValidation", fieldValidation], ["dryRun", "All"]] as const
  const answer = yield* handle({ method, path, query, headers: {}, body })
  return { ...answer, body: answer.body as any }
})

const configMaps = "/api/v1/namespaces/default/configmaps"
const deployments = "/apis/apps/v1/namespaces/default/deployments"

describe("RepeatedFields", () => {
  it.effect("objects and maps of a type merge, scalars are replaced", () =>
    Effect.gen(function*() {
      const { body, status } = yield* request(
        configMaps,
        `{"metadata":{"name":"d","labels":{"a":"1"}},"data":{"a":"1","c":"1"},
          "data":{"b":"2","c":"3"},"metadata":{"labels":{"b":"2"},"annotations":{"x":"y"}}}`
      )
      assert.strictEqual(status, 201, JSON.stringify(body))
      assert.deepStrictEqual(body.data, { a: "1", b: "2", c: "3" })
      const { annotations, labels, name } = body.metadata
      assert.deepStrictEqual([name, labels, annotations], ["d", { a: "1", b: "2" }, { x: "y" }])
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("items of a list merge by index, the last list says how many there are", () =>
    Effect.gen(function*() {
      const labels = `{"app":"a"}`
      const { body, status } = yield* request(
        deployments,
        `{"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":${labels}}},
          "spec":{"replicas":null,"paused":true,"paused":null,"template":{"metadata":{"labels":${labels}},"spec":{
            "containers":[{"name":"a","image":"a","env":[{"name":"x","value":"1"}]},{"name":"b","image":"b"}],
            "containers":[{"name":"c"}]}}}}`
      )
      assert.strictEqual(status, 201, JSON.stringify(body))
      assert.deepStrictEqual([body.spec.replicas, body.spec.paused], [1, true])
      const [container, ...others] = body.spec.template.spec.containers
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual([container.name, container.image, container.env], ["c", "a", [{ name: "x", value: "1" }]])
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("null takes a map away, and what was wrong first stays wrong", () =>
    Effect.gen(function*() {
      const emptied = yield* request(
        configMaps,
        `{"metadata":{"name":"d"},"data":{"a":"1"},"data":null,"metadata":null}`
      )
      assert.deepStrictEqual([emptied.body.metadata.name, emptied.body.data], ["d", undefined])
      const wrong = yield* request(configMaps, `{"metadata":{"name":"d"},"data":1,"data":{"a":"1"}}`)
      assert.strictEqual(
        wrong.body.message,
        `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct ` +
          `field ConfigMap.data of type map[string]string`
      )
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("strict decoding tells what it met, in order, and nothing from inside of what it does not know", () =>
    Effect.gen(function*() {
      const text = `{"metadata":{"name":"s","foo":1},"bar":{"x":1,"x":2},"bar":3,"data":{"a":"1","a":"2"},"data":{}}`
      const said = [
        "unknown field \"metadata.foo\"",
        "unknown field \"bar\"",
        "duplicate field \"data.a\"",
        "duplicate field \"data\""
      ]
      const strict = yield* request(configMaps, text, { fieldValidation: "Strict" })
      assert.deepStrictEqual(
        [strict.status, strict.body.message],
        [400, `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${said.join(", ")}`]
      )
      const warned = yield* request(configMaps, text, { fieldValidation: "Warn" })
      assert.strictEqual(
        warned.headers["warning"],
        said.map((each) => `299 - "${each.replaceAll("\"", "\\\"")}"`).join(", ")
      )
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("strict decoding tells of repeated keys in YAML first", () =>
    Effect.gen(function*() {
      const text = "metadata:\n  name: a\nfoo: 1\ndata:\n  a: b\n  a: c\n"
      const contentType = "application/yaml"
      const strict = yield* request(configMaps, text, { contentType, fieldValidation: "Strict" })
      assert.deepStrictEqual([strict.status, strict.body.message], [
        400,
        `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n` +
        `  line 6: key "a" already set in map, unknown field "foo"`
      ])
      const warned = yield* request(configMaps, text, { contentType, fieldValidation: "Warn" })
      assert.deepStrictEqual([warned.body.data, warned.headers["warning"]], [
        { a: "c" },
        `299 - "line 6: key \\"a\\" already set in map", 299 - "unknown field \\"foo\\""`
      ])
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("a field of a value of a map is named with a point", () =>
    Effect.gen(function*() {
      const { body } = yield* request(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        `{"metadata":{"name":"d"},"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"spec":{"foo":1}}}}}]}}`,
        { fieldValidation: "Strict" }
      )
      assert.match(body.message, /unknown field "spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.spec\.foo"$/)
    }).pipe(Effect.provide(ApiServer.layer)))
})
