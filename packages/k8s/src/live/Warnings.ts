/**
 * `Warnings`: what an API server warns of (deprecated versions, unknown fields, policies in warning mode), logged once.
 *
 * They come as `Warning` headers of code 299 (RFC 7234, section 5.5), several in a header or a header each. A text is
 * logged once in the life of a client, however many requests bring it; a client that has seen very many forgets the
 * oldest.
 *
 * Source: client-go, rest/warnings.go; apimachinery, pkg/util/net/http.go (ParseWarningHeaders).
 */
import * as Effect from "effect/Effect"

/** Figures of this module. */
export const defaults = {
  /** Texts that are remembered. */
  remembered: 1000
} as const

/** Logs what is new to it. */
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

/** The texts of code 299, up to the first thing that is no warning. */
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
