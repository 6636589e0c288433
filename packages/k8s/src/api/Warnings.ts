/**
 * `Warnings`: the Warning headers of a response.
 *
 * Each text appears once; one with control characters is dropped. Once all texts together exceed 4,096 characters, each
 * is truncated to 256, and what follows another 4,096 is dropped.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go, k8s.io/apimachinery/pkg/util/net/http.go.
 */

/** The total number of characters before texts are truncated, and again afterwards. */
const maxTotal = 4096
/** The number of characters of a truncated text. */
const maxCut = 256

const isPrintable = (text: string): boolean => text !== "" && !/\p{Cc}/u.test(text)

const quoted = (text: string): string => `299 - "${text.replace(/[\\"]/g, "\\$&")}"`

/** The truncated texts, up to the limit. */
const cut = (texts: ReadonlyArray<ReadonlyArray<string>>, replayed: number): ReadonlyArray<ReadonlyArray<string>> => {
  let written = 0
  return texts.map((characters) => characters.slice(0, maxCut)).filter((characters, index) => {
    // Texts from before the limit was exceeded are kept, whatever their length.
    if (index >= replayed && written >= maxTotal) return false
    written += characters.length
    return true
  })
}

/** The texts that are sent. */
export const shown = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  const texts = [...new Set(given)].filter(isPrintable)
  if (texts.length === 0) return texts
  const characters = texts.map((text) => [...text])
  let total = 0
  const overflowing = characters.findIndex(({ length }) => (total += length) > maxTotal)
  return overflowing < 0 ? texts : cut(characters, overflowing + 1).map((each) => each.join(""))
}

/** One header value with all texts, which HTTP treats like several headers. */
export const header = (given: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const texts = shown(given)
  return texts.length === 0 ? {} : { warning: texts.map(quoted).join(", ") }
}

/**
 * Splits the header into one line per warning, as a server writes them (`Header().Add`); some clients read no other
 * form.
 */
export const lines = (header: string): ReadonlyArray<string> =>
  header.match(/\d{3} \S+ "(?:[^"\\]|\\.)*"(?: "[^"]*")?/g) ?? [header]
