/**
 * `Surroundings`: what an operator in development finds in its environment, besides that of whoever runs it.
 *
 * What the manifests give it (`operator.env`), and what makes it one on this machine: metrics and probes are served to this
 * machine alone, on ports that are free, it stops at once, and lines are for people. Lines are as the environment says, else the manifests,
 * where one of them says anything.
 */
import * as Linger from "../../Linger.ts"
import type { Description } from "../Description.ts"

/** Ports of this machine that nobody listens on. */
export interface Ports {
  readonly metrics: number
  readonly probes: number
}

type Environment = Readonly<Record<string, string | undefined>>

type Program = Pick<Description, "env" | "namespace">

const local = (port: number): string => `127.0.0.1:${port}`

/** The variables to set. */
export const variables = (
  { env, namespace }: Program,
  ports: Ports,
  environment: Environment
): Readonly<Record<string, string>> => {
  // Nobody else is there to be called instead of it when it stops.
  const wanted = { EFFECT_OPERATOR_LOG_FORMAT: "pretty", [Linger.variable]: "0", ...env }
  return {
    ...Object.fromEntries(Object.entries(wanted).filter(([name]) => environment[name] === undefined)),
    EFFECT_OPERATOR_METRICS_ADDRESS: local(ports.metrics),
    EFFECT_OPERATOR_PROBES_ADDRESS: local(ports.probes),
    POD_NAMESPACE: namespace
  }
}
