/**
 * `ResourceQuota`: refuses requests that exceed a quota of the namespace, and charges the others.
 *
 * Limits and usage come from the status of the quotas. A controller has to fill it in, and to recalculate after
 * deletions and failed requests. Without one, quotas allow everything, as in a real server.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { asObject, objectAt } from "../../api/Plain.ts"
import type { StatusError } from "../../api/StatusError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Admission from "../Admission.ts"
import { storageKey } from "../server/Exchange.ts"
import * as PodResources from "../server/PodResources.ts"
import * as QuotaUsage from "../server/QuotaUsage.ts"
import * as Quantity from "../../api/Quantity.ts"

type Amounts = QuotaUsage.Amounts

const quotas = "resourcequotas"

/** Never charged. */
const ignored: ReadonlySet<string> = new Set([
  "events",
  "bindings",
  "tokenreviews.authentication.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io"
])

const isCounted = ({ object, oldObject, operation, resource, subresource }: Admission.Attributes): boolean => {
  if (operation !== "CREATE" && operation !== "UPDATE") return false
  if (ignored.has(resource.collection)) return false
  switch (resource.collection) {
    case "pods":
      return subresource === "resize"
        ? operation === "UPDATE"
        : subresource === "" &&
          (operation === "CREATE" || QuotaUsage.isTerminating(object) !== QuotaUsage.isTerminating(oldObject))
    case "services":
    case "persistentvolumeclaims":
      return subresource === ""
    default:
      return subresource === "" && operation === "CREATE"
  }
}

const pick = (amounts: Amounts, names: ReadonlyArray<string>): Amounts =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => names.includes(name)))

const print = (amounts: Amounts): string =>
  Object.keys(amounts).sort().map((name) => `${name}=${amounts[name]}`).join(",")

/** What an update adds; decreases count as nothing. */
const difference = (next: Amounts, previous: Amounts): Amounts =>
  Object.fromEntries(
    Object.entries(next).map(([name, amount]) => {
      const left = Quantity.subtract(amount, previous[name] ?? "0")
      return [name, Quantity.billionths(left) < 0n ? "0" : left]
    })
  )

const withoutZeros = (amounts: Amounts): Amounts =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => Quantity.billionths(amount) !== 0n))

/** One quota after a request: unchanged, with more usage, or why the request exceeds it. */
const charge = (
  attributes: Admission.Attributes,
  quota: KubeObject,
  evaluator: QuotaUsage.Evaluator,
  now: number
): KubeObject | StatusError => {
  const { oldObject, subresource } = attributes
  const object = attributes.object!
  const hard = QuotaUsage.amountsAt(quota, "status", "hard")
  const used = QuotaUsage.amountsAt(quota, "status", "used")
  const { name } = quota.metadata
  if (!QuotaUsage.covers(evaluator, quota, hard, object)) return quota
  const concerned = Object.keys(hard).filter(evaluator.concerns)
  const unspecified = evaluator.unspecified(concerned, object)
  if (unspecified !== undefined) return Admission.forbidden(attributes, `failed quota: ${name}: ${unspecified}`)
  if (concerned.some((entry) => used[entry] === undefined)) {
    return Admission.forbidden(
      attributes,
      `status unknown for quota: ${name}, resources: ${[...concerned].sort().join(",")}`
    )
  }
  const usage = evaluator.usage(object, now)
  const negative = Object.keys(usage).filter((entry) => Quantity.billionths(usage[entry]!) < 0n).sort()
  if (negative.length > 0) {
    return Admission.forbidden(attributes, `quota usage is negative for resource(s): ${negative.join(",")}`)
  }
  const before = oldObject !== undefined && QuotaUsage.covers(evaluator, quota, hard, oldObject)
    ? evaluator.usage(oldObject, now)
    : {}
  const requested = pick(withoutZeros(difference(usage, before)), Object.keys(hard))
  const next = PodResources.plus(used, requested)
  const exceeded = Object.keys(requested).filter((entry) => Quantity.compare(next[entry]!, hard[entry]!) > 0)
  if (exceeded.length > 0 && subresource !== "status") {
    return Admission.forbidden(
      attributes,
      `exceeded quota: ${name}, requested: ${print(pick(requested, exceeded))}, used: ${
        print(pick(used, exceeded))
      }, ` +
        `limited: ${print(pick(hard, exceeded))}`
    )
  }
  return JsonValue.equals(next, used)
    ? quota
    : asObject({ ...quota, status: { ...objectAt(quota, "status"), used: next } })
}

/** A real server guarantees no order, but its order is almost always that of creation. */
const byAge = (a: KubeObject, b: KubeObject): number => {
  const [left, right] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""]
  return left < right ? -1 : left > right ? 1 : 0
}

export const plugin = ({ storage }: Admission.Server): Admission.Plugin => ({
  name: "ResourceQuota",
  handles: (attributes) =>
    attributes.namespace !== "" && isCounted(attributes) && storage.count(quotas, attributes.namespace) > 0,
  validate: (attributes) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.suspend(() => {
        const { namespace } = attributes
        const evaluator = QuotaUsage.evaluatorOf(attributes.resource.collection)
        const { get, keys } = storage.list(quotas, namespace)
        const charged: Array<KubeObject> = []
        for (const quota of keys.map(get).sort(byAge)) {
          const result = charge(attributes, quota, evaluator, now)
          if ("body" in result) return Effect.fail(result)
          if (result !== quota) charged.push(result)
        }
        if (!attributes.dryRun) {
          for (const quota of charged) storage.put(quotas, storageKey(namespace, quota.metadata.name), namespace, quota)
        }
        return Effect.void
      }))
})
