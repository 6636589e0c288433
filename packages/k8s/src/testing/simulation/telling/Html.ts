/**
 * `Html`: the story of a divergence as one self-contained page. Time runs downwards; every process and every object has
 * a column.
 *
 * An object's column is shaded while it exists. The page loads nothing, and escapes everything that a program said.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Scenario } from "../Scenario.ts"
import type { Divergence } from "../exploring/Explore.ts"
import { type Entry, line } from "../recording/Recording.ts"
import * as Report from "./Report.ts"

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

const style = `
:root{color-scheme:light dark;--line:#8884;--alive:#2a84;--fault:#c33;--soft:#888}
body{font:14px/1.4 system-ui,sans-serif;margin:2rem;max-width:none}
h1{font-size:1.3rem}code,pre{font-family:ui-monospace,monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere}
.complaint{border-left:4px solid var(--fault);padding:.5rem 1rem;background:#c331}
.board{overflow:auto;max-height:80vh;border:1px solid var(--line)}
table{border-collapse:collapse;font-size:12px}
th{position:sticky;top:0;background:Canvas;padding:.3rem .5rem;text-align:left;vertical-align:bottom;max-width:9rem;
overflow-wrap:anywhere;border-bottom:2px solid var(--line)}
td{padding:.1rem .5rem;border-left:1px solid var(--line);white-space:nowrap;text-align:center}
td.t{font-family:ui-monospace,monospace;color:var(--soft)}td.w{text-align:left;max-width:60rem;overflow:hidden;
text-overflow:ellipsis;font-family:ui-monospace,monospace}
td.alive{background:var(--alive)}td.up{background:#48c3}
tr.Fault td,tr.Chance td{color:var(--fault);font-weight:600}tr.Step td{border-top:2px solid var(--line);font-weight:600}
tr.Log td,tr.Event td.w{color:var(--soft)}`

/** The object of an entry. A new object of the same name shares the column. */
const objectOf = (entry: Entry): KubeObject | undefined => {
  switch (entry._tag) {
    case "Change":
      return entry.change.object
    case "Call":
      return entry.object
    case "Event":
      return entry.object
    default:
      return undefined
  }
}

const marks: Partial<Record<Entry["_tag"], string>> = {
  Call: "●",
  Event: "◂",
  External: "◆",
  Start: "▲",
  Crash: "✖",
  Exit: "✖",
  Log: "·"
}

const mark = (entry: Entry): string => {
  if (entry._tag === "Change") return entry.change.type === "ADDED" ? "+" : entry.change.type === "DELETED" ? "−" : "~"
  if (entry._tag === "Call") return entry.request.method === "GET" ? "○" : "●"
  return marks[entry._tag] ?? "■"
}

/** The changes by revision of the store. */
const changed = (entries: ReadonlyArray<Entry>): ReadonlyMap<number, Entry & { readonly _tag: "Change" }> =>
  new Map(entries.flatMap((entry) => entry._tag === "Change" ? [[entry.change.revision, entry]] : []))

/** Maximum number of columns; the objects that changed first get one. */
const limit = 24

const board = ({ recording }: Divergence): string => {
  const changes = changed(recording.entries)
  const entries = Report.telling(recording)
  const start = entries[0]?.at ?? 0
  const replicas = [...new Set(entries.flatMap((entry) => "replica" in entry ? [entry.replica] : []))].sort()
  const every = [
    ...new Set(entries.flatMap((entry) => {
      const object = objectOf(entry)
      return object === undefined || object.kind === "Event" ? [] : [Report.named(object)]
    }))
  ]
  const objects = every.slice(0, limit)
  const alive = new Set<string>()
  const up = new Set<number>()
  const rows = entries.map((entry) => {
    const object = objectOf(entry)
    const name = object === undefined ? undefined : Report.named(object)
    const written = entry._tag === "Call" && entry.after > entry.before ? changes.get(entry.after) : undefined
    const change = entry._tag === "Change" ? entry.change : written?.change
    if (change !== undefined) {
      if (change.type === "DELETED") alive.delete(Report.named(change.object))
      else alive.add(Report.named(change.object))
    }
    if (entry._tag === "Start") up.add(entry.replica)
    if (entry._tag === "Crash" || entry._tag === "Exit") up.delete(entry.replica)
    const concerns = change === undefined ? name : Report.named(change.object)
    const cells = [
      ...replicas.map((replica) =>
        `<td class="${up.has(replica) ? "up" : ""}">${
          "replica" in entry && entry.replica === replica ? mark(entry) : ""
        }</td>`
      ),
      ...objects.map((column) =>
        `<td class="${alive.has(column) ? "alive" : ""}">${
          column !== concerns ? "" : written === undefined ? mark(entry) : mark(written)
        }</td>`
      )
    ]
    const said = entry._tag === "Call" && entry.request.method === "GET" && entry.status === 200
      ? `#${entry.n} ${line(entry.request)}`
      : Report.words(entry)
    return `<tr class="${entry._tag}"><td class="t">${Report.clock(entry.at - start)}</td>${
      cells.join("")
    }<td class="w" title="${escape(said)}">${escape(`${entry._tag.toLowerCase()} ${said}`)}</td></tr>`
  })
  const left = every.length - objects.length
  const heads = ["time", ...replicas.map((replica) => `process ${replica}`), ...objects, "what happened"]
  return `<div class="board"><table><thead><tr>${heads.map((head) => `<th>${escape(head)}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div>${left > 0 ? `<p>${left} more objects have no column of their own.</p>` : ""}`
}

/** The page of a divergence. */
export const page = (scenario: Scenario, divergence: Divergence): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escape(scenario.name)} does not converge</title>
<style>${style}</style></head><body>
<h1>${escape(scenario.name)} does not converge: ${escape(divergence.oracle)}</h1>
<p class="complaint">${escape(divergence.complaint)}</p>
<p>${escape(Report.takes(divergence))}</p>
<p>● a write, ○ a read, ◂ an event seen, ◆ a call outside, ▲ a start, ✖ an end of the process;
+ created, ~ changed, − deleted. Shaded: the process runs, the object exists.</p>
${board(divergence)}
<h2>Replay</h2>
<pre>${escape(Report.token(scenario, divergence))}</pre>
</body></html>
`
