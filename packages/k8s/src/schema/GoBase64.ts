/**
 * `GoBase64`: base64 as Go reads it: padded and in the standard alphabet where a type has bytes, neither in a text that
 * stands in a URL. Line breaks do not matter.
 *
 * Source: encoding/base64, base64.go (`decodeQuantum`).
 */
import * as Result from "effect/Result"

const whole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const illegal = (at: number) => Result.fail(`illegal base64 data at input byte ${at}`)

/** The bytes, or what Go says. */
export const decode = (text: string): Result.Result<Uint8Array, string> => {
  const clean = text.replace(/[\r\n]/g, "")
  if (whole.test(clean)) return Result.succeed(Buffer.from(clean, "base64"))
  const bad = clean.search(/[^A-Za-z0-9+/]/)
  return illegal(bad < 0 ? clean.length - clean.length % 4 : bad)
}

/** As `decode`, of what `base64.RawURLEncoding` reads. */
export const decodeRawUrl = (text: string): Result.Result<Uint8Array, string> => {
  const bad = text.search(/[^A-Za-z0-9_\r\n-]/)
  if (bad >= 0) return illegal(Buffer.byteLength(text.slice(0, bad)))
  const clean = text.replace(/[\r\n]/g, "")
  // One character of four is less than a byte.
  return clean.length % 4 === 1 ? illegal(text.length - 1) : Result.succeed(Buffer.from(clean, "base64url"))
}
