import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as ApiServer from "../../../src/testing/ApiServer.ts"
import * as Backends from "../../../src/testing/Backends.ts"

type Json = Readonly<Record<string, any>>

/** Webhooks by name, called in this process and in virtual time; what they answer is merged into the response. */
const answers = new Map<string, Backends.Handler>()

const hooks = (known: Readonly<Record<string, (request: Json) => Effect.Effect<Json>>>) => {
  answers.clear()
  for (const [name, answer] of Object.entries(known)) {
    answers.set(
      `ops/${name}`,
      Backends.answering((body) => {
        const review = body as { readonly apiVersion: string; readonly kind: string; readonly request: Json }
        return Effect.map(answer(review.request), (response) => ({
          apiVersion: review.apiVersion,
          kind: review.kind,
          response: { uid: review.request["uid"], allowed: true, ...response }
        }))
      })
    )
  }
}

const layer = ApiServer.ApiServer.layer.pipe(Layer.provide(Layer.fresh(Backends.layerHandlers(answers))), Layer.fresh)

const send = Effect.fnUntraced(function*(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: Json,
  query: ReadonlyArray<readonly [string, string]> = []
) {
  const server = yield* ApiServer.ApiServer
  const headers = { "content-type": "application/json", accept: "application/json" }
  const answer = yield* server.handle({ method, path, query, headers, ...(body === undefined ? {} : { body }) })
  return { ...answer, object: answer.body as Json }
})

const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }]

const install = (kind: "Mutating" | "Validating", ...webhooks: ReadonlyArray<readonly [name: string, fields?: Json]>) =>
  Effect.map(
    send("POST", `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${kind}WebhookConfiguration`,
      metadata: { name: kind.toLowerCase() },
      webhooks: webhooks.map(([name, fields]) => ({
        name: `${name}.example.com`,
        clientConfig: { service: { namespace: "ops", name } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        rules,
        ...fields
      }))
    }),
    ({ object, status }) => assert.strictEqual(status, 201, JSON.stringify(object))
  )

const create = (name: string, timeout?: string) =>
  send(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } },
    timeout === undefined ? [] : [["timeout", timeout]]
  )

const adding = (key: string) => ({
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify([{ op: "add", path: `/data/${key}`, value: "1" }])).toString("base64")
})

