import { assert, describe, it } from "@effect/vitest"
import * as Pem from "../../../../src/testing/server/rules/Pem.ts"

const block = (type: string, ...lines: ReadonlyArray<string>): string =>
  [`-----BEGIN ${type}-----`, ...lines, `-----END ${type}-----`, ""].join("\n")

const fault = (text: string): string | undefined => Pem.certificateFault(Buffer.from(text).toString("base64"))

describe("Pem", () => {
  it("blocks are found between other text, with their headers", () => {
    const found = Pem.blocks(`before\n${block("A", "eA==")}between\n${block("B", "Name: value", "", "eQ==")}`)
    assert.deepStrictEqual(found.map(({ bytes, ...rest }) => ({ ...rest, text: Buffer.from(bytes).toString() })), [
      { type: "A", headers: [], text: "x" },
      { type: "B", headers: ["Name: value"], text: "y" }
    ])
  })

  it("certificates are sequences in blocks of their name without headers", () => {
    assert.isUndefined(fault(""))
    assert.isUndefined(fault(block("CERTIFICATE", "MAA=") + block("CERTIFICATE", "MAEAMAA=")))
    assert.strictEqual(fault("foo"), "must contain at least one CERTIFICATE PEM block")
    assert.strictEqual(fault(block("FOO", "MAA=")), "only CERTIFICATE PEM blocks are allowed, found \"FOO\"")
    assert.strictEqual(fault(block("CERTIFICATE", "A: b", "", "MAA=")), "no PEM block headers are permitted")
    assert.strictEqual(fault(block("CERTIFICATE", "eA==")), "x509: malformed certificate")
    assert.strictEqual(fault(block("CERTIFICATE", "MAUA")), "x509: malformed certificate")
    assert.strictEqual(
      fault(block("CERTIFICATE", "")),
      "found CERTIFICATE PEM block containing 0 certificates"
    )
  })
})
