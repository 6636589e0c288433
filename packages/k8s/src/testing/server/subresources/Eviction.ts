/**
 * `Eviction`: a Pod goes if its disruption budget allows it, and says in a condition why.
 *
 * Nobody minds Pods that are over, have never run or are going already. One that is not ready has no part in what the
 * budget counts: it goes where the budget says so, or where enough others are ready. Any other takes one of the
 * disruptions that the budget allows.
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

/** The budgets that cover a Pod. */
const budgetsOf = ({ core, route }: Exchange.Exchange, pod: KubeObject): ReadonlyArray<KubeObject> => {
  const { get, keys } = core.storage.list(budgets, route.namespace)
  return keys.map(get).filter((budget) => {
    const selector = Selector.fromObject(at(budget, "spec", "selector") as Selector.LabelSelectorObject | undefined)
    return selector !== undefined && Selector.matchesLabels(selector, pod.metadata.labels)
  })
}

/** A Pod that is over or has never run disrupts nothing when it goes. */
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

/** Whether a Pod that is not ready goes without being counted. */
const uncounted = (budget: KubeObject): boolean =>
  stringAt(budget, "spec", "unhealthyPodEvictionPolicy") === "AlwaysAllow" ||
  (amount(budget, "currentHealthy") >= amount(budget, "desiredHealthy") && amount(budget, "desiredHealthy") > 0)

const stillProcessed = ({ metadata: { name } }: KubeObject): Refused =>
  StatusError.evictionRefused(
    [{ reason: "DisruptionBudget", message: `The disruption budget ${name} is still being processed by the server.` }],
    10
  )

/** Why a budget allows nothing. */
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

/** Conditions with one of a type in place of any before; its time is that of its last change. */
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

/** Takes one disruption off the budget, or says why not. */
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

/** How the deletion is asked for, by the eviction and by the request. */
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

/** Marks a Pod as one that goes because it was evicted; nobody owns that. The result is its version then. */
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

/** Marks and deletes a Pod that may go. */
const end = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  pod: KubeObject,
  options: Deletion.DeleteOptions
) {
  const { resource, route } = exchange
  // What is asked of the deletion is judged once it may be.
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

/** Deletes a Pod if its disruption budget allows it. */
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
  // That it was not ready may have changed, for all a server knows: whoever set no version is to come again.
  yield* Effect.mapError(
    end(exchange, pod, options),
    (error) => free && error.status === 409 && options.resourceVersion === undefined ? stillProcessed(budget) : error
  )
  return Posting.created
})
