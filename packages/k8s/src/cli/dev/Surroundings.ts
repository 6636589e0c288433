/**
 * `Surroundings`: the environment variables of an operator in development, in addition to the user's environment.
 *
 * These are the variables of the manifests (`operator.env`), and those that adapt the operator to this machine:
 * metrics, probes and hooks are served on free ports for this machine only, it stops without lingering, and logs are
 * readable lines. For hooks, log format and lingering, the user's environment has precedence, then the manifests.
 */
import * as Linger from "../../Linger.ts"
import * as WebhookAddress from "../../webhook/WebhookAddress.ts"
import type { Description } from "../Description.ts"

/** Free ports of this machine. */
export interface Ports {
  readonly metrics: number
  readonly probes: number
  readonly webhooks: number
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
  const wanted = {
    EFFECT_OPERATOR_LOG_FORMAT: "pretty",
    [WebhookAddress.variable]: local(ports.webhooks),
    // When it stops, no other replica could be called instead.
    [Linger.variable]: "0",
    ...env
  }
  return {
    ...Object.fromEntries(Object.entries(wanted).filter(([name]) => environment[name] === undefined)),
    EFFECT_OPERATOR_METRICS_ADDRESS: local(ports.metrics),
    EFFECT_OPERATOR_PROBES_ADDRESS: local(ports.probes),
    POD_NAMESPACE: namespace
  }
}

/** The port on which the operator serves its hooks. */
export const webhooksPort = (
  { env }: Pick<Program, "env">,
  { webhooks }: Pick<Ports, "webhooks">,
  environment: Environment
): number => {
  const address = environment[WebhookAddress.variable] ?? env[WebhookAddress.variable]
  // If the address is invalid, the operator itself refuses it.
  return address === undefined ? webhooks : WebhookAddress.parse(address)?.port ?? webhooks
}
