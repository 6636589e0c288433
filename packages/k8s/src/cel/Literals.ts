/**
 * `Literals`: the values of string and bytes literals.
 *
 * The lexer has made sure that escapes are complete. In bytes, `\x` and octal escapes are bytes and everything else is
 * UTF-8; in strings every escape is a code point.
 *
 * Source: github.com/google/cel-go/parser/unescape.go.
 */

export type Unquoted = { readonly value: string | Uint8Array } | { readonly fault: string }

const simple: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v"
}

const utf8 = new TextEncoder()

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff

/** The value of a literal as written, including prefixes and quotes. */
export const unquote = (text: string): Unquoted => {
  const prefix = /^[bBrR]*/.exec(text)![0].toLowerCase()
  const quoted = text.slice(prefix.length)
  const width = quoted.length >= 6 && (quoted.startsWith("\"\"\"") || quoted.startsWith("'''")) ? 3 : 1
  const inner = quoted.slice(width, -width).replace(/\r\n?/g, "\n")
  const isBytes = prefix.includes("b")
  if (prefix.includes("r") || !inner.includes("\\")) return { value: isBytes ? utf8.encode(inner) : inner }
  return isBytes ? unescapeBytes(inner) : unescapeString(inner)
}

const escapes = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))/g

const unescapeString = (inner: string): Unquoted => {
  let fault: string | undefined
  const value = inner.replace(escapes, (_, hex, short, long, octal, other: string) => {
    if (other !== undefined) return simple[other] ?? other
    const code = octal === undefined ? parseInt(hex ?? short ?? long, 16) : parseInt(octal, 8)
    if (code > 0x10ffff || isSurrogate(code)) fault = "invalid unicode code point"
    return fault === undefined ? String.fromCodePoint(code) : ""
  })
  return fault === undefined ? { value } : { fault }
}

const unescapeBytes = (inner: string): Unquoted => {
  const bytes: Array<number> = []
  let last = 0
  for (const match of inner.matchAll(escapes)) {
    bytes.push(...utf8.encode(inner.slice(last, match.index)))
    const [whole, hex, short, long, octal, other] = match
    if (short !== undefined || long !== undefined) return { fault: "unable to unescape string" }
    if (other !== undefined) bytes.push(...utf8.encode(simple[other] ?? other))
    else bytes.push(octal === undefined ? parseInt(hex!, 16) : parseInt(octal, 8))
    last = match.index + whole.length
  }
  bytes.push(...utf8.encode(inner.slice(last)))
  return { value: Uint8Array.from(bytes) }
}
