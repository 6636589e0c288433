import { assert, describe, it } from "@effect/vitest"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpRequest from "../../src/api/HttpRequest.ts"

const queryOf = (url: string) =>
  HttpRequest.requestOf({ url, method: "GET", headers: {} } as HttpServerRequest.HttpServerRequest).query

describe("HttpRequest", () => {
  it("leaves out parameters that Go cannot read", () => {
    assert.deepStrictEqual(queryOf("/api?a=%zz&b=1;c=2&d=%20+x&=e&f&%6=g&h%3D=i"), [
      ["d", "  x"],
      ["", "e"],
      ["f", ""],
      ["h=", "i"]
    ])
    assert.deepStrictEqual(queryOf("/api"), [])
  })

  it("reads the bytes of headers as UTF-8", () => {
    const headers = { accept: "a/b", "impersonate-user": Buffer.from("ü€").toString("latin1") }
    const request = HttpRequest.requestOf(
      { url: "/", method: "GET", headers } as unknown as HttpServerRequest.HttpServerRequest
    )
    assert.deepStrictEqual(request.headers, { accept: "a/b", "impersonate-user": "ü€" })
  })
})
