/**
 * `Disowned`: what keeps working after the operator deleted the object for which the cluster created it.
 *
 * A deletion that orphans (`propagationPolicy`; the default for a Job) leaves everything below in place, for a
 * successor that takes it over with a selector. If there is none, Pods keep running that nobody knows. If the last
 * custom resource is gone, the oracle "nothing left behind" reports this.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { taken } from "../recording/Excuses.ts"
import { cited, isOver, type Recording } from "../recording/Recording.ts"
import { name, writes } from "../recording/Writes.ts"

/** Kinds that do work, and that the cluster creates for others. */
const working: ReadonlySet<string> = new Set(["ReplicaSet", "Job", "Pod"])

/** What the operator has deleted, and how, by uid. */
const deletions = (run: Recording): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const { after, call } of writes(run)) {
    if (call.request.method === "DELETE") found.set(after.metadata.uid, cited(call))
  }
  return found
}

/** Whatever belongs to nobody any more and still works, as a complaint. */
export const disowned = (run: Recording): string | undefined => {
  if (taken(run) || !run.objects.some((object) => run.kinds.includes(object.kind) && !isTerminating(object))) {
    return undefined
  }
  const free = run.objects.filter((object) =>
    working.has(object.kind) && (object.metadata.ownerReferences ?? []).length === 0 && !isOver(object) &&
    !isTerminating(object)
  )
  if (free.length === 0) return undefined
  const deleted = deletions(run)
  for (const object of free) {
    const born = run.entries.find((entry) =>
      entry._tag === "Change" && entry.change.object.metadata.uid === object.metadata.uid
    )
    const { ownerReferences = [] } = born?._tag === "Change" ? born.change.object.metadata : {}
    const owner = ownerReferences.find(({ controller, uid }) => controller === true && deleted.has(uid))
    if (owner === undefined) continue
    return `${name(object)} remains, although its owner ${owner.kind} ${owner.name} was deleted without it ` +
      `(\`propagationPolicy\`), and nothing has adopted it: ${deleted.get(owner.uid)}`
  }
  return undefined
}
