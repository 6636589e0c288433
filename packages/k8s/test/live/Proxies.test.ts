import { assert, describe, it } from "@effect/vitest"
import * as Proxies from "../../src/live/Proxies.ts"

describe("Proxies", () => {
  const environment = { HTTPS_PROXY: "http://secure:3128", http_proxy: "plain:3128" }

  it("go by the scheme of the server, in upper or lower case", () => {
    const proxy = (url: string, env: Proxies.Environment = environment) => Proxies.fromEnvironment(env, new URL(url))
    assert.strictEqual(proxy("https://k8s.example"), "http://secure:3128")
    assert.strictEqual(proxy("http://k8s.example"), "http://plain:3128")
    assert.strictEqual(proxy("https://k8s.example", { HTTPS_PROXY: "", https_proxy: "socks5://s:1" }), "socks5://s:1")
    assert.isUndefined(proxy("https://k8s.example", { HTTP_PROXY: "http://plain:3128" }))
    assert.isUndefined(proxy("https://k8s.example", { ...environment, NO_PROXY: "example" }))
    assert.isUndefined(proxy("https://k8s.example", { ...environment, no_proxy: "example" }))
  })

  it("spare what NO_PROXY names", () => {
    const table: ReadonlyArray<readonly [exceptions: string, url: string, needed: boolean]> = [
      ["", "https://k8s.example:6443", true],
      ["", "https://localhost:6443", false],
      ["", "https://127.0.0.1:6443", false],
      ["", "https://127.8.8.8", false],
      ["", "https://[::1]:6443", false],
      ["*", "https://k8s.example", false],
      ["other, *", "https://k8s.example", false],
      ["example", "https://k8s.example", false],
      ["example", "https://example", false],
      [".example", "https://k8s.example", false],
      [".example", "https://example", true],
      ["*.example", "https://k8s.example", false],
      ["*.example", "https://example", true],
      ["EXAMPLE", "https://k8s.example", false],
      ["ample", "https://k8s.example", true],
      ["k8s.example:6443", "https://k8s.example:6443", false],
      ["k8s.example:6443", "https://k8s.example:443", true],
      ["k8s.example:443", "https://k8s.example", false],
      ["10.0.0.0/8", "https://10.1.2.3", false],
      ["10.0.0.0/8", "https://11.1.2.3", true],
      ["10.0.0.0/8", "https://k8s.example", true],
      ["10.0.0.0/33", "https://10.0.0.0", true],
      ["10.1.2.3", "https://10.1.2.3:6443", false],
      ["10.1.2.3:6443", "https://10.1.2.3", true],
      ["1.2.3", "https://0.1.2.3", true],
      ["fd00::/8", "https://[fd00::1]", false],
      ["[fd00::1]:6443", "https://[fd00::1]:6443", false],
      ["[fd00::1]:6443", "https://[fd00::1]", true],
      ["fd00:0::1", "https://[fd00::1]", false],
      [" , ,:80", "https://k8s.example", true]
    ]
    for (const [exceptions, url, needed] of table) {
      assert.strictEqual(Proxies.needsProxy(exceptions, new URL(url)), needed, `${exceptions} for ${url}`)
    }
  })
})
