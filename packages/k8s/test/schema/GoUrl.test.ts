import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as GoBase64 from "../../src/schema/GoBase64.ts"
import * as GoUrl from "../../src/schema/GoUrl.ts"

const failure = (text: string): string => {
  const parsed = GoUrl.parse(text)
  return Result.isFailure(parsed) ? parsed.failure : `parsed ${text}`
}

describe("GoUrl", () => {
  it("reads what validation looks at", () => {
    const parsed = Result.getOrThrow(GoUrl.parse("https://u:p@h.example.com:8443/a/b?q=1&r#f"))
    assert.deepStrictEqual(parsed, {
      scheme: "https",
      user: "u:p",
      host: "h.example.com:8443",
      path: "/a/b",
      query: "q=1&r",
      fragment: "f"
    })
    const nothing = { user: undefined, host: "", path: "", query: "", fragment: "" }
    assert.deepStrictEqual(Result.getOrThrow(GoUrl.parse("")), { scheme: "", ...nothing })
    assert.deepStrictEqual(Result.getOrThrow(GoUrl.parse("foo")), { scheme: "", ...nothing, path: "foo" })
    assert.deepStrictEqual(Result.getOrThrow(GoUrl.parse("mailto:a@b")), { scheme: "mailto", ...nothing })
    assert.strictEqual(Result.getOrThrow(GoUrl.parse("HTTPS://h")).scheme, "https")
    assert.strictEqual(Result.getOrThrow(GoUrl.parse("https://[::1]:1/")).host, "[::1]:1")
    assert.strictEqual(Result.getOrThrow(GoUrl.parse("https:///x")).host, "")
  })

  it("says what Go says of what is no URL", () => {
    assert.strictEqual(failure("::"), `parse "::": missing protocol scheme`)
    assert.strictEqual(failure("https://h/%zz"), `parse "https://h/%zz": invalid URL escape "%zz"`)
    assert.strictEqual(failure("https://a b/"), `parse "https://a b/": invalid character " " in host name`)
    assert.strictEqual(failure("https://a:x/"), `parse "https://a:x/": invalid port ":x" after host`)
    assert.strictEqual(failure("a:b/c"), "parsed a:b/c")
    assert.strictEqual(failure("1a:b/c"), `parse "1a:b/c": first path segment in URL cannot contain colon`)
    assert.strictEqual(failure("https://[::1/"), `parse "https://[::1/": missing ']' in host`)
    assert.strictEqual(failure("https://h/\n"), `parse "https://h/\\n": net/url: invalid control character in URL`)
  })

  it("agrees with the browser's reader on whole URLs", () => {
    for (const host of ["a", "a.b:1", "127.0.0.1:8443", "[::1]"]) {
      for (const path of ["/", "/a", "/a/b.c/%20"]) {
        for (const tail of ["", "?q=1", "#f", "?q=1#f"]) {
          const text = `https://${host}${path}${tail}`
          const [ours, theirs] = [Result.getOrThrow(GoUrl.parse(text)), new URL(text)]
          assert.deepStrictEqual(
            [ours.host, ours.path, ours.query, ours.fragment],
            [theirs.host, theirs.pathname, theirs.search.slice(1), theirs.hash.slice(1)]
          )
        }
      }
    }
  })
})

describe("GoBase64", () => {
  it("reads what Node writes, of any length", () => {
    for (let length = 0; length < 50; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37 + length) % 256)
      const text = Buffer.from(bytes).toString("base64")
      assert.deepStrictEqual([...Result.getOrThrow(GoBase64.decode(text))], [...bytes])
      const broken = text.replace(/(.{4})/g, "$1\n")
      assert.deepStrictEqual([...Result.getOrThrow(GoBase64.decode(broken))], [...bytes])
    }
  })

  it("refuses other alphabets and missing padding where Go does", () => {
    const said = (text: string) => Result.getFailure(GoBase64.decode(text))
    assert.deepInclude(said("!!"), { value: "illegal base64 data at input byte 0" })
    assert.deepInclude(said("Zm9v_w=="), { value: "illegal base64 data at input byte 4" })
    assert.deepInclude(said("Zm9vYg"), { value: "illegal base64 data at input byte 4" })
  })
})
