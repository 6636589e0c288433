import { assert, describe, it } from "@effect/vitest"
import * as FrontProxy from "../../src/apiservice/FrontProxy.ts"

const data = {
  "requestheader-allowed-names": `["front-proxy-client"]`,
  "requestheader-client-ca-file": "PEM",
  "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
  "requestheader-group-headers": `["X-Remote-Group"]`,
  "requestheader-username-headers": `["X-Remote-User","X-Other"]`
}
const trust = FrontProxy.read({ data })!
const headers = FrontProxy.headersOf([
  "X-Remote-User",
  "jane",
  "X-Remote-Group",
  "a",
  "X-Remote-Group",
  "b, c",
  "X-Remote-Extra-Example.org%2Fscopes",
  "one",
  "x-remote-extra-example.org%2fscopes",
  "two",
  "Accept",
  "*/*"
])

describe("FrontProxy", () => {
  it("reads whom to trust, and trusts nobody where an authority or a header is missing", () => {
    assert.deepInclude(trust, { clientAuthorityPem: "PEM", allowedNames: ["front-proxy-client"], uid: [] })
    for (const missing of ["requestheader-client-ca-file", "requestheader-username-headers"]) {
      assert.isUndefined(FrontProxy.read({ data: { ...data, [missing]: "" } }), missing)
    }
    assert.isUndefined(FrontProxy.read({}))
    assert.isUndefined(FrontProxy.read({ data: { ...data, "requestheader-username-headers": "no JSON" } }))
  })

  it("takes the user from the headers, with every group and what else is known", () => {
    assert.deepStrictEqual(FrontProxy.identify(trust, "front-proxy-client", headers), {
      username: "jane",
      groups: ["a", "b, c", "system:authenticated"],
      extra: { "example.org/scopes": ["one", "two"] }
    })
    const other = FrontProxy.identify(trust, "front-proxy-client", { "x-other": ["joe"] })
    assert.deepStrictEqual(other, { username: "joe", groups: ["system:authenticated"] })
  })

  it("is not confused by headers with the names of what every object inherits", () => {
    const strange = ["constructor", "__proto__"].flatMap((name) => [name, "x"])
    const headers = FrontProxy.headersOf([...strange, "X-Remote-User", "jane"])
    assert.strictEqual(FrontProxy.identify(trust, "front-proxy-client", headers)?.username, "jane")
  })

  it("believes nobody else: no certificate, another name, no user", () => {
    assert.isUndefined(FrontProxy.identify(trust, undefined, headers))
    assert.isUndefined(FrontProxy.identify(trust, "somebody", headers))
    assert.isUndefined(FrontProxy.identify(trust, "front-proxy-client", { "x-remote-group": ["system:masters"] }))
    const any = FrontProxy.read({ data: { ...data, "requestheader-allowed-names": "[]" } })!
    assert.strictEqual(FrontProxy.identify(any, "somebody", headers)?.username, "jane")
  })
})
