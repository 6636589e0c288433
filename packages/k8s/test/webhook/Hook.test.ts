import { Cache, CustomResource, KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Context, Effect, Exit, Fiber, JsonPatch, Layer, Metric, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer, TestClient, TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import * as Hook from "../../src/webhook/Hook.ts"
import { Database, hooks, review, service } from "./support.ts"

const installed = (more: ReadonlyArray<Hook.Any> = hooks) =>
  Layer.effectDiscard(Webhook.install(more, { name: "databases", reachable: { service } })).pipe(
    Layer.provideMerge(Webhook.layer(more, { name: "databases", service })),
    Layer.provide(TestWebhooks.layer),
    Layer.provideMerge(TestCluster.layer({ resources: [Database] }))
  )

const send = Effect.fnUntraced(function*(method: "POST" | "PUT" | "DELETE", name: string, body?: object) {
  const server = yield* ApiServer.ApiServer
  const path = `/apis/shop.example.com/v1/namespaces/default/databases${method === "POST" ? "" : `/${name}`}`
  const headers = { "content-type": "application/json", accept: "application/json" }
  const answer = yield* server.handle({ method, path, query: [], headers, ...(body === undefined ? {} : { body }) })
  return { ...answer, body: answer.body as Readonly<Record<string, any>> }
})

const database = (name: string, spec: object, more: object = {}) => ({
  apiVersion: "shop.example.com/v1",
  kind: "Database",
  metadata: { name, ...more },
  spec
})

describe("admission, by the in-memory server", () => {
  it.effect("a mutation is the difference: nothing else of the object changes, and unknown fields stay", () =>
    Effect.gen(function*() {
      const { body, status } = yield* send("POST", "a", database("a", { size: 1 }, { labels: { l: "1" } }))
      assert.strictEqual(status, 201)
      assert.deepStrictEqual(body["spec"], { size: 1, engine: "pg" })
      assert.deepStrictEqual(body["metadata"].annotations, { "example.com/engine": "defaulted" })
      assert.deepStrictEqual(body["metadata"].labels, { l: "1" })
      const other = yield* send("POST", "b", database("b", { size: 1, engine: "my" }))
      assert.isUndefined(other.body["metadata"].annotations)
    }).pipe(Effect.provide(installed())))

  it.effect("faults of fields are told as the server tells its own, all at once; none refuse nothing", () => {
    const checking = Webhook.validating(Database, {
      validate: ({ object }) =>
        Webhook.denyFaults(object, [
          ...(object.spec.size < 1 ? [Webhook.invalid("spec.size", object.spec.size, "must be at least 1")] : []),
          ...(object.spec.engine === undefined ? [Webhook.required("spec.engine", "choose one")] : []),
          ...(object.spec.replicas === 2 ? [Webhook.forbidden("spec.replicas", "must be odd")] : [])
        ])
    })
    return Effect.gen(function*() {
      assert.strictEqual((yield* send("POST", "a", database("a", { size: 1, engine: "pg" }))).status, 201)
      const { body, status } = yield* send("POST", "b", database("b", { size: 0, replicas: 2 }))
      assert.strictEqual(status, 422)
      const causes = [
        { reason: "FieldValueInvalid", message: "Invalid value: 0: must be at least 1", field: "spec.size" },
        { reason: "FieldValueRequired", message: "Required value: choose one", field: "spec.engine" },
        { reason: "FieldValueForbidden", message: "Forbidden: must be odd", field: "spec.replicas" }
      ]
      assert.deepStrictEqual(body["details"].causes, causes)
      const all = causes.map(({ field, message }) => `${field}: ${message}`).join(", ")
      assert.include(body["message"], `Database.shop.example.com "b" is invalid: [${all}]`)
    }).pipe(Effect.provide(installed([checking])))
  })

  it.effect("a denial has its message, reason, code and causes", () =>
    Effect.gen(function*() {
      const refused = yield* send("POST", "forbidden", database("forbidden", { size: 1 }))
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(
        refused.body["message"],
        "admission webhook \"validate.database.shop.example.com\" denied the request: no such name"
      )
      assert.strictEqual(refused.body["reason"], "Forbidden")
      const made = yield* send("POST", "a", database("a", { size: 5 }))
      const shrunk = yield* send("PUT", "a", { ...made.body, spec: { size: 4, engine: "pg" } })
      assert.strictEqual(shrunk.status, 422)
      assert.strictEqual(shrunk.body["reason"], "Invalid")
      assert.deepStrictEqual(shrunk.body["details"], {
        name: "a",
        group: "shop.example.com",
        kind: "Database",
        causes: [{ reason: "FieldValueInvalid", message: "must be 5 at least", field: "spec.size" }]
      })
      const grown = yield* send("PUT", "a", { ...made.body, spec: { size: 11, engine: "pg" } })
      assert.strictEqual(grown.status, 200)
      const kept = yield* send("DELETE", "a")
      assert.include(kept.body["message"], "it is not empty")
    }).pipe(Effect.provide(installed())))

  it.effect("warnings are shown, one line each", () =>
    Effect.gen(function*() {
      const { headers } = yield* send("POST", "a", database("a", { size: 13 }))
      assert.strictEqual(headers["warning"], "299 - \"13 is unlucky\"")
    }).pipe(Effect.provide(installed())))

  it.effect("a hook that fails, dies or hangs gives no verdict: the failure policy decides", () =>
    Effect.gen(function*() {
      const failed = yield* send("POST", "a", database("a", { size: 666 }))
      assert.strictEqual(failed.status, 500)
      assert.include(failed.body["message"], "failed calling webhook \"validate.database.shop.example.com\"")
      const died = yield* send("POST", "a", database("a", { size: 667 }))
      assert.strictEqual(died.status, 500)
      const hanging = yield* Effect.forkChild(send("POST", "a", database("a", { size: 668 })))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(hanging)).status, 500)
      const interrupted = yield* send("POST", "a", database("a", { size: 669 }))
      assert.strictEqual(interrupted.status, 500)
      assert.strictEqual((yield* send("POST", "a", database("a", { size: 1 }))).status, 201)
    }).pipe(Effect.provide(installed())))

  it.effect("with the policy Ignore a broken hook lets pass", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* send("POST", "a", database("a", { size: 1 }))).status, 201)
    }).pipe(
      Effect.provide(
        installed([Webhook.validating(Database, { failurePolicy: "Ignore", validate: () => Effect.die("broken") })])
      )
    ))

  it.effect("what does not decode is denied with the path of every fault, and an old one is absent", () =>
    Effect.gen(function*() {
      const hook = hooks[1]!
      const answer = yield* hook.answer(review(database("a", { size: "x", engine: "no" })))
      const { status } = answer["response"] as Readonly<Record<string, any>>
      assert.strictEqual(status.code, 422)
      assert.deepStrictEqual(status.details.causes.map(({ field }: { field: string }) => field), [
        "spec.size",
        "spec.engine"
      ])
      const mended = yield* hook.answer(review(database("a", { size: 1 }), database("a", { size: "x" })))
      assert.deepStrictEqual(mended["response"], { uid: "u", allowed: true, auditAnnotations: { seen: "jane" } })
    }))

  it.effect("a hook sees who asks, the operation, and whether it is a dry run", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const spy = Webhook.validating(Database, {
        validate: ({ dryRun, name, namespace, old, operation, user }) =>
          Effect.sync(() => {
            seen.push([operation, namespace, name, old?.spec.size, dryRun, user.username])
          })
      })
      yield* Effect.gen(function*() {
        const server = yield* ApiServer.ApiServer
        const jane = { username: "jane", groups: ["system:masters"] }
        const client = Context.get(
          yield* Layer.build(
            Layer.provide(TestClient.layerAs(jane), Layer.succeed(ApiServer.ApiServer, server))
          ),
          KubeClient.KubeClient
        )
        const key = { namespace: "default", name: "a" }
        yield* client.create(Database, { metadata: key, spec: { size: 1 } }, { dryRun: true })
        yield* client.create(Database, { metadata: key, spec: { size: 1 } })
        yield* client.patch(Database, key, KubeClient.Patch.merge({ spec: { size: 2 } }))
        yield* client.patch(Database, key, KubeClient.Patch.merge({ status: { ready: true } }), {
          subresource: "status"
        })
      }).pipe(Effect.provide(installed([spy])))
      assert.deepStrictEqual(seen, [
        ["CREATE", "default", "a", undefined, true, "jane"],
        ["CREATE", "default", "a", undefined, false, "jane"],
        ["UPDATE", "default", "a", 1, false, "jane"]
      ])
    }))

  it.effect("a name that is yet to be generated is empty, and that of one of many deleted objects is known", () => {
    const seen: Array<readonly [string, string | undefined]> = []
    const keeps = [
      Webhook.mutating(Database, {
        mutate: ({ name, object }) =>
          Effect.sync(() => {
            seen.push([name, object.metadata.name])
            return { ...object, metadata: { ...object.metadata, labels: { length: `${object.metadata.name.length}` } } }
          })
      }),
      Webhook.validating(Database, {
        operations: ["DELETE"],
        validate: ({ name }) => name === "kept" ? Webhook.deny("it stays") : Effect.void
      })
    ]
    return Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const { body } = yield* send("POST", "", database("", { size: 1 }, { name: undefined, generateName: "gen-" }))
      assert.deepStrictEqual(seen, [["", ""]])
      assert.match(body["metadata"].name, /^gen-/)
      assert.deepStrictEqual(body["metadata"].labels, { length: "0" })
      yield* send("POST", "", database("kept", { size: 1 }))
      const server = yield* ApiServer.ApiServer
      const path = "/apis/shop.example.com/v1/namespaces/default/databases"
      const all = yield* server.handle({ method: "DELETE", path, query: [], headers: {} })
      assert.include(JSON.stringify(all.body), "it stays")
      const left = (yield* client.listPage(Database)).items.map(({ metadata }) => metadata.name)
      assert.deepStrictEqual(left, ["kept"])
    }).pipe(Effect.provide(installed(keeps)))
  })

  it.effect("requests are counted under controller-runtime's names", () =>
    Effect.gen(function*() {
      const registry: Metric.MetricRegistry = new Map()
      yield* Effect.gen(function*() {
        yield* send("POST", "a", database("a", { size: 1 }))
        yield* send("POST", "b", database("b", { size: 666 }))
      }).pipe(Effect.provide(installed()), Effect.provideService(Metric.MetricRegistry, registry))
      const counts = [...registry.values()].flatMap(({ attributes, id, ...series }: any) =>
        id === "controller_runtime_webhook_requests_total"
          ? [[attributes.webhook, attributes.code, series.hooks.get(Context.empty()).count]]
          : []
      )
      assert.deepInclude(counts, ["/validate-shop-example-com-v1-database", "200", 1])
      assert.deepInclude(counts, ["/validate-shop-example-com-v1-database", "500", 1])
      assert.deepInclude(counts, ["/mutate-shop-example-com-v1-database", "200", 2])
    }))
})

