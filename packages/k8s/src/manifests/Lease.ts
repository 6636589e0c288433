/**
 * `Lease`: the Leases by which the replicas of an operator elect who reconciles.
 *
 * One for all controllers, one for each of them, or, where they share the objects, one of each replica. Permissions, the
 * environment of the pod and the way a new version follows an old one are made from this, so that none of them speaks of
 * another Lease than the operator takes.
 */
import type * as Controller from "@effect-operator/core/Controller"
import * as LeaderElection from "@effect-operator/core/LeaderElection"

/** Whether replicas elect a leader, and of what; of the manager by default: all controllers. */
export type Election = boolean | { readonly per?: LeaderElection.Per | undefined }

export interface Lease {
  /** The operator's name, to which those of the controllers, or of the replicas, are added. */
  readonly name: string
  readonly per: LeaderElection.Per
}

/**
 * The names of leases that an operator has, or of whom they are: of its replicas, whose names nobody knows before, and
 * who delete what others have left; or of shards of a ring, who do not.
 */
export type Names = ReadonlyArray<string> | "replicas" | "shards"

/** What an operator of that name elects by; nothing where there is no election. */
export const of = (name: string, election: Election = true): Lease | undefined =>
  election === false ? undefined : { name, per: election === true ? "manager" : election.per ?? "manager" }

/** The names of the objects. */
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
