/** `Nearest`: suggests the name that somebody may have meant who wrote one that does not exist. */

/** The edit distance: letters to change, insert or delete. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      next.push(Math.min(row[j]! + (letter === b[j] ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

/** The name closest to a word; the first of several. */
export const nearest = (word: string, names: ReadonlyArray<string>): string | undefined =>
  names.toSorted((a, b) => distance(word, a) - distance(word, b))[0]
