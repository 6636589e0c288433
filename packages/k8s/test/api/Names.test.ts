import { assert, describe, it } from "@effect/vitest"
import * as Names from "../../src/api/Names.ts"

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

describe("names", () => {
  it("labels", () => {
    assert.deepStrictEqual(Names.dnsLabel("a-1"), [])
    assert.deepStrictEqual(Names.dnsLabel("A"), [label])
    assert.deepStrictEqual(Names.dnsLabel("a.b"), ["must not contain dots"])
    assert.deepStrictEqual(Names.dnsLabel("x".repeat(64)), ["must be no more than 63 characters"])
    assert.deepStrictEqual(Names.dnsLabel("a\n"), [label])
  })

  it("subdomains", () => {
    assert.deepStrictEqual(Names.dnsSubdomain("a.b-c"), [])
    assert.deepStrictEqual(Names.dnsSubdomain("a."), [subdomain])
    assert.deepStrictEqual(Names.dnsSubdomain(""), [subdomain])
    assert.deepStrictEqual(Names.dnsSubdomain("x".repeat(254)), ["must be no more than 253 characters"])
  })

  it("names of Services begin with a letter", () => {
    assert.deepStrictEqual(Names.dns1035Label("a1"), [])
    assert.lengthOf(Names.dns1035Label("1a"), 1)
  })

  it("path segments", () => {
    assert.deepStrictEqual(Names.pathSegment("system:A_b"), [])
    assert.deepStrictEqual(Names.pathSegment("."), ["may not be '.'"])
    assert.deepStrictEqual(Names.pathSegment("a/b%"), ["may not contain '/'", "may not contain '%'"])
    assert.deepStrictEqual(Names.pathSegmentPrefix("."), [])
  })
})

describe("labels", () => {
  it("keys", () => {
    assert.deepStrictEqual(Names.labelKey("example.com/My.Name_1"), [])
    assert.deepStrictEqual(Names.labelKey("a b"), [key])
    assert.deepStrictEqual(Names.labelKey("/b"), ["prefix part must be non-empty"])
    assert.deepStrictEqual(Names.labelKey("a/"), ["name part must be non-empty", key])
    assert.deepStrictEqual(Names.labelKey("A/b"), [`prefix part ${subdomain}`])
    assert.deepStrictEqual(Names.labelKey(`${"x".repeat(254)}/b`), ["prefix part must be no more than 253 bytes"])
    assert.deepStrictEqual(Names.labelKey("x".repeat(64)), ["name part must be no more than 63 bytes"])
    assert.strictEqual(Names.labelKey("a/b/c")[0]!.slice(0, 31), "a valid label key must consist ")
  })

  it("values may be empty", () => {
    assert.deepStrictEqual(Names.labelValue(""), [])
    assert.deepStrictEqual(Names.labelValue("A.b_c-1"), [])
    assert.lengthOf(Names.labelValue("-a"), 1)
    assert.deepStrictEqual(Names.labelValue("x".repeat(64)), ["must be no more than 63 bytes"])
  })
})

it("lengths are those of the UTF-8 text", () => {
  for (const text of ["", "a", "é", "€", "😀", "a\ud83d"]) {
    assert.strictEqual(Names.byteLength(text), text === "a\ud83d" ? 3 : Buffer.byteLength(text), text)
  }
})
