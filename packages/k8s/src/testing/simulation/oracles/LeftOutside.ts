/**
 * `LeftOutside`: what exists outside under a former name is removed too.
 *
 * People have replaced a name. With the last custom resource, the operator removes what it created outside under the
 * new name, but what it created under the old one stays, and nobody knows of it any more. What is left on purpose (a
 * record, a backup) does not have the same name apart from the replaced part.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { guard } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import { keysOf } from "../state/Outside.ts"
import type { Oracle } from "./Oracle.ts"
import { replacedIn } from "./Outdated.ts"
import { isTold } from "./Refused.ts"

/** The custom resources that existed before the last step, and that the operator had to release. */
const lastOnes = (run: Recording): ReadonlyArray<KubeObject> =>
  (run.rests.at(-1)?.objects ?? []).filter(({ kind, metadata: { finalizers = [] } }) =>
    run.kinds.includes(kind) && finalizers.some((finalizer) => finalizer !== guard)
  )

export const leftOutside: Oracle = {
  name: "nothing left outside under an earlier name",
  judge: (run, { recording }) => {
    if (run !== recording || run.failure !== undefined || run.begun.step > 0) return undefined
    if (run.objects.some(({ kind }) => run.kinds.includes(kind))) return undefined
    const before = keysOf(run.rests.at(-1)?.outside ?? new Map())
    const after = new Set(keysOf(run.outside))
    const left = before.filter((key) => after.has(key))
    const gone = before.filter((key) => !after.has(key))
    if (left.length === 0 || gone.length === 0 || isTold(run)) return undefined
    for (const object of lastOnes(run)) {
      for (const { now, old, path } of replacedIn(run, object)) {
        const went = gone.find((key) => key.includes(now) && left.includes(key.replaceAll(now, old)))
        if (went === undefined) continue
        return `outside ${went.replaceAll(now, old)} is left over from when ${path} was ${
          JSON.stringify(old)
        }; what has ` +
          `replaced it is removed with ${name(object)}: ${went}`
      }
    }
    return undefined
  }
}