describe("a mutation of a kind with defaults", () => {
  const Cache = CustomResource.make({
    group: "shop.example.com",
    version: "v1",
    kind: "Cache",
    spec: Schema.Struct({ policy: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("lru"))) })
  })
  const mutated = (rebuild: boolean) =>
    Webhook.mutating(Cache, { mutate: ({ object }) => Effect.succeed(rebuild ? { ...object } : object) }).answer({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        uid: "u",
        name: "a",
        operation: "CREATE",
        object: { apiVersion: "shop.example.com/v1", kind: "Cache", metadata: { name: "a" }, spec: { other: 1 } }
      }
    })

  it.effect("the object that came changes nothing, one that was rebuilt carries the defaults", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* mutated(false))["response"], { uid: "u", allowed: true })
      const { patch } = (yield* mutated(true))["response"] as { readonly patch: string }
      assert.deepStrictEqual(JSON.parse(Buffer.from(patch, "base64").toString()), [
        { op: "add", path: "/spec/policy", value: "lru" }
      ])
    }))
})

describe("the difference of two values", () => {
  const seed = 20_261_121
  it.effect(`leads from the one to the other, and is empty where they are equal (seed ${seed})`, () =>
    Effect.gen(function*() {
      const Json = Schema.Record(
        Schema.Literals(["a", "b", "a/b", "~", "c"]),
        Schema.Union([
          Schema.Int,
          Schema.Null,
          Schema.Array(Schema.Int),
          Schema.Record(Schema.Literals(["x", "y"]), Schema.Int)
        ])
      )
      const pairs = yield* Arbitrary.sampleEffect(Arbitrary.schema(Schema.Tuple([Json, Json])), { count: 1000, seed })
      for (const [before, after] of pairs) {
        const patch = Hook.difference(before, after)
        assert.deepStrictEqual(
          JsonPatch.apply(patch as JsonPatch.JsonPatch, before as Schema.Json),
          after as Schema.Json
        )
        assert.deepStrictEqual(Hook.difference(after, after), [])
      }
    }))
})

