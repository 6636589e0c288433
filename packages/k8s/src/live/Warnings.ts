/**
 * `Warnings`: logs the warnings of an API server (deprecated versions, unknown fields, policies in warning mode), each
 * once.
 *
 * They arrive as `Warning` headers with code 299 (RFC 7234, section 5.5), several in one header or one each. A client
 * logs each text once, however many responses carry it; after very many texts it forgets the oldest.
 *
 * Source: client-go, rest/warnings.go; apimachinery, pkg/util/net/http.go (ParseWarningHeaders).
 */
import * as Effect from "effect/Effect"

/** Defaults of this module. */
export const defaults = {
  /** The number of texts that are remembered. */
  remembered: 1000
} as const

/** Logs the warnings in a header that are new. */
export const make = (): (header: string | undefined) => Effect.Effect<void> => {
  const seen = new Set<string>()
  return (header) => {
    if (header === undefined) return Effect.void
    const fresh = parse(header).filter((text) => {
      if (text === "" || seen.has(text)) return false
      if (seen.size >= defaults.remembered) seen.delete(seen.values().next().value!)
      seen.add(text)
      return true
    })
    return Effect.forEach(fresh, (text) => Effect.logWarning(`the API server warns: ${text}`), { discard: true })
  }
}

/** The texts with code 299, up to the first part that is not a warning. */
export const parse = (header: string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  // warn-code SP warn-agent SP quoted-string [SP quoted-date]
  const warning = /\s*(\d{3})\s+(\S+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"[^"]*")?\s*(?:,|$)/y
  for (let found = warning.exec(header); found !== null && found[0] !== ""; found = warning.exec(header)) {
    if (found[1] === "299") texts.push((found[3] ?? "").replace(/\\(.)/g, "$1"))
    if (warning.lastIndex >= header.length) break
  }
  return texts
}
