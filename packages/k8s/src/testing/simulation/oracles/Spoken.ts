/**
 * `Spoken`: what others say of an object in its conditions stays.
 *
 * A status may have several authors: people approve a request, another controller adds a condition of its own. The list
 * is written as a whole, so an operator that writes only its own conditions takes away the others, in every run. A
 * condition about an earlier spec may go: an approval need not hold for what has changed since.
 *
 * Source: the API conventions on conditions; "each condition has one author".
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { blindings } from "../recording/Excuses.ts"
import { conditionsOf, name, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

export const spoken: Oracle = {
  name: "others' conditions are kept",
  judge: (run) => {
    if (blindings(run) > 0) return undefined
    const own = new Set([...writes(run)].map(({ after }) => after.metadata.resourceVersion))
    /** By object: the conditions that others have added, with its generation then. */
    const others = new Map<string, Map<string, number>>()
    /** By object: the conditions that it has. */
    const known = new Map<string, ReadonlySet<string>>()
    for (const entry of run.entries) {
      if (entry._tag !== "Change" || entry.change.type === "DELETED") continue
      const { object } = entry.change
      const { generation = 0, resourceVersion, uid } = object.metadata
      const now = new Set(conditionsOf(object).map(({ type }) => type))
      const before = known.get(uid)
      known.set(uid, now)
      const theirs = others.get(uid) ?? new Map<string, number>()
      if (!own.has(resourceVersion)) {
        for (const type of now) if (before?.has(type) !== true) others.set(uid, theirs.set(type, generation))
        continue
      }
      const lost = [...before ?? []].find((type) => !now.has(type) && theirs.get(type) === generation)
      if (lost !== undefined && !isTerminating(object)) {
        return `${name(object)} loses the condition ${lost}, which somebody else has set: add to what is there`
      }
    }
    return undefined
  }
}
