/**
 * `HandlerRules`: validates probes and lifecycle hooks of containers.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateProbe`, `validateLifecycle`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import * as Amounts from "../Amounts.ts"
import { type Faults, invalids, oneOfGiven, required, when } from "../Checks.ts"
import { portOrName } from "./PortRules.ts"

const headerFormat = "[-A-Za-z0-9]+"

const headerFaults = (name: string): ReadonlyArray<string> =>
  new RegExp(`^${headerFormat}$`).test(name) ? [] : [
    `a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for ` +
    `validation is '${headerFormat}')`
  ]

type Action = (action: unknown, path: string, grace: unknown) => Faults

const actions: Readonly<Record<string, Action>> = {
  exec: (action, path) => when(arrayAt(action, "command").length === 0, FieldError.required(`${path}.command`, "")),
  httpGet: (action, path) => [
    ...required(action, path, "path"),
    ...portOrName(`${path}.port`, at(action, "port") ?? 0),
    ...oneOfGiven(action, "scheme", path, ["HTTP", "HTTPS"]),
    ...arrayAt(action, "httpHeaders").map((header) => stringAt(header, "name")).flatMap((name) =>
      invalids(`${path}.httpHeaders`, name, headerFaults(name))
    )
  ],
  tcpSocket: (action, path) => portOrName(`${path}.port`, at(action, "port") ?? 0),
  grpc: (action, path) => portOrName(`${path}.port`, at(action, "port") ?? 0),
  sleep: (action, path, grace) => {
    const seconds = at(action, "seconds") ?? 0
    return when(
      typeof grace === "number" && typeof seconds === "number" && (seconds < 0 || seconds > grace),
      FieldError.invalid(
        path,
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${String(grace)})`
      )
    )
  }
}

const handler = (path: string, value: unknown, grace: unknown): Faults => {
  const [first, ...others] = Object.keys(actions).filter((name) => at(value, name) !== undefined)
  if (first === undefined) return [FieldError.required(path, "must specify a handler type")]
  return [
    ...actions[first]!(at(value, first), `${path}.${first}`, grace),
    ...others.map((name) => FieldError.forbidden(`${path}.${name}`, "may not specify more than 1 handler type"))
  ]
}

const amounts = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]

/** Probes, and whether their success threshold must be 1, as in those that start or stop a container. */
const probes: ReadonlyArray<readonly [field: string, single: boolean]> = [
  ["livenessProbe", true],
  ["readinessProbe", false],
  ["startupProbe", true]
]

/** Fields that init and ephemeral containers may not have. */
export const ofRunning: ReadonlyArray<string> = ["lifecycle", ...probes.map(([field]) => field)]

const probeFaults = (container: unknown, path: string, grace: unknown): Faults =>
  probes.flatMap(([field, single]) => {
    const probe = at(container, field)
    if (probe === undefined) return []
    const here = `${path}.${field}`
    const successes = at(probe, "successThreshold")
    const period = at(probe, "terminationGracePeriodSeconds")
    const periodPath = `${here}.terminationGracePeriodSeconds`
    return [
      ...handler(here, probe, grace),
      ...Amounts.notNegativeAt(here, probe, ...amounts),
      ...when(
        typeof period === "number" && period <= 0,
        FieldError.invalid(periodPath, period, "must be greater than 0")
      ),
      ...(single
        ? when(successes !== 1, FieldError.invalid(`${here}.successThreshold`, successes ?? 0, "must be 1"))
        : when(period !== undefined, FieldError.invalid(periodPath, period, "must not be set for readinessProbes")))
    ]
  })

/** Faults of the hooks and probes of a container. `grace` is the grace period of the Pod. */
export const faults = (container: unknown, path: string, grace: unknown): Faults => [
  ...["postStart", "preStop"].flatMap((hook) => {
    const value = at(container, "lifecycle", hook)
    return value === undefined ? [] : handler(`${path}.lifecycle.${hook}`, value, grace)
  }),
  ...probeFaults(container, path, grace)
]
