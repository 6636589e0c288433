/**
 * `JobIndexes`: sets of completion indexes in the format of an Indexed Job's status: `1,3-5,7`. Pure.
 *
 * Two consecutive indexes are written `3,4`, more of them `3-5`. Invalid parts, and indexes beyond the completions of
 * the Job, are ignored.
 *
 * Source: k8s.io/kubernetes/pkg/controller/job/{indexed_job_utils,success_policy}.go.
 */
import type { SuccessPolicy } from "../../kinds/batch.v1.ts"

export type Indexes = ReadonlySet<number>

export const none: Indexes = new Set()

/** The indexes in a text that are below `completions`. */
export const parse = (text: string | undefined, completions: number): Indexes => {
  const indexes = new Set<number>()
  for (const part of (text ?? "").split(",")) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (first === undefined) continue
    for (let index = Number(first); index <= Number(last) && index < completions; index++) indexes.add(index)
  }
  return indexes
}

export const format = (indexes: Indexes): string => {
  const runs: Array<{ readonly first: number; last: number }> = []
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run?.last === index - 1) run.last = index
    else runs.push({ first: index, last: index })
  }
  return runs.map(({ first, last }) =>
    first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`
  ).join(",")
}

/** The first `count` indexes that are not in any of the sets. */
export const firstFree = (taken: ReadonlyArray<Indexes>, count: number, completions: number): ReadonlyArray<number> => {
  const free: Array<number> = []
  for (let index = 0; index < completions && free.length < count; index++) {
    if (!taken.some((set) => set.has(index))) free.push(index)
  }
  return free
}

/** The message of the first rule of the success policy that is fulfilled, if any. */
export const success = (
  policy: SuccessPolicy | undefined,
  completions: number,
  succeeded: Indexes
): string | undefined => {
  if (policy === undefined || succeeded.size === 0) return undefined
  const met = policy.rules.findIndex(({ succeededCount = Infinity, succeededIndexes }) => {
    if (succeededIndexes === undefined) return succeeded.size >= succeededCount
    const required = parse(succeededIndexes, completions)
    const have = [...required].filter((index) => succeeded.has(index)).length
    return required.size > 0 && (have === required.size || have >= succeededCount)
  })
  return met < 0 ? undefined : `Matched rules at index ${met}`
}
