/**
 * `Surroundings`: what an operator in development finds in its environment, besides that of whoever runs it.
 *
 * What the manifests give it (`operator.env`), and what makes it one on this machine: metrics, probes and hooks are served
 * to this machine alone, on ports that are free, it stops at once, and lines are for people. Hooks, lines and how long it
 * lingers are as the environment says, else the manifests, where one of them says anything.
 */
import * as Linger from "../../Linger.ts"
import * as WebhookAddress from "../../webhook/WebhookAddress.ts"
import type { Description } from "../Description.ts"

/** Ports of this machine that nobody listens on. */
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
    // Nobody else is there to be called instead of it when it stops.
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

/** Where its hooks are served, for whoever calls them. */
export const webhooksPort = (
  { env }: Pick<Program, "env">,
  { webhooks }: Pick<Ports, "webhooks">,
  environment: Environment
): number => {
  const address = environment[WebhookAddress.variable] ?? env[WebhookAddress.variable]
  // The operator itself refuses one that is no address.
  return address === undefined ? webhooks : WebhookAddress.parse(address)?.port ?? webhooks
}
