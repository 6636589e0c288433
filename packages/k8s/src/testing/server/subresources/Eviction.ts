/**
 * `Eviction`: deletes a Pod if its disruption budget allows that, and records the reason in a condition.
 *
 * Pods that have finished, were never started or are being deleted already can always be evicted. A Pod that is not
 * ready does not count as healthy in the budget: it can be evicted if the budget's policy says so or if enough others
 * are healthy. Any other Pod uses one of the allowed disruptions.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Effect from "effect/Effect"
import * as Deletion from "../../../api/Deletion.ts"
import * as DeletionOptions from "../../../api/DeletionOptions.ts"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as Exchange from "../Exchange.ts"
import * as Ownership from "../verbs/Ownership.ts"
import { deleteObject } from "../verbs/VerbsDelete.ts"
import * as Posting from "./Posting.ts"

const budgets = "poddisruptionbudgets.policy"

type Refused = StatusError.StatusError

/** The budgets that select a Pod. */
const budgetsOf = ({ core, route }: Exchange.Exchange, pod: KubeObject): ReadonlyArray<KubeObject> => {
  const { get, keys } = core.storage.list(budgets, route.namespace)
  return keys.map(get).filter((budget) => {
    const selector = Selector.fromObject(at(budget, "spec", "selector") as Selector.LabelSelectorObject | undefined)
    return selector !== undefined && Selector.matchesLabels(selector, pod.metadata.labels)
  })
}

/** Whether a Pod has finished or never started, so its eviction disrupts nothing. */
const harmless = (pod: KubeObject): boolean =>
  ["Succeeded", "Failed", "Pending"].includes(stringAt(pod, "status", "phase")) ||
  pod.metadata.deletionTimestamp !== undefined

const condition = (object: KubeObject, type: string): unknown =>
  arrayAt(object, "status", "conditions").find((entry) => stringAt(entry, "type") === type)

const isReady = (pod: KubeObject): boolean => stringAt(condition(pod, "Ready"), "status") === "True"

const amount = (budget: KubeObject, key: string): number => {
  const value = at(budget, "status", key)
  return typeof value === "number" ? value : 0
}

/** Whether a Pod that is not ready can be evicted without using a disruption. */
const uncounted = (budget: KubeObject): boolean =>
  stringAt(budget, "spec", "unhealthyPodEvictionPolicy") === "AlwaysAllow" ||
  (amount(budget, "currentHealthy") >= amount(budget, "desiredHealthy") && amount(budget, "desiredHealthy") > 0)

const stillProcessed = ({ metadata: { name } }: KubeObject): Refused =>
  StatusError.evictionRefused(
    [{ reason: "DisruptionBudget", message: `The disruption budget ${name} is still being processed by the server.` }],
    10
  )

/** Why a budget allows no disruption. */
const exhausted = (budget: KubeObject): string => {
  const named = `The disruption budget ${budget.metadata.name}`
  const allowed = condition(budget, "DisruptionAllowed")
  const [reason, message] = [stringAt(allowed, "reason"), stringAt(allowed, "message")]
  const explained = stringAt(allowed, "status") === "False" && message !== ""
  const [healthy, desired] = [amount(budget, "currentHealthy"), amount(budget, "desiredHealthy")]
  return explained && reason === "SyncFailed"
    ? `${named} does not allow evicting pods currently because it failed sync: ${message}`
    : healthy <= desired
    ? `${named} needs ${desired} healthy pods and has ${healthy} currently`
    : `${named} does not allow evicting pods currently${explained ? ` (${reason}): ${message}` : ""}`
}

/** Replaces the condition of a type; the transition time changes only with the status. */
const withCondition = (
  conditions: ReadonlyArray<unknown>,
  next: JsonValue.JsonObject,
  now: number
): ReadonlyArray<unknown> => {
  const index = conditions.findIndex((entry) => stringAt(entry, "type") === next["type"])
  const before = conditions[index]
  const lastTransitionTime = stringAt(before, "status") === next["status"]
    ? at(before, "lastTransitionTime")
    : Exchange.timestamp(now)
  const entry = { ...next, lastTransitionTime }
  return index < 0 ? [...conditions, entry] : conditions.with(index, entry)
}

