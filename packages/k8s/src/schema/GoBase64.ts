/** `GoBase64`: base64 as Go reads it where a type has bytes: the standard alphabet, padded; line breaks do not matter. */
import * as Result from "effect/Result"

const whole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The bytes, or what Go says. */
export const decode = (text: string): Result.Result<Uint8Array, string> => {
  const clean = text.replace(/[\r\n]/g, "")
  if (whole.test(clean)) return Result.succeed(Buffer.from(clean, "base64"))
  const bad = clean.search(/[^A-Za-z0-9+/]/)
  return Result.fail(`illegal base64 data at input byte ${bad < 0 ? clean.length - clean.length % 4 : bad}`)
}
