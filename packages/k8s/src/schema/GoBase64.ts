/**
 * `GoBase64`: base64 as Go decodes it: padded standard encoding for byte fields, raw URL encoding for texts in URLs.
 * Line breaks are ignored.
 *
 * Source: encoding/base64, base64.go (`decodeQuantum`).
 */
import * as Result from "effect/Result"

const whole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const illegal = (at: number) => Result.fail(`illegal base64 data at input byte ${at}`)

const alphabet = new Set(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
const padding = "=".charCodeAt(0)
const breaks = new Set(Buffer.from("\r\n"))

/** The offset at which Go finds an error: it decodes four characters at a time, padding included. */
const offsetOf = (text: string): number => {
  const source = Buffer.from(text)
  let at = 0
  const skip = (): void => {
    while (at < source.length && breaks.has(source[at]!)) at++
  }
  for (;;) {
    for (let place = 0; place < 4; place++) {
      skip()
      if (at === source.length) return at - place
      const byte = source[at++]!
      if (alphabet.has(byte)) continue
      if (byte !== padding || place < 2) return at - 1
      if (place === 2) {
        skip()
        if (source[at] !== padding) return at === source.length ? at : at - 1
        at++
      }
      skip()
      return at
    }
  }
}

/** The bytes, or Go's error. */
export const decode = (text: string): Result.Result<Uint8Array, string> => {
  const clean = text.replace(/[\r\n]/g, "")
  if (whole.test(clean)) return Result.succeed(Buffer.from(clean, "base64"))
  return illegal(offsetOf(text))
}

/** The canonical encoding of a valid text: without line breaks and without excess bits. */
export const canonical = (text: string): Result.Result<string, string> =>
  Result.map(
    decode(text),
    (bytes) => /[\r\n]|[^A-Za-z0-9+/]$/.test(text) ? Buffer.from(bytes).toString("base64") : text
  )

/** As `decode`, for `base64.RawURLEncoding`. */
export const decodeRawUrl = (text: string): Result.Result<Uint8Array, string> => {
  const bad = text.search(/[^A-Za-z0-9_\r\n-]/)
  if (bad >= 0) return illegal(Buffer.byteLength(text.slice(0, bad)))
  const clean = text.replace(/[\r\n]/g, "")
  // A remainder of one character is less than a byte.
  return clean.length % 4 === 1 ? illegal(text.length - 1) : Result.succeed(Buffer.from(clean, "base64url"))
}
