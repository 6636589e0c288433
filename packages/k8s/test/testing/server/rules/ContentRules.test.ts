import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { configMap, configMaps, layer, patch, post, put } from "../../support/server.ts"

const secrets = "/api/v1/namespaces/default/secrets"
const mebibyte = 1024 * 1024

const fields = (answer: { readonly body: any }) => answer.body.details.causes.map(({ field }: any) => field)

describe("content of ConfigMaps and Secrets", () => {
  it.effect("has keys that can be file names", () =>
    Effect.gen(function*() {
      for (const key of ["a b", "", ".", "..", "..a", "k".repeat(254)]) {
        const refused = yield* post(configMaps, configMap("a", { data: { [key]: "" } }))
        assert.deepStrictEqual([refused.status, fields(refused)], [422, [`data[${key}]`]])
        const secret = yield* post(secrets, { metadata: { name: "a" }, data: { [key]: "" } })
        assert.deepStrictEqual([secret.status, fields(secret)], [422, [`data[${key}]`]])
      }
      const both = yield* post(configMaps, configMap("a", { data: { k: "" }, binaryData: { k: "" } }))
      assert.include(both.body.message, "data[k]: Invalid value: \"k\": duplicate of key present in binaryData")
      const good = configMap("a", { data: { "ok.A_-": "" }, binaryData: { ".a": "" } })
      assert.strictEqual((yield* post(configMaps, good)).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("has at most a mebibyte of values, on create and on update", () =>
    Effect.gen(function*() {
      const full = { data: { a: "x".repeat(mebibyte - 3) }, binaryData: { b: "eHh4" } }
      assert.strictEqual((yield* post(configMaps, configMap("a", full))).status, 201)
      const over = configMap("a", { ...full, binaryData: { b: "eHh4eA==" } })
      const refused = yield* put(`${configMaps}/a`, over)
      assert.deepStrictEqual([refused.status, fields(refused)], [422, ["[]"]])
      const secret = (length: number) => ({ metadata: { name: "a" }, data: { a: btoa("x".repeat(length)) } })
      const large = yield* post(secrets, secret(mebibyte + 1))
      assert.strictEqual(
        large.body.message,
        "Secret \"a\" is invalid: data: Too long: may not be more than 1048576 bytes"
      )
      assert.strictEqual((yield* post(secrets, secret(mebibyte))).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("takes plain text of any length for a Secret, and keeps it encoded", () =>
    Effect.gen(function*() {
      const text = "é".repeat(200_000)
      const made = yield* post(secrets, { metadata: { name: "a" }, stringData: { a: text } })
      assert.deepStrictEqual([made.status, made.body.data], [201, { a: Buffer.from(text).toString("base64") }])
      const patched = yield* patch(`${secrets}/a`, "merge", { stringData: { b: text } })
      assert.deepStrictEqual([patched.status, patched.body.data.b], [200, made.body.data.a])
    }).pipe(Effect.provide(layer)))

  it.effect("a Secret has what its type promises", () =>
    refuses(
      secrets,
      [{ metadata: { name: "a" }, type: "example.com/own" }],
      [{ metadata: { name: "a" }, type: "kubernetes.io/basic-auth", stringData: { username: "u" } }],
      [
        { metadata: { name: "a" }, type: "kubernetes.io/basic-auth" },
        "data[username]: Required value",
        "data[password]: Required value"
      ],
      [
        { metadata: { name: "a" }, type: "kubernetes.io/tls", stringData: { "tls.crt": "" } },
        "data[tls.key]: Required value"
      ],
      [
        { metadata: { name: "a" }, type: "kubernetes.io/service-account-token" },
        "metadata.annotations[kubernetes.io/service-account.name]: Required value"
      ],
      [{ metadata: { name: "a" }, type: "kubernetes.io/dockerconfigjson" }, "data[.dockerconfigjson]: Required value"],
      [{ metadata: { name: "a" }, type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{}" } }]
    ).pipe(Effect.provide(layer)))

  it.effect("what a Secret holds of a registry is a JSON object", () =>
    Effect.gen(function*() {
      const said = (text: string) =>
        Effect.map(
          post(secrets, {
            metadata: { name: "a" },
            type: "kubernetes.io/dockerconfigjson",
            stringData: { ".dockerconfigjson": text }
          }),
          ({ body }) => body.details.causes[0].message
        )
      const redacted = "Invalid value: \"<secret contents redacted>\": "
      for (
        const [text, words] of [
          ["nope", "invalid character 'o' in literal null (expecting 'u')"],
          ["", "unexpected end of JSON input"],
          ["{} x", "invalid character 'x' after top-level value"],
          ["\ufeff{}", "invalid character 'ï' looking for beginning of value"],
          ["[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"],
          ["true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"]
        ] as const
      ) assert.strictEqual(yield* said(text), redacted + words)
    }).pipe(Effect.provide(layer)))
})
