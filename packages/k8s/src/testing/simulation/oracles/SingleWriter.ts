/**
 * `SingleWriter`: of several replicas only one writes at a time, the holder of the lease.
 *
 * There may be one lease for everything that a process does, or one for each of its controllers.
 */
import { isElected, isElection, isEvent } from "../recording/Fault.ts"
import { accepted, type Call, calls, cited } from "../recording/Recording.ts"
import type { Oracle } from "./Oracle.ts"

/** The last write that took a lease, as of a revision. */
interface Held {
  readonly lease: string
  readonly revision: number
  readonly replica: number | undefined
  readonly identity: string
}

/** The leases that a write may be under: if each controller has its own, the one named after the writer. */
const leasesOf = ({ request }: Call, leases: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [, manager] = request.query.find(([name]) => name === "fieldManager") ?? []
  const own = leases.filter((lease) => lease.endsWith(`-${manager}`))
  return own.length > 0 ? own : leases
}

/** Of several replicas, only the holder of the lease changes anything. */
export const singleWriter: Oracle = {
  name: "single writer",
  judge: (run) => {
    // A replica may use any identity: the holder of the lease is whoever wrote it last.
    const writes = calls(run).filter((call) => isElection(call.request) && accepted(call) && call.after > call.before)
    const held = run.entries.flatMap((entry): ReadonlyArray<Held> => {
      if (entry._tag !== "Change" || !isElected(entry.change.object) || entry.change.type === "DELETED") return []
      const { object, revision } = entry.change
      const { holderIdentity = "" } = (object as { readonly spec?: { readonly holderIdentity?: string } }).spec ?? {}
      const { replica } = writes.find(({ after, before }) => before < revision && revision <= after) ?? {}
      return [{
        lease: object.metadata.name,
        revision,
        replica: holderIdentity === "" ? undefined : replica,
        identity: holderIdentity
      }]
    })
    if (held.length === 0) return undefined
    const all = [...new Set(held.map(({ lease }) => lease))]
    const several = new Set(calls(run).map(({ replica }) => replica)).size > 1
    for (const call of calls(run)) {
      if (!accepted(call) || call.after === call.before || isElection(call.request) || isEvent(call.request.path)) {
        continue
      }
      const holders = leasesOf(call, all).flatMap((name) =>
        held.findLast(({ lease, revision }) => lease === name && revision <= call.before) ?? []
      )
      if (holders.length === 0 && several) {
        return `${cited(call)} of replica ${call.replica} was accepted before any replica held the lease`
      }
      const [other] = holders
      if (other === undefined || holders.some(({ replica }) => replica === undefined || replica === call.replica)) {
        continue
      }
      return `${cited(call)} of replica ${call.replica} was accepted while the lease ${other.lease} was ` +
        `held by ${other.identity}, replica ${other.replica}`
    }
    return undefined
  }
}
