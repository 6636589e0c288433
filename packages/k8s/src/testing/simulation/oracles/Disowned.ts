/**
 * `Disowned`: what goes on by itself since the operator has deleted whom the cluster had made it for.
 *
 * A deletion that orphans (`propagationPolicy`, and that of a Job by default) takes along nothing of what is below: it is for
 * whoever puts something in the place of what goes, with a selector that takes it over. Where nobody does, Pods run on that
 * nobody knows of. Where the last custom resource is gone, "nothing left behind" tells of that.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { taken } from "../recording/Excuses.ts"
import { isOver, line, type Recording } from "../recording/Recording.ts"
import { name, writes } from "../recording/Writes.ts"

/** Kinds that work, which the cluster makes for others. */
const working: ReadonlySet<string> = new Set(["ReplicaSet", "Job", "Pod"])

/** What the operator has deleted, and how, by uid. */
const deletions = (run: Recording): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const { after, call } of writes(run)) {
    if (call.request.method === "DELETE") found.set(after.metadata.uid, line(call.request))
  }
  return found
}

/** What is nobody's any more, and works, as a complaint. */
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