describe("conversion", () => {
  const hook = Webhook.conversion(Database, {
    convert: (object, desired) =>
      object.metadata.name === "bad"
        ? Effect.fail("it has no size")
        : object.metadata.name === "left"
        ? Effect.interrupt
        : Effect.succeed({
          ...object,
          apiVersion: desired,
          metadata: { ...object.metadata, uid: "mine", annotations: { was: object.apiVersion } }
        })
  })
  const ask = (...objects: ReadonlyArray<object>) =>
    hook.answer({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      request: { uid: "u", desiredAPIVersion: "shop.example.com/v2", objects }
    })

  it.effect("every object comes back in order; the server's metadata stay", () =>
    Effect.gen(function*() {
      const two = { ...database("b", {}, { uid: "2" }), apiVersion: "shop.example.com/v2" }
      const answer = yield* ask(database("a", { size: 1 }, { uid: "1" }), two)
      assert.deepStrictEqual(answer, {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "ConversionReview",
        response: {
          uid: "u",
          result: { status: "Success" },
          convertedObjects: [
            {
              ...database("a", { size: 1 }),
              apiVersion: "shop.example.com/v2",
              metadata: { name: "a", uid: "1", annotations: { was: "shop.example.com/v1" } }
            },
            two
          ]
        }
      })
    }))

  it.effect("one that cannot be converted fails all, and is named", () =>
    Effect.gen(function*() {
      const answer = yield* ask(database("a", {}), database("bad", {}, { namespace: "ns" }))
      assert.deepStrictEqual(answer["response"], {
        uid: "u",
        result: { status: "Failure", message: "Database ns/bad: it has no size" }
      })
      const left = (yield* ask(database("left", {})))["response"] as { readonly result: { readonly message: string } }
      assert.match(left.result.message, /^Database left: .*interrupt/i)
    }))
})

