/**
 * `PodResources`: the requests and limits of a Pod as a whole.
 *
 * Containers run together, init containers one after the other, so the Pod needs the sum of the former or the maximum
 * of the latter, whichever is greater. Sidecars (restartable init containers) run beside everything that starts after
 * them. Pod-level resources take precedence.
 *
 * Source: k8s.io/component-helpers/resource/helpers.go (`PodRequests`, `PodLimits`).
 */
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Quantity from "../../api/Quantity.ts"

/** Quantities by resource name. */
export type Amounts = Readonly<Record<string, string>>

const amounts = (value: unknown, key: "requests" | "limits"): Amounts =>
  Object.fromEntries(Object.entries(objectAt(value, "resources", key)).map(([name, amount]) => [name, String(amount)]))

const merged = (a: Amounts, b: Amounts, f: (x: string, y: string) => string): Amounts => {
  const out: Record<string, string> = { ...a }
  for (const [name, amount] of Object.entries(b)) out[name] = name in out ? f(out[name]!, amount) : amount
  return out
}

/** The sum, by name. */
export const plus = (a: Amounts, b: Amounts): Amounts => merged(a, b, Quantity.add)

/** The maximum, by name. */
const most = (a: Amounts, b: Amounts): Amounts => merged(a, b, (x, y) => Quantity.compare(x, y) < 0 ? y : x)

/** Whether a resource can be set at Pod level. */
export const isPodLevel = (name: string): boolean =>
  name === "cpu" || name === "memory" || name.startsWith("hugepages-")

/** The requests or limits of all containers of a Pod together. */
export const ofContainers = (pod: unknown, key: "requests" | "limits"): Amounts => {
  const spec = objectAt(pod, "spec")
  let sum: Amounts = {}
  for (const container of arrayAt(spec, "containers")) sum = plus(sum, amounts(container, key))
  let sidecars: Amounts = {}
  let initial: Amounts = {}
  for (const container of arrayAt(spec, "initContainers")) {
    const own = amounts(container, key)
    const isSidecar = stringAt(container, "restartPolicy") === "Always"
    if (isSidecar) {
      sum = plus(sum, own)
      sidecars = plus(sidecars, own)
    }
    initial = most(initial, isSidecar ? sidecars : plus(own, sidecars))
  }
  return most(sum, initial)
}

const total = (pod: unknown, key: "requests" | "limits"): Amounts => {
  const own = Object.entries(amounts(at(pod, "spec"), key)).filter(([name]) => isPodLevel(name))
  return { ...ofContainers(pod, key), ...Object.fromEntries(own) }
}

export const requests = (pod: unknown): Amounts => total(pod, "requests")
export const limits = (pod: unknown): Amounts => total(pod, "limits")

/** The requests and limits of one container. */
export const ofContainer = (container: unknown): { readonly requests: Amounts; readonly limits: Amounts } => ({
  requests: amounts(container, "requests"),
  limits: amounts(container, "limits")
})

/** Whether a Pod has Pod-level resources. */
export const isPodLevelSet = (pod: unknown): boolean =>
  (["requests", "limits"] as const).some((key) =>
    Object.keys(objectAt(at(pod, "spec"), "resources", key)).some(isPodLevel)
  )
