/** A chart of the results: how much of its bound each figure uses. Left of the line the goal is met. */
import type { Result } from "./Benchmark.ts"

const rowHeight = 20
const left = 520
const scale = 220
/** Longer bars are cut off. */
const longest = 2.5

/** The fraction of the goal: 1 just meets it. */
const taken = ({ goal, ratio, value }: Result): number => {
  const [sign, bound, unit] = goal.split(" ")
  const judged = unit === undefined ? ratio : value
  if (Number(bound) === 0) return judged === 0 ? 0 : Infinity
  return sign === "<=" ? judged / Number(bound) : Number(bound) / judged
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** The chart as an SVG document. */
export const plot = (results: ReadonlyArray<Result>): string => {
  const height = results.length * rowHeight + 50
  const rows = results.map((result, index) => {
    const y = 30 + index * rowHeight
    const share = taken(result)
    const width = Math.round(Math.min(longest, share) * scale)
    const text = `${result.value} ${result.unit}, ratio ${result.ratio}, goal ${result.goal}`
    return `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(result.name)}</text>
<rect x="${left}" y="${y + 3}" width="${width}" height="${rowHeight - 6}" fill="${result.met ? "#3a7d44" : "#c0562f"}"/>
<text x="${left + width + 6}" y="${y + 13}" fill="#555">${escaped(text)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1400" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="${left}" y="18">within the goal</text>
<text x="${left + scale + 6}" y="18">beyond it</text>
${rows.join("\n")}
<line x1="${left + scale}" y1="6" x2="${left + scale}" y2="${height - 12}" stroke="black"/>
</svg>
`
}
