/**
 * `Passed`: conditions that were true only on the way to the end.
 *
 * Many operators add a condition (`Progressing`) when it becomes true, and then set it to false. If all was over before
 * the operator looked, it was never true, and the operator does not add it. So a false condition of which the other run
 * has shown nothing tells of the way, if it was true before. One that was false from the beginning belongs to the end.
 */
import { isObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import type { State } from "./Canonical.ts"

type Fields = Readonly<Record<string, unknown>>

const conditionsOf = (object: unknown): ReadonlyArray<Fields> => {
  const status = isObject(object) && isObject(object["status"]) ? object["status"] : {}
  const { conditions } = status as { readonly conditions?: unknown }
  return Array.isArray(conditions) ? conditions.filter(isObject) : []
}

/** `Box default/a Ready`. */
const idOf = (kind: string, object: unknown, type: unknown): string => {
  const { metadata } = object as { readonly metadata?: { readonly namespace?: unknown; readonly name?: unknown } }
  return `${kind} ${String(metadata?.namespace ?? "")}/${String(metadata?.name)} ${String(type)}`
}

/** The conditions that a run has shown, and those that have been true. */
const shown = ({ entries, kinds }: Recording) => {
  const [all, held] = [new Set<string>(), new Set<string>()]
  for (const entry of entries) {
    if (entry._tag !== "Change" || !kinds.includes(entry.change.object.kind)) continue
    const { object } = entry.change
    for (const { status, type } of conditionsOf(object)) {
      const id = idOf(object.kind, object, type)
      all.add(id)
      if (status === "True") held.add(id)
    }
  }
  return { all, held }
}

/** An object in canonical form, whose conditions are filed by type. */
const parsed = (member: string) => JSON.parse(member) as Fields & { readonly status?: Fields }

/** Whether the only differences between two ends are conditions that were true on the way of one run alone. */
export const passed = (one: Recording, two: Recording, wanted: State, found: State): boolean => {
  const [before, after] = [shown(one), shown(two)]
  return [...new Set([...wanted.keys(), ...found.keys()])].every((family) => {
    const [mine, theirs] = [wanted.get(family) ?? [], found.get(family) ?? []]
    if (mine.length !== theirs.length) return false
    const [kind = ""] = family.split(" ")
    return mine.every((member, index) => {
      const other = theirs[index]!
      if (member === other) return true
      if (!one.kinds.includes(kind)) return false
      const [a, b] = [parsed(member), parsed(other)]
      const [left, right] = [a, b].map(({ status }) => isObject(status?.["conditions"]) ? status["conditions"] : {})
      const without = (
        object: typeof a,
        own: Fields,
        others: Fields,
        its: ReturnType<typeof shown>,
        theirs: ReturnType<typeof shown>
      ) => {
        const kept = Object.entries(own).filter(([type, condition]) => {
          const id = idOf(kind, object, type)
          const isTrace = !(type in others) && (condition as Fields)["status"] === "False" && its.held.has(id) &&
            !theirs.all.has(id)
          return !isTrace
        })
        return JSON.stringify({ ...object, status: { ...object.status, conditions: Object.fromEntries(kept) } })
      }
      return without(a, left!, right!, before, after) === without(b, right!, left!, after, before)
    })
  })
}
