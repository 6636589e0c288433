/**
 * `Lease`: the Leases with which the replicas of an operator elect a leader.
 *
 * There is one Lease for all controllers, or one for each controller or, if replicas share the objects, one for each
 * replica. The permissions, the environment of the pod and the rollout strategy are all derived from this, so that they
 * agree on the Leases that the operator uses.
 */
import type * as Controller from "@effect-operator/core/Controller"
import * as LeaderElection from "@effect-operator/core/LeaderElection"

/** Whether replicas elect a leader, and for what; by default one for the manager, that is, for all controllers. */
export type Election = boolean | { readonly per?: LeaderElection.Per | undefined }

export interface Lease {
  /** The operator's name, to which the name of a controller or replica is appended. */
  readonly name: string
  readonly per: LeaderElection.Per
}

/**
 * The names of an operator's leases; or `"replicas"`, whose names are not known in advance and which delete the leases
 * of vanished replicas; or `"shards"` of a ring, which do not delete any.
 */
export type Names = ReadonlyArray<string> | "replicas" | "shards"

/** The lease of an operator with this name; undefined without election. */
export const of = (name: string, election: Election = true): Lease | undefined =>
  election === false ? undefined : { name, per: election === true ? "manager" : election.per ?? "manager" }

/** The names of the Lease objects. */
export const names = (
  { name, per }: Lease,
  controllers: ReadonlyArray<Pick<Controller.Controller<any>, "name">>
): Names => {
  switch (per) {
    case "manager":
      return [name]
    case "controller":
      return controllers.map((controller) => LeaderElection.nameOf(name, controller.name))
    case "object":
      return "replicas"
    case "ring":
      return "shards"
  }
}
