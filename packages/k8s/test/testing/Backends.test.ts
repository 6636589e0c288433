import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Backends from "../../src/testing/Backends.ts"

const object = (kind: string, name: string, spec: object) =>
  ({ apiVersion: "v1", kind, metadata: { name, namespace: "ns", uid: "", resourceVersion: "" }, spec }) as never

const directory: Backends.Directory = {
  service: (_, name) =>
    name === "svc"
      ? object("Service", "svc", { clusterIP: "10.0.0.7", ports: [{ port: 443 }] })
      : name === "far"
      ? object("Service", "far", { type: "ExternalName", externalName: "far.example.com" })
      : undefined,
  endpoints: () => undefined
}

const call = (target: Backends.Target, fields: Partial<Backends.Call> = {}): Backends.Call => ({
  target,
  method: "POST",
  headers: {},
  ...fields
})

const service = (name: string, fields: object = {}) => ({ service: { namespace: "ns", name, ...fields } })

describe("Backends", () => {
  it.effect("nobody listens by default, and every kind of target says so as Go does", () =>
    Effect.gen(function*() {
      const refused = (target: Backends.Target, fields?: Partial<Backends.Call>) =>
        Effect.map(Effect.flip(Backends.none.call(call(target, fields), directory)), ({ message }) => message)
      assert.strictEqual(
        yield* refused(service("svc", { path: "/validate" }), { query: [["timeout", "10s"]] }),
        "Post \"https://svc.ns.svc:443/validate?timeout=10s\": dial tcp 10.0.0.7:443: connect: connection refused"
      )
      assert.strictEqual(
        yield* refused(service("none", { port: 8443 })),
        "Post \"https://none.ns.svc:8443/\": service \"none\" not found"
      )
      assert.strictEqual(
        yield* refused(service("far"), { method: "GET" }),
        "Get \"https://far.ns.svc:443/\": dial tcp far.example.com:443: connect: connection refused"
      )
      assert.strictEqual(
        yield* refused({ url: "https://127.0.0.1:9443/x" }),
        "Post \"https://127.0.0.1:9443/x\": dial tcp 127.0.0.1:9443: connect: connection refused"
      )
    }))

  it("paths follow the target's own", () => {
    const path = (own: string, path?: string) => Backends.pathOf(call(service("svc", { path: own }), { path }))
    assert.strictEqual(path(""), "/")
    assert.strictEqual(path("/a"), "/a")
    assert.strictEqual(path("/a/"), "/a")
    assert.strictEqual(path("//a///b/"), "/a/b")
    assert.strictEqual(path("", "/apis/g/v1"), "/apis/g/v1")
    assert.strictEqual(path("/a/", "/b/"), "/a/b/")
    assert.strictEqual(
      Backends.pathOf(call({ url: "https://h//x/" }, { query: [["a", "b c"], ["a", "&"]] })),
      "/x?a=b%20c&a=%26"
    )
  })

  it.effect("handlers answer by Service, port and the longest beginning of a URL", () =>
    Effect.gen(function*() {
      const names = ["ns/svc", "ns/svc:8443", "https://h/", "https://h/long"]
      const backends = Backends.handlers(
        Object.fromEntries(names.map((name) => [name, Backends.answering((body, { path }) => [name, path, body])]))
      )
      const ask = (target: Backends.Target) =>
        Effect.map(backends.call(call(target, { body: 1 }), directory), ({ body }) => Backends.json(body))
      assert.deepStrictEqual(yield* ask(service("svc", { path: "/p" })), Result.succeed(["ns/svc", "/p", 1]))
      assert.deepStrictEqual(yield* ask(service("svc", { port: 8443 })), Result.succeed(["ns/svc:8443", "/", 1]))
      assert.deepStrictEqual(yield* ask({ url: "https://h/short" }), Result.succeed(["https://h/", "/short", 1]))
      assert.deepStrictEqual(yield* ask({ url: "https://h/longer" }), Result.succeed(["https://h/long", "/longer", 1]))
      const unknown = yield* Effect.exit(ask(service("far")))
      assert.isTrue(Exit.isFailure(unknown), "what is not named goes to `otherwise`")
    }))

  it.effect("the owner of a map adds handlers and takes them away", () =>
    Effect.gen(function*() {
      const map = new Map<string, Backends.Handler>()
      const backends = Backends.handlers(map)
      const reaches = Effect.map(Effect.exit(backends.call(call(service("svc")), directory)), Exit.isSuccess)
      assert.isFalse(yield* reaches)
      map.set("ns/svc", Backends.answering(() => ({})))
      assert.isTrue(yield* reaches)
      map.delete("ns/svc")
      assert.isFalse(yield* reaches)
    }))

  it.effect("a time-out is the Clock's", () =>
    Effect.gen(function*() {
      const backends = Backends.handlers({ "ns/svc": () => Effect.never })
      const asking = yield* Effect.forkChild(
        Effect.flip(backends.call(call(service("svc"), { timeout: "10 seconds" }), directory))
      )
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(
        (yield* Fiber.join(asking)).message,
        "Post \"https://svc.ns.svc:443/\": context deadline exceeded"
      )
    }))

  it.effect("a handler's events are a stream of values; its text is bytes", () =>
    Effect.gen(function*() {
      const backends = Backends.handlers({
        "ns/svc": ({ path }) =>
          Effect.succeed(
            path === "/watch"
              ? { status: 200, events: Stream.make({ type: "ADDED" }, { type: "DELETED" }) }
              : { status: 500, body: "no" }
          )
      })
      const watch = yield* backends.stream(call(service("svc"), { path: "/watch" }), directory)
      assert.strictEqual(watch.body._tag, "Values")
      if (watch.body._tag !== "Values") return
      assert.deepStrictEqual(yield* Stream.runCollect(watch.body.values), [{ type: "ADDED" }, { type: "DELETED" }])
      const { body, status } = yield* backends.call(call(service("svc")), directory)
      assert.strictEqual(status, 500)
      assert.deepStrictEqual(Backends.json(body), Result.fail("no"))
    }))

  it("a caBundle is PEM, in base64 or not", () => {
    const pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
    assert.strictEqual(Backends.bundlePem(pem), pem)
    assert.strictEqual(Backends.bundlePem(Buffer.from(pem).toString("base64")), pem)
    assert.isUndefined(Backends.bundleFault(Buffer.from(pem).toString("base64")))
    assert.isUndefined(Backends.bundleFault(""), "the system's authorities")
    assert.strictEqual(
      Backends.bundleFault("aGVsbG8="),
      "unable to load root certificates: unable to parse bytes as PEM block"
    )
  })
})
