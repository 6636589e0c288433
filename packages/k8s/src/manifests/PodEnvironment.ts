/**
 * `PodEnvironment`: what the additional variables of a pod (`env`) change in its manifests.
 *
 * The operator reads them when it starts, so whatever the manifests derive from the same figures has to follow: the
 * grace period from drain and linger, the ports from the addresses. Permissions are derived from options alone, so that
 * they can be derived without the pod: a variable that contradicts them is refused.
 */
import { parseDuration } from "@effect-operator/core/Settings"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Endpoints from "../Endpoints.ts"
import type { Lease } from "./Lease.ts"

export type Env = Readonly<Record<string, string>>

const refuse = (name: string, value: string, why: string): never => {
  throw new Error(`Manifests: env: ${name}: ${JSON.stringify(value)}: ${why}`)
}

/** The duration in a variable, or else the given one. */
export const duration = (env: Env, name: string, otherwise: Duration.Input): Duration.Duration => {
  const value = env[name]
  return value === undefined
    ? Duration.fromInputUnsafe(otherwise)
    : Option.getOrElse(parseDuration(value), () => refuse(name, value, "must be a duration, such as 90s or 1m30s"))
}

/** The port of the address in a variable, or else of the given one; undefined if nothing is served. */
export const port = (env: Env, name: string, otherwise: string): number | undefined => {
  const address = Endpoints.parseAddress(env[name] ?? otherwise)
  if (address === undefined) return refuse(name, env[name]!, "must be host:port or :port")
  return address === "off" ? undefined : address.port
}

/** As `port`, for what the pod cannot do without. */
export const needed = (env: Env, name: string, otherwise: string): number =>
  port(env, name, otherwise) ?? refuse(name, env[name]!, "it is called by the cluster: give it an address")

const isTrue = (value: string): boolean => /^(true|yes|on|1|y)$/i.test(value)

export interface Options {
  readonly env?: Env | undefined
  readonly namespace: string
  readonly lease: Lease | undefined
  readonly authentication: boolean
}

/** Throws if a variable contradicts an option from which permissions are derived. */
export const check = ({ authentication, env = {}, lease, namespace }: Options): void => {
  const derived: ReadonlyArray<
    readonly [variable: string, agrees: (value: string) => boolean, option: string, remedy: (value: string) => string]
  > = [
    [
      "EFFECT_OPERATOR_LEADER_ELECTION",
      (value) => isTrue(value) === (lease !== undefined),
      "leaderElection",
      (value) => `leaderElection: ${isTrue(value)}`
    ],
    [
      "EFFECT_OPERATOR_LEASE_PER",
      (value) => value === (lease?.per ?? "manager"),
      "leaderElection",
      (value) => `leaderElection: { per: ${JSON.stringify(value)} }`
    ],
    [
      "EFFECT_OPERATOR_LEASE_NAME",
      (value) => lease === undefined || value === lease.name,
      "name",
      (value) => `name: ${JSON.stringify(value)}`
    ],
    [
      "EFFECT_OPERATOR_LEASE_NAMESPACE",
      (value) => lease === undefined || value === namespace,
      "namespace",
      (value) => `namespace: ${JSON.stringify(value)}`
    ],
    [
      "EFFECT_OPERATOR_METRICS_AUTHENTICATION",
      (value) => isTrue(value) === authentication,
      "authentication",
      (value) => `authentication: ${isTrue(value)}`
    ]
  ]
  for (const [variable, agrees, option, remedy] of derived) {
    const value = env[variable]
    if (value === undefined || agrees(value)) continue
    refuse(
      variable,
      value,
      `the permissions are derived from \`${option}\`: set \`${remedy(value)}\`, and remove the variable`
    )
  }
}
