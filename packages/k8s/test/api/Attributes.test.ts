import type { Method, Request } from "@effect-operator/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import * as Attributes from "../../src/api/Attributes.ts"
import { route } from "../../src/api/Routing.ts"

const of = (line: string) => {
  const [method, url = ""] = line.split(" ") as [Method, string]
  const [path = "", query = ""] = url.split("?")
  const request: Request = { method, path, query: [...new URLSearchParams(query)], headers: {} }
  return Attributes.fromRequest(request, route(request))
}

/** `verb group/version resource/subresource namespace/name`, with dashes for what is empty. */
const text = (line: string): string => {
  const attributes = of(line)
  if (attributes._tag === "Path") return `${attributes.verb} ${attributes.path}`
  const { group, name, namespace, verb, version } = attributes
  const or = (value: string) => value || "-"
  return `${verb} ${or(group)}/${version} ${Attributes.combined(attributes)} ${or(namespace)}/${or(name)}`
}

describe("Attributes", () => {
  it("reads what a request is about", () => {
    const cases: Readonly<Record<string, string>> = {
      "GET /api/v1/pods": "list -/v1 pods -/-",
      "GET /api/v1/pods?watch=true": "watch -/v1 pods -/-",
      "GET /api/v1/watch/namespaces/n/pods/a": "watch -/v1 pods n/a",
      "GET /api/v1/namespaces/n/pods/a/log": "get -/v1 pods/log n/a",
      "POST /apis/apps/v1/namespaces/n/deployments": "create apps/v1 deployments n/-",
      "PUT /apis/apps/v1/namespaces/n/deployments/d/scale": "update apps/v1 deployments/scale n/d",
      "DELETE /apis/apps/v1/namespaces/n/deployments": "deletecollection apps/v1 deployments n/-",
      "DELETE /api/v1/nodes/n": "delete -/v1 nodes -/n",
      "GET /api/v1/namespaces": "list -/v1 namespaces -/-",
      "GET /api/v1/namespaces/n": "get -/v1 namespaces n/n",
      "PUT /api/v1/namespaces/n/finalize": "update -/v1 namespaces/finalize n/n",
      "GET /api/v1/namespaces/n/services/s/proxy/deep/path": "get -/v1 services/proxy n/s",
      "GET /version": "get /version",
      "PATCH /nothing/at/all": "patch /nothing/at/all",
      "GET /apis/apps": "get /apis/apps",
      "GET /apis/apps/v1": "get /apis/apps/v1",
      "GET /": "get /",
      "GET /a%20b": "get /a b"
    }
    for (const [line, expected] of Object.entries(cases)) {
      assert.strictEqual(text(line), expected, line)
    }
  })

  it("takes the name from a field selector that asks for one, where there is none in the path", () => {
    const list = "GET /api/v1/namespaces/n/pods"
    assert.strictEqual(text(`${list}?fieldSelector=metadata.name%3Da`), "list -/v1 pods n/a")
    assert.strictEqual(text(`${list}?fieldSelector=status.phase%3DX,metadata.name%3D%3Da`), "list -/v1 pods n/a")
    assert.strictEqual(text(`${list}?watch=1&fieldSelector=metadata.name%3Da`), "watch -/v1 pods n/a")
    assert.strictEqual(text(`${list}?fieldSelector=metadata.name%21%3Da`), "list -/v1 pods n/-")
    assert.strictEqual(text(`${list}?fieldSelector=metadata.name%3Da/b`), "list -/v1 pods n/-")
    const remove = "DELETE /api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Da"
    assert.strictEqual(text(remove), "deletecollection -/v1 pods n/-")
  })

  it("refuses without a word that could be HTML, with the reason where there is one", () => {
    const user = { username: "<b>\"&", groups: [] }
    const { body, headers, status } = Attributes.forbidden(user, of("GET /api/v1/pods"), "why")
    assert.strictEqual(status, 403)
    assert.strictEqual(
      body.message,
      "pods is forbidden: User \"&lt;b&gt;\\\"&amp;\" cannot list resource \"pods\" in API group \"\" at the cluster scope: why"
    )
    assert.strictEqual(headers!["x-content-type-options"], "nosniff")
    assert.deepStrictEqual(Attributes.forbidden(user, of("GET /x"), "").body.details, {})
  })
})
