import { assert, describe, it } from "@effect/vitest"
import type { Call } from "../../../../src/testing/simulation/recording/Recording.ts"
import { defaults, Pace } from "../../../../src/testing/simulation/running/Pace.ts"

const pods = "/api/v1/namespaces/default/pods"

const call = (method: string, path: string, name?: string, changes = 0) =>
  ({
    _tag: "Call",
    before: 1,
    after: 1 + changes,
    request: { method, path, query: [], headers: {} },
    status: method === "POST" ? 201 : 200,
    ...(name === undefined ? {} : { object: { metadata: { name } } })
  }) as unknown as Call

/** Counts what is asked, and tells after how many requests it was too much. */
const paced = () => {
  const pace = new Pace()
  const entries: Array<Call> = []
  return (at: number, ...one: Parameters<typeof call>) => {
    entries.push(call(...one))
    return pace.hot(at, entries.at(-1)!, entries)
  }
}

describe("Pace", () => {
  it("minds what comes at one moment, and tells what most of that was about", () => {
    const ask = paced()
    const bound = defaults.hot + defaults.each
    for (let n = 0; n < bound; n++) assert.isUndefined(ask(1, "GET", `${pods}/early`))
    for (let n = 0; n < bound + defaults.each; n++) {
      assert.isUndefined(ask(2, "GET", `${pods}/${n < 100 ? "some" : "most"}`))
    }
    assert.strictEqual(
      ask(2, "GET", `${pods}/most`),
      `259 requests while the clock stood still: 159 of the last 250 are GET ${pods}/most`
    )
    assert.isUndefined(ask(3, "GET", `${pods}/most`))
  })

  it("lets a thousand objects be made, looked at, told of and counted, and as many deleted", () => {
    const ask = paced()
    for (let n = 0; n < 1_000; n++) {
      assert.isUndefined(ask(1, "GET", `${pods}/web-${n}`))
      assert.isUndefined(ask(1, "POST", pods, `web-${n}`))
      assert.isUndefined(ask(1, "PATCH", "/apis/test.io/v1/namespaces/default/webs/web/status"))
    }
    for (let n = 0; n < 1_000; n++) assert.isUndefined(ask(2, "DELETE", `${pods}/web-${n}`))
  })

  it("tells sooner of one object that is changed again and again, not of a status that counts what is made", () => {
    const ask = paced()
    const patch = (path: string) => ask(1, "PATCH", path, undefined, 1)
    for (let n = 0; n < defaults.again + defaults.each; n++) assert.isUndefined(patch("/apis/apps/v1/deployments/web"))
    assert.match(patch("/apis/apps/v1/deployments/web") ?? "", /^105 requests while the clock stood still/)
    const count = paced()
    for (let n = 0; n < 1_000; n++) {
      assert.isUndefined(count(1, "POST", pods, `web-${n}`))
      assert.isUndefined(count(1, "PATCH", "/apis/test.io/v1/namespaces/default/webs/web/status", undefined, 1))
    }
  })

  it("tells of one object that is made again and again, however long that takes", () => {
    const pace = new Pace()
    pace.wait()
    for (let n = 0; n < 2 * defaults.created; n++) {
      pace.hot(n, call("POST", pods, `web-${n}`), [])
      if (n < defaults.created) pace.hot(n, call("POST", pods, "web"), [])
    }
    assert.isFalse(pace.endless)
    pace.hot(1_000, call("POST", pods, "web"), [])
    assert.isTrue(pace.endless)
    pace.wait()
    assert.isFalse(pace.endless)
  })

  it("tells of what is made without end", () => {
    const ask = paced()
    for (let n = 0; n < defaults.objects; n++) assert.isUndefined(ask(1, "POST", pods, `web-${n}`))
    assert.strictEqual(
      ask(1, "POST", pods, "one-more"),
      `1501 objects at one moment, and more are being created: 250 of the last 250 are POST ${pods}`
    )
  })

  it("tells of what is made and deleted, again and again under other names, as of any other loop", () => {
    const ask = paced()
    for (let n = 0; n < defaults.hot / 2; n++) {
      assert.isUndefined(ask(1, "POST", pods, `web-${n}`))
      assert.isUndefined(ask(1, "DELETE", `${pods}/web-${n}`))
    }
    assert.isUndefined(ask(1, "POST", pods, "next"))
    assert.match(ask(1, "DELETE", `${pods}/next`) ?? "", /^252 requests while the clock stood still/)
  })
})
