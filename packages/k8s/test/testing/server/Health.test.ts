import { assert, describe, it } from "@effect/vitest"
import * as Health from "../../../src/testing/server/Health.ts"

const ask = (url: string) => {
  const [path = "", query = ""] = url.split("?")
  return Health.answer({ method: "GET", path, query: [...new URLSearchParams(query)], headers: {} })
}

describe("Health", () => {
  it("passes, as a whole and check by check", () => {
    for (const path of Health.paths) assert.deepInclude(ask(path), { status: 200, body: "ok" }, path)
    assert.strictEqual(ask("/healthz")!.headers["x-content-type-options"], "nosniff")
    assert.isUndefined(ask("/healthz/ping")!.headers["x-content-type-options"])
  })

  it("knows nothing else", () => {
    for (const path of ["/healthz/", "/livez/nonsense", "/healthz/informer-sync", "/livez/shutdown", "/other"]) {
      assert.isUndefined(ask(path), path)
    }
    assert.isDefined(ask("/readyz/shutdown"))
    assert.isDefined(ask("/healthz/poststarthook/rbac/bootstrap-roles"))
  })

  it("tells of every check how it went", () => {
    const lines = String(Health.indicators.body).split("\n")
    assert.include(lines, "kubernetes_healthcheck{name=\"etcd\",type=\"livez\"} 1")
    assert.strictEqual(lines.length - 3, Health.paths.length - 3)
  })

  it("lists its checks, those left out, and what it cannot leave out", () => {
    const lines = String(ask("/readyz?verbose&exclude=etcd&exclude=b&exclude=a")!.body).split("\n")
    assert.deepStrictEqual(lines.slice(0, 5), [
      "[+]ping ok",
      "[+]log ok",
      "[+]etcd excluded: ok",
      "[+]etcd-readiness ok",
      "[+]informer-sync ok"
    ])
    assert.deepStrictEqual(lines.slice(-4), [
      "[+]shutdown ok",
      "warn: some health checks cannot be excluded: no matches for \"a\",\"b\"",
      "readyz check passed",
      ""
    ])
    assert.strictEqual(ask("/readyz?exclude=etcd")!.body, "ok")
    assert.notInclude(String(ask("/livez?verbose")!.body), "shutdown")
  })
})
