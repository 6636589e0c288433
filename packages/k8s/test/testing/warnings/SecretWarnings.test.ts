import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Certificates from "../../../src/Certificates.ts"
import * as SecretWarnings from "../../../src/testing/warnings/SecretWarnings.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

const warnings = (certificate: string, key: string, type = "kubernetes.io/tls") =>
  SecretWarnings.ofSecret({ type, data: { "tls.crt": base64(certificate), "tls.key": base64(key) } } as never)

it.effect("a certificate and its key are fine, anything else is told", () =>
  Effect.gen(function*() {
    const [one, other] = [
      yield* Certificates.authority({ now: 0 }),
      yield* Certificates.authority({ now: 0 })
    ]
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    const table: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
      [one.certPem, one.keyPem, []],
      [one.certPem, other.keyPem, ["tls: private key does not match public key"]],
      ["x", "y", ["tls: failed to find any PEM data in certificate input"]],
      [one.certPem, "y", ["tls: failed to find any PEM data in key input"]],
      [one.certPem, one.certPem, ["tls: found a certificate rather than a key in the PEM for the private key"]],
      [one.keyPem, one.certPem, [
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may " +
        "have been switched"
      ]],
      [broken, one.keyPem, ["x509: malformed certificate"]]
    ]
    for (const [certificate, key, expected] of table) assert.deepStrictEqual(warnings(certificate, key), expected)
    assert.deepStrictEqual(warnings("x", "y", "Opaque"), [])
  }))
