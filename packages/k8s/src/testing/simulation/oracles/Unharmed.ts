/**
 * `Unharmed`: whoever comes and goes leaves to the others what they have.
 *
 * The story is told again without a custom resource that is made and deleted while others stay: there may be nothing more
 * then than there is with it. What two of them have under one name (a cluster-scoped object, a queue in somebody's broker)
 * the first one takes with it. A metamorphic relation between two runs, as Chen has them (1998); nothing is known of either.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { type Recording, seen } from "../recording/Recording.ts"
import * as Canonical from "../state/Canonical.ts"
import { entriesOf, pathOf } from "../state/Outside.ts"
import type { Oracle } from "./Oracle.ts"

/** For each step what people change with it: all that happens before anybody else does anything. */
const changedBy = ({ entries }: Recording): ReadonlyArray<ReadonlyArray<KubeObject>> =>
  entries.flatMap(({ _tag }, index) => {
    if (_tag !== "Step") return []
    const rest = entries.slice(index + 1)
    const end = rest.findIndex((entry) => entry._tag !== "Change")
    return [
      rest.slice(0, end < 0 ? undefined : end).flatMap((entry) => entry._tag === "Change" ? [entry.change.object] : [])
    ]
  })

/**
 * Custom resources that steps of their own have made, changed and deleted, while others stay; each with those steps. One that
 * has changed nothing on the way (people ask for the same again) is among them: without the others it would make something.
 */
const passing = (
  run: Recording
): ReadonlyArray<{ readonly object: KubeObject; readonly steps: ReadonlyArray<number> }> => {
  const changed = changedBy(run)
  const custom = ({ kind }: KubeObject) => run.kinds.includes(kind)
  if (changed.length !== run.steps.length || !run.objects.some(custom)) return []
  const all = new Map(changed.flat().filter(custom).map((object) => [object.metadata.uid, object]))
  return [...all.values()].flatMap((object) => {
    const { uid } = object.metadata
    if (run.objects.some(({ metadata }) => metadata.uid === uid)) return []
    const its = changed.flatMap((objects, step) => objects.some(({ metadata }) => metadata.uid === uid) ? [step] : [])
    const steps = changed.flatMap((objects, step) =>
      its.includes(step) || objects.length === 0 && step > its[0]! && step < its.at(-1)! ? [step] : []
    )
    const alone = steps.every((step) => changed[step]!.every(({ metadata }) => metadata.uid === uid))
    return alone ? [{ object, steps }] : []
  })
}

/** What is filed outside in one run under keys that are not there in another. */
const missing = (run: Recording, other: Recording, mask: Canonical.Mask): string | undefined => {
  for (const [name, value] of other.outside) {
    if (mask.has(`${pathOf(name)}{}`)) continue
    const found = new Set(entriesOf(run.outside.get(name))?.map(([key]) => key))
    const lost = entriesOf(value)?.find(([key]) => !found.has(key))
    if (lost !== undefined) return `outside ${name}: ${lost[0]}`
  }
  return undefined
}

/** Whether there has been anything of a family at any time. */
const wasThere = (run: Recording, family: string, mask: Canonical.Mask): boolean =>
  new Set(Canonical.families({ entries: run.entries, objects: seen(run) }, mask).values()).has(family)

export const unharmed: Oracle = {
  name: "other custom resources are unaffected",
  judge: (run, { mask, recording, state, without }) => {
    if (run !== recording || run.begun.step > 0 || run.failure !== undefined) return undefined
    for (const { object: { kind, metadata }, steps } of passing(run)) {
      const { recording: other } = without(steps)
      const failed = other.entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)
      if (failed || other.failure !== undefined) continue
      const fewer = [...Canonical.state(other, mask)].find(([family, members]) =>
        (state.get(family)?.length ?? 0) < members.length
      )
      const lost = fewer?.[0] ?? missing(run, other, mask)
      if (lost === undefined) continue
      const makes = fewer === undefined || wasThere(run, fewer[0], mask)
      return makes
        ? `deleting ${kind} ${metadata.name} also removes what exists in the end if it is never created: ${lost}`
        : `after ${kind} ${metadata.name} is deleted, what exists in the end if it is never created is not made, although ` +
          `nothing is in its way any more (the deletion triggers no reconcile, or something remembers it): ${lost}`
    }
    return undefined
  }
}