describe("Webhooks", () => {
  it.effect("what is sent to a subresource is asked about as an object of its own type, a proxy's path as an option", () =>
    Effect.gen(function*() {
      const seen: Array<Json> = []
      hooks({ all: (request) => Effect.sync(() => (seen.push(request), {})) })
      const everything = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }]
      yield* install("Validating", ["all", { rules: everything }])
      const pods = "/api/v1/namespaces/default/pods"
      const spec = { containers: [{ name: "c", image: "i:1" }] }
      yield* send("POST", pods, { metadata: { name: "a" }, spec })
      const asked = Effect.fnUntraced(function*(method: "GET" | "POST" | "DELETE", path: string, body?: Json) {
        seen.length = 0
        yield* send(method, path, body)
        return seen[0]!
      })
      const owners = (fieldsV1: Json, apiVersion: string, subresource: string) => [{
        manager: "unknown",
        operation: "Update",
        apiVersion,
        time: "1970-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1,
        subresource
      }]
      const metadata = { name: "a", namespace: "default" }
      const bound = yield* asked("POST", `${pods}/a/binding`, { metadata: { name: "a" }, target: { name: "n" } })
      assert.deepStrictEqual(bound["object"], {
        kind: "Binding",
        apiVersion: "v1",
        metadata: { ...metadata, managedFields: owners({ "f:target": {} }, "v1", "binding") },
        target: { name: "n" }
      })
      const deleteOptions = { gracePeriodSeconds: 0 }
      const evicted = yield* asked("POST", `${pods}/a/eviction`, {
        apiVersion: "policy/v1beta1",
        metadata: { name: "a" },
        deleteOptions
      })
      const fields = { "f:deleteOptions": { ".": {}, "f:gracePeriodSeconds": {} } }
      assert.deepStrictEqual(evicted["object"], {
        kind: "Eviction",
        apiVersion: "policy/v1",
        metadata: { ...metadata, managedFields: owners(fields, "policy/v1", "eviction") },
        deleteOptions
      })
      for (const [url, path] of [["", undefined], ["/", "/"], ["/a//b/", "/a/b/"]] as const) {
        const { kind, object, subResource } = yield* asked("GET", `${pods}/a/proxy${url}`)
        assert.deepStrictEqual([kind.kind, subResource, object.path], ["PodProxyOptions", "proxy", path], url)
      }
      const { object: { metadata: { uid } } } = yield* send("POST", "/api/v1/namespaces", { metadata: { name: "n" } })
      const { options } = yield* asked("DELETE", "/api/v1/namespaces/n")
      assert.deepStrictEqual(options.preconditions, { uid })
    }).pipe(Effect.provide(layer)))

  it.effect("an operator's own handlers admit in virtual time", () =>
    Effect.gen(function*() {
      hooks({ slow: () => Effect.as(Effect.sleep("3 seconds"), adding("slow")) })
      yield* install("Mutating", ["slow"])
      const creating = yield* Effect.forkChild(create("x"))
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(creating.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(creating)).object["data"], { a: "1", slow: "1" })
    }).pipe(Effect.provide(layer)))

  it.effect("a request has the time that it gives itself, whatever its webhooks are forgiven", () =>
    Effect.gen(function*() {
      hooks({ stuck: () => Effect.never })
      const [stuck, asked] = [answers.get("ops/stuck")!, Array<string>()]
      answers.set("ops/stuck", (request) => {
        asked.push(request.query.find(([name]) => name === "timeout")![1])
        return stuck(request)
      })
      yield* install("Mutating", ["stuck", { failurePolicy: "Ignore" }], ["again", {
        failurePolicy: "Ignore",
        clientConfig: { service: { namespace: "ops", name: "stuck" } },
        timeoutSeconds: 30
      }])
      const answered = Effect.fnUntraced(function*(after: number, timeout?: string) {
        const creating = yield* Effect.forkChild(create("x", timeout))
        yield* TestClock.adjust(after - 1)
        assert.isUndefined(creating.pollUnsafe())
        yield* TestClock.adjust(1)
        const { object, status } = yield* Fiber.join(creating)
        return `${status} ${object["message"]}`
      })
      const passed = "504 Timeout: request did not complete within the allotted timeout"
      assert.strictEqual(yield* answered(1500, "1.5s"), passed)
      assert.strictEqual(yield* answered(12_000, "12s"), passed)
      const said = "504 Timeout: request did not complete within requested timeout - context deadline exceeded"
      assert.strictEqual(yield* answered(34_000, "50s"), said)
      assert.strictEqual(yield* answered(34_000), said)
      assert.deepStrictEqual(asked, ["2s", "10s", "2s", "10s", "24s", "10s", "24s"])
    }).pipe(Effect.provide(layer)))

  it.effect("managers that a webhook has made unreadable are as they were, with a warning", () =>
    Effect.gen(function*() {
      const patch = Buffer.from(JSON.stringify([{ op: "remove", path: "/metadata/managedFields/0/apiVersion" }]))
      hooks({ old: () => Effect.succeed({ patchType: "JSONPatch", patch: patch.toString("base64") }) })
      yield* install("Mutating", ["old"])
      const { headers, object } = yield* create("x")
      assert.strictEqual(object["metadata"].managedFields[0].apiVersion, "v1")
      assert.match(
        headers["warning"]!,
        /\.metadata\.managedFields was in an invalid state .*; please fix your requests: apiVersion must not be empty/
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a webhook has the time it was given, and not more", () =>
    Effect.gen(function*() {
      hooks({ stuck: () => Effect.never })
      yield* install("Validating", ["stuck", { timeoutSeconds: 7 }])
      const creating = yield* Effect.forkChild(create("x"))
      yield* TestClock.adjust("6999 millis")
      assert.isUndefined(creating.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const { object, status } = yield* Fiber.join(creating)
      assert.strictEqual(status, 500)
      assert.strictEqual(
        object["message"],
        "Internal error occurred: failed calling webhook \"stuck.example.com\": failed to call webhook: " +
          "Post \"https://stuck.ops.svc:443/?timeout=7s\": context deadline exceeded"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("validating webhooks run side by side; the first in order is told, warnings keep their order", () =>
    Effect.gen(function*() {
      const after = (seconds: number, response: Json) => () => Effect.as(Effect.sleep(`${seconds} seconds`), response)
      hooks({
        late: after(5, { allowed: false, warnings: ["late"], status: { message: "late" } }),
        early: after(1, { allowed: false, warnings: ["early"], status: { message: "early" } }),
        fine: after(3, { warnings: ["fine"] })
      })
      yield* install("Validating", ["late"], ["early"], ["fine"])
      const creating = yield* Effect.forkChild(create("x"))
      yield* TestClock.adjust("5 seconds")
      const { headers, object } = yield* Fiber.join(creating)
      assert.strictEqual(object["message"], "admission webhook \"late.example.com\" denied the request: late")
      assert.strictEqual(headers["warning"], "299 - \"late\", 299 - \"early\", 299 - \"fine\"")
    }).pipe(Effect.provide(layer)))

  it.effect("a handler that is taken away is refused; failurePolicy Ignore lets pass, and comes with no mutation", () =>
    Effect.gen(function*() {
      hooks({ gone: () => Effect.succeed(adding("gone")) })
      yield* install("Mutating", ["gone", { failurePolicy: "Ignore" }])
      assert.deepStrictEqual((yield* create("x")).object["data"], { a: "1", gone: "1" })
      answers.clear()
      assert.deepStrictEqual((yield* create("y")).object["data"], { a: "1" })
    }).pipe(Effect.provide(layer)))

  it.effect("a changed configuration is in force at once, a deleted one no more", () =>
    Effect.gen(function*() {
      hooks({ no: () => Effect.succeed({ allowed: false }) })
      assert.strictEqual((yield* create("before")).status, 201)
      yield* install("Validating", ["no"])
      assert.strictEqual((yield* create("x")).status, 400)
      const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validating"
      assert.strictEqual((yield* send("DELETE", path)).status, 200)
      assert.strictEqual((yield* create("x")).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("a webhook may itself write to the server that asks it", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer.ApiServer
      hooks({
        writes: ({ name }) =>
          name === "x"
            ? Effect.as(
              create("written").pipe(Effect.provideService(ApiServer.ApiServer, server)),
              {}
            )
            : Effect.succeed({})
      })
      yield* install("Validating", ["writes"])
      assert.strictEqual((yield* create("x")).status, 201)
      assert.strictEqual((yield* create("written")).status, 409)
    }).pipe(Effect.provide(layer)))
})
