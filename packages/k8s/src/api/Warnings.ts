/**
 * `Warnings`: the Warning headers of an answer.
 *
 * Each text comes once; one with control characters does not come at all. As soon as all texts together have more than
 * 4,096 characters, every one is cut to 256, and what comes after another 4,096 is left out.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go, k8s.io/apimachinery/pkg/util/net/http.go.
 */

/** Characters of all warnings together before they are cut, and again once they are. */
const maxTotal = 4096
/** Characters of one that is cut. */
const maxCut = 256

const isPrintable = (text: string): boolean => text !== "" && !/\p{Cc}/u.test(text)

const quoted = (text: string): string => `299 - "${text.replace(/[\\"]/g, "\\$&")}"`

/** Each text cut, until enough are written. */
const cut = (texts: ReadonlyArray<ReadonlyArray<string>>, replayed: number): ReadonlyArray<ReadonlyArray<string>> => {
  let written = 0
  return texts.map((characters) => characters.slice(0, maxCut)).filter((characters, index) => {
    // What was there when the limit was passed is kept, whatever its length.
    if (index >= replayed && written >= maxTotal) return false
    written += characters.length
    return true
  })
}

/** The texts to show of those that were given. */
export const shown = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  const texts = [...new Set(given)].filter(isPrintable)
  if (texts.length === 0) return texts
  const characters = texts.map((text) => [...text])
  let total = 0
  const overflowing = characters.findIndex(({ length }) => (total += length) > maxTotal)
  return overflowing < 0 ? texts : cut(characters, overflowing + 1).map((each) => each.join(""))
}

/** The header, as one text for all, which HTTP takes for the same. */
export const header = (given: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const texts = shown(given)
  return texts.length === 0 ? {} : { warning: texts.map(quoted).join(", ") }
}

/** The lines of a header: a server writes one for each warning (`Header().Add`), and there are clients that read no other. */
export const lines = (header: string): ReadonlyArray<string> =>
  header.match(/\d{3} \S+ "(?:[^"\\]|\\.)*"(?: "[^"]*")?/g) ?? [header]