/** Uses one disruption of the budget, or returns why that is not allowed. */
const spend = (exchange: Exchange.Exchange, budget: KubeObject, dryRun: boolean): Refused | undefined => {
  const { core, now, route } = exchange
  const { generation = 0, name } = budget.metadata
  if (amount(budget, "observedGeneration") < generation) return stillProcessed(budget)
  const left = amount(budget, "disruptionsAllowed") - 1
  if (left < 0) return StatusError.evictionRefused([{ reason: "DisruptionBudget", message: exhausted(budget) }])
  if (dryRun) return undefined
  const status = objectAt(budget, "status")
  const none = {
    type: "DisruptionAllowed",
    observedGeneration: amount(budget, "observedGeneration"),
    status: "False",
    reason: "InsufficientPods",
    message: ""
  }
  const spent = asObject({
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: left,
      disruptedPods: { ...objectAt(status, "disruptedPods"), [route.name]: Exchange.timestamp(now) },
      ...(left > 0 ? {} : { conditions: withCondition(arrayAt(status, "conditions"), none, now) })
    }
  })
  const of = { collection: budgets, definition: "io.k8s.api.policy.v1.PodDisruptionBudget", now }
  const owned = Ownership.statusTouched(of, budget, spent)
  core.storage.put(budgets, Exchange.storageKey(route.namespace, name), route.namespace, owned)
  return undefined
}

/** The options of the deletion, from the body of the eviction and the request. */
const optionsOf = (body: unknown, dryRun: boolean): Deletion.DeleteOptions | Refused => {
  const said = DeletionOptions.of(objectAt(body, "deleteOptions"))
  if (!dryRun) return said
  if (at(body, "deleteOptions") === undefined) return { ...said, dryRun: ["All"] }
  return said.dryRun.length === 1 && said.dryRun[0] === "All"
    ? said
    : StatusError.plain(
      `Non-matching dry-run options in request and content: [All] and [${said.dryRun.join(" ")}]`
    )
}

/** Marks a Pod as evicted, without adding managedFields; returns its new resourceVersion. */
const mark = ({ core, now, resource, route }: Exchange.Exchange, pod: KubeObject): string => {
  const evicted = {
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting"
  }
  const conditions = withCondition(arrayAt(pod, "status", "conditions"), evicted, now)
  const marked = asObject({ ...pod, status: { ...objectAt(pod, "status"), conditions } })
  return JsonValue.equals(marked, pod)
    ? pod.metadata.resourceVersion
    : core.storage.put(
      resource.collection,
      Exchange.storageKey(route.namespace, route.name),
      route.namespace,
      marked
    ).object.metadata.resourceVersion
}

/** Marks and deletes a Pod that can be evicted. */
const end = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  pod: KubeObject,
  options: Deletion.DeleteOptions
) {
  const { resource, route } = exchange
  // The options of the deletion are validated only now.
  yield* Effect.fromResult(DeletionOptions.judged(options))
  const fault = Deletion.preconditionFault(pod, options, false)
  if (fault !== undefined) {
    return yield* Effect.fail(StatusError.conflict({ group: "", plural: resource.kind }, route.name, fault))
  }
  const version = options.dryRun.length > 0 ? undefined : mark(exchange, pod)
  const now = options.resourceVersion === undefined || version === undefined
    ? options
    : { ...options, resourceVersion: version }
  yield* deleteObject(exchange, route.name, route.namespace, now, "none")
})

/** Evicts a Pod if its disruption budget allows that. */
export const evict: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource, route } = exchange
  const written = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const { attributes, object: body } = yield* Posting.admitted(exchange, written)
  if (stringAt(body, "metadata", "name") !== route.name) {
    return yield* Effect.fail(StatusError.badRequest("name in URL does not match name in Eviction object"))
  }
  const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential"
  if (at(body, "deleteOptions", unsafe) === true) {
    const why = "can not be set for pod eviction, try after removing the option"
    return yield* Effect.fail(
      StatusError.invalid("Eviction", "policy", route.name, [FieldError.invalid(`deleteOptions.${unsafe}`, true, why)])
    )
  }
  const options = optionsOf(body, written.dryRun)
  if ("body" in options) return yield* Effect.fail(options)
  yield* Admission.review(core, attributes)
  const pod = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (pod === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const [budget, ...others] = harmless(pod) ? [] : budgetsOf(exchange, pod)
  if (others.length > 0) {
    return yield* Effect.fail(StatusError.plain(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    ))
  }
  const free = budget !== undefined && !isReady(pod) && uncounted(budget)
  const fault = budget === undefined || free ? undefined : spend(exchange, budget, options.dryRun.length > 0)
  if (fault !== undefined) return yield* Effect.fail(fault)
  // After a conflict the Pod may have become ready, so a client that sent no resourceVersion has to retry.
  yield* Effect.mapError(
    end(exchange, pod, options),
    (error) => free && error.status === 409 && options.resourceVersion === undefined ? stillProcessed(budget) : error
  )
  return Posting.created
})
