/**
 * `Lease`: the Leases by which the replicas of an operator elect who reconciles.
 *
 * One for all controllers, or one for each of them. Permissions, the environment of the pod and the way a new version
 * follows an old one are made from this, so that none of them speaks of another Lease than the operator takes.
 */
import type * as Controller from "@effect-operator/core/Controller"
import * as LeaderElection from "@effect-operator/core/LeaderElection"

/** Whether replicas elect a leader, and what one lease stands for; the manager by default: all controllers. */
export type Election = boolean | { readonly per?: "manager" | "controller" | undefined }

export interface Lease {
  /** The operator's name, to which those of the controllers are added where each has a lease of its own. */
  readonly name: string
  readonly per: "manager" | "controller"
}

/** What an operator of that name elects by; nothing where there is no election. */
export const of = (name: string, election: Election = true): Lease | undefined =>
  election === false ? undefined : { name, per: election === true ? "manager" : election.per ?? "manager" }

/** The names of the objects. */
export const names = (
  { name, per }: Lease,
  controllers: ReadonlyArray<Pick<Controller.Controller<any>, "name">>
): ReadonlyArray<string> =>
  per === "manager" ? [name] : controllers.map((controller) => LeaderElection.nameOf(name, controller.name))
