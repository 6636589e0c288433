import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../../src/testing/HttpFacade.ts"

const facade = Layer.provideMerge(HttpFacade.layer({ http: true }), ApiServer.layer)

const configMaps = "/api/v1/namespaces/default/configmaps"

/** Opens a WebSocket as some clients watch; collects its messages until it is closed. */
const open = Effect.fnUntraced(function*(path: string) {
  const { token, url } = yield* HttpFacade.HttpFacade
  const messages: Array<any> = []
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: { authorization: `Bearer ${token}` } } as never)
    ),
    (socket) => Effect.sync(() => socket.close())
  )
  socket.addEventListener("message", ({ data }) => messages.push(JSON.parse(String(data))))
  const opened = new Promise<boolean>((resolve) => {
    socket.addEventListener("open", () => resolve(true))
    socket.addEventListener("error", () => resolve(false))
  })
  const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)))
  return { socket, messages, opened: yield* Effect.promise(() => opened), closed: Effect.promise(() => closed) }
})

const create = (name: string) =>
  Effect.flatMap(ApiServer, ({ handle }) =>
    handle({
      method: "POST",
      path: configMaps,
      query: [],
      headers: { "content-type": "application/json" },
      body: { metadata: { name } }
    }))

const eventually = (look: Effect.Effect<boolean>) =>
  Effect.repeat(Effect.andThen(Effect.sleep("10 millis"), look), { until: (yes) => yes })

describe("a watch over a WebSocket", () => {
  it.live("is a message per event", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      yield* create("a")
      const watch = yield* open(`${configMaps}?watch=true`)
      assert.isTrue(watch.opened)
      yield* create("b")
      yield* eventually(Effect.sync(() => watch.messages.length === 2))
      assert.deepStrictEqual(
        watch.messages.map(({ object, type }) => [type, object.metadata.name]),
        [["ADDED", "a"], ["ADDED", "b"]]
      )
      watch.socket.close()
      yield* eventually(Effect.map(server.watchers, (open) => open === 0))
    }).pipe(Effect.scoped, Effect.provide(facade)))

  it.live("ends with the watch", () =>
    Effect.gen(function*() {
      const { endWatches } = yield* ApiServer
      const watch = yield* open(`${configMaps}?watch=1`)
      const closed = yield* Effect.forkChild(watch.closed)
      yield* endWatches("configmaps")
      assert.strictEqual(yield* Fiber.join(closed), 1000)
      const timed = yield* open(`${configMaps}?watch=1&timeoutSeconds=1`)
      assert.strictEqual(yield* timed.closed, 1000)
    }).pipe(Effect.scoped, Effect.provide(facade)))

  it.live("is refused as any request is, and is for watches only", () =>
    Effect.gen(function*() {
      assert.isFalse((yield* open("/api/v1/namespaces/default/nothings?watch=1")).opened)
      assert.isFalse((yield* open(configMaps)).opened)
    }).pipe(Effect.scoped, Effect.provide(facade)))
})
