/**
 * `Unharmed`: a custom resource that comes and goes leaves the others what they have.
 *
 * The story is run again without a custom resource that is created and deleted while others stay. Nothing may exist
 * then that is missing with it. If two of them share something under one name (a cluster-scoped object, a queue in an
 * external broker), the first to go takes it along. A metamorphic relation between two runs (Chen, 1998), which needs
 * no knowledge of either.
 */
import { keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import { type Recording, seen } from "../recording/Recording.ts"
import * as Canonical from "../state/Canonical.ts"
import { entriesOf, pathOf } from "../state/Outside.ts"
import type { Oracle } from "./Oracle.ts"

/** For each step, what people change in it: everything that happens before anybody else does something. */
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
 * Custom resources that separate steps created, changed and deleted while others stay, each with those steps. One that
 * changed nothing (because others ask for the same) is included: without the others it would have.
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

/** What one run keeps outside under keys that another run does not have. */
const missing = (run: Recording, other: Recording, mask: Canonical.Mask): string | undefined => {
  for (const [name, value] of other.outside) {
    if (mask.has(`${pathOf(name)}{}`)) continue
    const found = new Set(entriesOf(run.outside.get(name))?.map(([key]) => key))
    const lost = entriesOf(value)?.find(([key]) => !found.has(key))
    if (lost !== undefined) return `outside ${name}: ${lost[0]}`
  }
  return undefined
}

/** Whether there has been an object of a family at any time. */
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
      if (run.objects.some((next) => next.kind === kind && keyString(next) === keyString(metadata))) {
        return `${kind} ${metadata.name} is created again after its deletion, and lacks what it has in the end if it is ` +
          `created only then (is something remembered by its name that is true of the first one only?): ${lost}`
      }
      const makes = fewer === undefined || wasThere(run, fewer[0], mask)
      return makes
        ? `deleting ${kind} ${metadata.name} also removes what exists in the end if it is never created: ${lost}`
        : `after ${kind} ${metadata.name} is deleted, what exists in the end if it is never created is not made, although ` +
          `nothing is in its way any more (the deletion triggers no reconcile, or something remembers it): ${lost}`
    }
    return undefined
  }
}
