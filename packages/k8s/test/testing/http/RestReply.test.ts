import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type * as Backends from "../../../src/testing/Backends.ts"
import * as RestReply from "../../../src/testing/http/RestReply.ts"

const wanted: RestReply.Wanted = {
  group: "apiextensions.k8s.io",
  version: "v1",
  others: ["v1beta1"],
  kind: "ConversionReview",
  fields: [
    { path: "response", is: "object", struct: "ConversionReview", type: "v1.ConversionResponse" },
    { path: "response.uid", is: "string", struct: "ConversionResponse", type: "types.UID" }
  ]
}

const json = { "content-type": "application/json" }
const text = { "content-type": "text/plain" }

const reply = (status: number, body: unknown, headers: Record<string, string> = json): Backends.Reply => ({
  status,
  headers,
  body: typeof body === "string"
    ? { _tag: "Bytes", bytes: new TextEncoder().encode(body) }
    : { _tag: "Json", value: body }
})

const said = (of: Backends.Reply): string => {
  const read = RestReply.read(of, wanted)
  return Result.isFailure(read) ? read.failure : "read"
}

describe("RestReply", () => {
  it("gives the object of the wanted type, whether it came as value or as bytes", () => {
    const review = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", response: { uid: "u" } }
    assert.deepStrictEqual(Result.getOrThrow(RestReply.read(reply(200, review), wanted)), review)
    assert.deepStrictEqual(Result.getOrThrow(RestReply.read(reply(200, JSON.stringify(review)), wanted)), review)
    // What it does not call itself is taken for granted.
    assert.deepStrictEqual(Result.getOrThrow(RestReply.read(reply(201, {}), wanted)), {})
  })

  it("has client-go's words for every code", () => {
    assert.strictEqual(
      said(reply(500, "boom\n", text)),
      `an error on the server ("boom") has prevented the request from succeeding`
    )
    assert.strictEqual(
      said(reply(500, { a: 1 })),
      `an error on the server ("unknown") has prevented the request from succeeding`
    )
    assert.strictEqual(said(reply(404, "x", text)), "the server could not find the requested resource")
    assert.strictEqual(said(reply(403, "not you\n", text)), "not you")
    assert.strictEqual(
      said(reply(406, { a: 1 })),
      "the server was unable to respond with a content type that the client supports"
    )
    assert.strictEqual(said(reply(503, "x", text)), "the server is currently unable to handle the request")
    assert.strictEqual(
      said(reply(418, "x", text)),
      "the server responded with the status code 418 but did not return more information"
    )
    assert.strictEqual(said(reply(400, { kind: "Status", status: "Failure", message: "own words" })), "own words")
  })

  it("says why a body is not of the type", () => {
    assert.strictEqual(
      said(reply(200, "")),
      "0-length response with status code: 200 and content type: application/json"
    )
    assert.strictEqual(
      said(reply(200, "", {})),
      "0-length response with status code: 200 and content type: application/json",
      "what was asked for"
    )
    // YAML is understood, too.
    assert.match(
      said(reply(200, "hello")),
      /^couldn't get version\/kind; json parse error: json: cannot unmarshal string/
    )
    assert.match(
      said(reply(200, [])),
      /^couldn't get version\/kind; json parse error: json: cannot unmarshal array into/
    )
    assert.strictEqual(
      said(reply(200, { apiVersion: "apiextensions.k8s.io/v1beta1", kind: "ConversionReview" })),
      "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"
    )
    assert.strictEqual(
      said(reply(200, { apiVersion: "v1", kind: "Status", status: "Success" })),
      "converting (v1.Status) to (v1.ConversionReview): unknown conversion"
    )
    assert.strictEqual(
      said(reply(200, { apiVersion: "v7", kind: "Other" })),
      `no kind "Other" is registered for version "v7" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"`
    )
    assert.strictEqual(
      said(reply(200, { response: "x" })),
      "json: cannot unmarshal string into Go struct field ConversionReview.response of type v1.ConversionResponse"
    )
    assert.strictEqual(
      said(reply(200, { response: { uid: 1 } })),
      "json: cannot unmarshal number into Go struct field ConversionResponse.response.uid of type types.UID"
    )
  })
})