it("mistakes in a declaration are told at once", () => {
  const validate = () => Effect.void
  assert.throws(() => Webhook.validating(Database, { name: "short", validate }), /three parts/)
  assert.throws(() => Webhook.validating(Database, { timeoutSeconds: 31, validate }), /1 to 30/)
  assert.throws(() => Webhook.validating(Database, { path: "x", validate }), /slash/)
})

it.effect("a hook judges by what a cache has, which the program gives it", () => {
  const options = { name: "databases", service }
  const few = [Webhook.validating(Database, {
    validate: Effect.fnUntraced(function*() {
      if ((yield* Cache.list(Database)).length >= 2) return yield* Webhook.deny("two databases are enough")
    })
  })] as const
  const server = Webhook.layer(few, options).pipe(
    Layer.provide(Cache.layer([Database])),
    Layer.provide(TestWebhooks.layer)
  )
  return Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Webhook.install(few, { ...options, reachable: { service } })
    for (const name of ["a", "b"]) {
      yield* client.create(Database, { metadata: { namespace: "default", name }, spec: { size: 1 } })
      yield* TestClock.adjust("1 second")
    }
    const refused = yield* Effect.flip(
      client.create(Database, { metadata: { namespace: "default", name: "c" }, spec: { size: 1 } })
    )
    assert.include(refused.message, "two databases are enough")
    yield* client.delete(Database, { namespace: "default", name: "a" })
    yield* TestClock.adjust("1 second")
    yield* client.create(Database, { metadata: { namespace: "default", name: "c" }, spec: { size: 1 } })
  }).pipe(Effect.provide(Layer.provideMerge(server, TestCluster.layer({ resources: [Database] }))))
})

it.effect("of two replicas behind a Service one is called for as long as there is one", () => {
  const options = { name: "databases", service } as const
  const told: Array<string> = []
  const replica = (name: string) => [
    Webhook.validating(Database, {
      validate: () =>
        Effect.sync(() => {
          told.push(name)
        })
    })
  ]
  return Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Webhook.install(replica("any"), { ...options, reachable: { service } })
    const create = (name: string) =>
      client.create(Database, { metadata: { namespace: "default", name }, spec: { size: 1 } })
    const start = Effect.fnUntraced(function*(name: string) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Layer.buildWithScope(Layer.fresh(Webhook.layer(replica(name), options)), scope)
      return { stop: Scope.close(scope, Exit.void) }
    })
    const one = yield* start("one")
    const two = yield* start("two")
    yield* create("a")
    yield* two.stop
    yield* create("b")
    const three = yield* start("three")
    yield* one.stop
    yield* create("c")
    yield* three.stop
    assert.strictEqual((yield* Effect.flip(create("d"))).reason._tag, "ServerError")
    assert.deepStrictEqual(told, ["two", "one", "three"])
  }).pipe(Effect.provide(Layer.provideMerge(TestWebhooks.layer, TestCluster.layer({ resources: [Database] }))))
})
