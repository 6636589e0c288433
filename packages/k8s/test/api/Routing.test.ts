import type { Request } from "@effect-operator/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { type ResourceRoute, route } from "../../src/api/Routing.ts"

const read = (method: Request["method"], path: string, query: Request["query"] = []) => {
  const found = route({ method, path, query, headers: {} })
  if (found._tag === "Path") return found.segments.join("/")
  const { group, name, namespace, plural, subresource, verb, version } = found
  return [verb, group, version, namespace, plural, name, subresource].join("|")
}

describe("Routing", () => {
  it.each<[Request["method"], string, string]>([
    ["GET", "/api/v1/pods", "list||v1||pods||"],
    ["GET", "/api/v1/namespaces/a/pods", "list||v1|a|pods||"],
    ["GET", "/api/v1/namespaces/a/pods/b", "get||v1|a|pods|b|"],
    ["PUT", "/api/v1/namespaces/a/pods/b/status", "update||v1|a|pods|b|status"],
    ["GET", "/api/v1/namespaces/a/pods/b/proxy/x/y", "get||v1|a|pods|b|proxy/x/y"],
    ["POST", "/apis/apps/v1/namespaces/a/deployments", "create|apps|v1|a|deployments||"],
    ["DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection|apps|v1|a|deployments||"],
    ["DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete|apps|v1|a|deployments|d|"],
    ["GET", "/api/v1/namespaces", "list||v1||namespaces||"],
    ["GET", "/api/v1/namespaces/a", "get||v1||namespaces|a|"],
    ["PUT", "/api/v1/namespaces/a/finalize", "update||v1||namespaces|a|finalize"],
    ["GET", "/api/v1/namespaces/a/status", "get||v1||namespaces|a|status"],
    ["GET", "/api/v1/watch/namespaces/a/pods/b", "watch||v1|a|pods|b|"],
    ["GET", "/api/v1/watch/pods", "watch||v1||pods||"],
    ["POST", "/api/v1/watch/namespaces/a/pods", "watch||v1|a|pods||"],
    ["PUT", "/api/v1/watch/namespaces/a/pods/b", "watch||v1|a|pods|b|"],
    ["PATCH", "/apis/apps/v1/watch/namespaces/a/deployments/d", "watch|apps|v1|a|deployments|d|"],
    ["DELETE", "/api/v1/watch/namespaces/a/pods", "watch||v1|a|pods||"],
    ["GET", "/api/v1/namespaces/a/configmaps/x%2Fy", "get||v1|a|configmaps|x|y"],
    ["GET", "/api/v1/namespaces/a/configmaps/%61/", "get||v1|a|configmaps|a|"],
    ["GET", "/api/v1/namespaces/a//configmaps", "get||v1|a||configmaps|"],
    ["GET", "/api//v1/pods", "get||||v1|pods|"],
    ["GET", "//api/v1/pods", "/api/v1/pods"],
    ["GET", "/apis/", "apis"],
    ["GET", "/apis//", "apis/"],
    ["GET", "/api/v1/namespaces/a/configmaps/b//", "get||v1|a|configmaps|b|"],
    ["GET", "/api/v1/watch", "api/v1/watch"],
    ["HEAD", "/api/v1/pods", "list||v1||pods||"],
    ["OPTIONS", "/api/v1/pods", "||v1||pods||"],
    ["GET", "/api/v1", "api/v1"],
    ["GET", "/apis/apps/v1", "apis/apps/v1"],
    ["GET", "/healthz", "healthz"]
  ])("%s %s", (method, path, expected) => assert.strictEqual(read(method, path), expected))

  it("watches a collection on request, a named object only by the old prefix", () => {
    const watch: Request["query"] = [["watch", "true"]]
    assert.strictEqual(read("GET", "/api/v1/pods", watch), "watch||v1||pods||")
    assert.strictEqual(read("GET", "/api/v1/namespaces/a/pods/b", watch), "get||v1|a|pods|b|")
    for (const no of ["false", "False", "0"]) {
      assert.strictEqual(read("GET", "/api/v1/pods", [["watch", no]]), "list||v1||pods||")
    }
    for (const yes of ["", "maybe", "t"]) {
      assert.strictEqual(read("GET", "/api/v1/pods", [["watch", yes]]), "watch||v1||pods||")
    }
    assert.strictEqual(
      (route({ method: "GET", path: "/api/v1/pods", query: [["watch", "1"]], headers: {} }) as ResourceRoute).verb,
      "watch"
    )
  })
})
