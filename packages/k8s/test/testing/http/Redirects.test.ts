import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Backends from "../../../src/testing/Backends.ts"
import * as Redirects from "../../../src/testing/http/Redirects.ts"

const directory: Backends.Directory = { service: () => undefined, endpoints: () => undefined }

/** What answers everywhere as a table says, by path, and tells what came to it. */
const backend = (answers: Readonly<Record<string, { readonly status: number; readonly location?: string }>>) => {
  const asked: Array<string> = []
  const handler: Backends.Handler = ({ body, method, path, query }) =>
    Effect.sync(() => {
      asked.push([method, path, ...query.map((pair) => pair.join("=")), JSON.stringify(body) ?? "-"].join(" "))
      const { location, status } = answers[path] ?? { status: 200 }
      return { status, headers: location === undefined ? {} : { location }, body: {} }
    })
  const backends = Backends.handlers({ "ns/hook": handler, "https://h/": handler, "https://other:8443/": handler })
  const calls: Backends.Calls = {
    call: (call) => backends.call(call, directory),
    stream: (call) => backends.stream(call, directory)
  }
  return { asked, calls }
}

const post = (target: Backends.Target): Backends.Call => ({
  target,
  method: "POST",
  query: [["timeout", "10s"]],
  headers: { "content-type": "application/json" },
  body: { a: 1 }
})

const hook = { service: { namespace: "ns", name: "hook", path: "/validate" } }

describe("Redirects", () => {
  it.effect("307 and 308 have the request made again, slash and all, of a Service as of a URL", () =>
    Effect.gen(function*() {
      const { asked, calls } = backend({
        "/validate": { status: 307, location: "/validate/?timeout=10s" },
        "/validate/": { status: 308, location: "https://other:8443/x//y" }
      })
      for (const target of [hook, { url: "https://h/validate" }]) {
        const reply = yield* Redirects.call(calls, post(target))
        assert.strictEqual(reply.status, 200)
        assert.deepStrictEqual(asked.splice(0), [
          "POST /validate timeout=10s {\"a\":1}",
          "POST /validate/ timeout=10s {\"a\":1}",
          "POST /x//y {\"a\":1}"
        ])
      }
    }))

  it.effect("301, 302 and 303 have it become a GET without a body", () =>
    Effect.gen(function*() {
      for (const status of [301, 302, 303]) {
        const { asked, calls } = backend({ "/validate": { status, location: "there" } })
        yield* Redirects.call(calls, post(hook))
        assert.deepStrictEqual(asked, ["POST /validate timeout=10s {\"a\":1}", "GET /there -"])
      }
    }))

  it.effect("a reply that does not say where to go is the answer", () =>
    Effect.gen(function*() {
      for (const status of [300, 304, 307]) {
        const { asked, calls } = backend({ "/validate": { status } })
        assert.strictEqual((yield* Redirects.call(calls, post(hook))).status, status)
        assert.lengthOf(asked, 1)
      }
    }))

  it.effect("the eleventh is not followed, and failures name where they happened and what was asked first", () =>
    Effect.gen(function*() {
      const round = backend({ "/validate": { status: 303, location: "/validate" } })
      const endless = yield* Effect.flip(Redirects.call(round.calls, post(hook)))
      assert.strictEqual(endless.message, "Post \"https://hook.ns.svc:443/validate\": stopped after 10 redirects")
      assert.lengthOf(round.asked, 11)
      const away = backend({ "/validate": { status: 303, location: "https://nowhere:1/" } })
      assert.strictEqual(
        (yield* Effect.flip(Redirects.call(away.calls, post(hook)))).message,
        "Post \"https://nowhere:1/\": dial tcp nowhere:1: connect: connection refused"
      )
    }))
})
