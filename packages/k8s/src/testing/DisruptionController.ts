/**
 * `DisruptionController`: the status of PodDisruptionBudgets, which says how many Pods may be evicted.
 *
 * `minAvailable` as a number refers to the Pods that the selector matches. A percentage and `maxUnavailable` refer to
 * the replicas that the controllers of those Pods ask for (`Scales`). Healthy Pods are ready and neither being deleted
 * nor evicted; a Pod whose eviction was granted two minutes ago and that still exists counts again. If the expected
 * number cannot be determined, nothing may be evicted and the condition says why. A DisruptionTarget condition that was
 * not acted on for two minutes becomes False.
 *
 * Source: k8s.io/kubernetes/pkg/controller/disruption/disruption.go.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Pod } from "../kinds/core.v1.ts"
import { PodDisruptionBudget, type PodDisruptionBudgetStatus } from "../kinds/policy.v1.ts"
import type { ApiServer } from "./ApiServer.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { timestamp } from "./server/Exchange.ts"
import type * as Agenda from "./sim/Agenda.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import { scaled } from "./sim/Numbers.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import * as Scales from "./sim/Scales.ts"

export const defaults = {
  /**
   * How long a granted eviction counts without a deletion, and how long a DisruptionTarget condition lasts, in
   * milliseconds.
   */
  timeout: 120_000
} as const

/** Reconciles the budgets of the server until the scope closes. */
export const layer: Layer.Layer<never, never, ApiServer | KubeClient> = Layer.effectDiscard(
  Effect.suspend(() => run)
).pipe(Layer.provide(Informers.layer))

/** An empty selector matches every Pod, an absent one none. */
const matches = ({ spec }: PodDisruptionBudget, pod: Pod): boolean =>
  spec?.selector !== undefined && Selector.matchesLabels(Selector.fromObject(spec.selector) ?? [], pod.metadata.labels)

const run: Effect.Effect<void, never, ApiServer | KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(
  function*() {
    const client = yield* KubeClient
    const clock = yield* Clock.Clock
    const informers = yield* Informers.Informers
    const budgets = yield* informers.of(PodDisruptionBudget)
    const pods = yield* informers.of(Pod)
    const expectedScale = yield* Scales.make
    const recorder = yield* Recorder.make("controllermanager")

    const now = () => clock.currentTimeMillisUnsafe()

    /** How many Pods are expected, and how many of them must be healthy; or why that cannot be determined. */
    const demand = Effect.fnUntraced(function*(
      { spec }: PodDisruptionBudget,
      chosen: ReadonlyArray<Pod>
    ): Effect.fn.Return<Scales.Expected & { readonly healthy: number }, KubeError> {
      const { maxUnavailable, minAvailable } = spec ?? {}
      if (maxUnavailable === undefined && typeof minAvailable === "number") {
        return { count: chosen.length, healthy: minAvailable, unmanaged: [] }
      }
      if (maxUnavailable === undefined && minAvailable === undefined) return { count: 0, healthy: 0, unmanaged: [] }
      const expected = yield* expectedScale(chosen)
      const healthy = maxUnavailable === undefined
        ? scaled(minAvailable, expected.count, "up")
        : Math.max(0, expected.count - scaled(maxUnavailable, expected.count, "up"))
      return { ...expected, healthy }
    })

    /** Evictions that were granted but not followed by a deletion yet. */
    const pending = Effect.fnUntraced(function*(budget: PodDisruptionBudget, chosen: ReadonlyArray<Pod>) {
      const granted = budget.status?.disruptedPods ?? {}
      const waiting: Record<string, string> = {}
      let next = Infinity
      for (const pod of chosen) {
        const { deletionTimestamp, name } = pod.metadata
        const since = granted[name]
        if (deletionTimestamp !== undefined || since === undefined) continue
        const end = Date.parse(since) + defaults.timeout
        if (end < now()) {
          // The namespace appears twice, as in the real message.
          const { namespace } = budget.metadata
          const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`
          yield* recorder.warning(pod, "NotDeleted", message)
        } else {
          waiting[name] = since
          next = Math.min(next, end)
        }
      }
      return { waiting, next }
    })

    const write = (budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) =>
      JsonValue.equals(budget.status, status)
        ? Effect.void
        : client.replace(PodDisruptionBudget, { ...budget, status }, { subresource: "status" })

    const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
      const budget = budgets.get(parseKey(key))
      if (budget === undefined) return
      const chosen = [...pods.inNamespace(budget.metadata.namespace)].filter((pod) => matches(budget, pod))
      if (chosen.length === 0) yield* recorder.normal(budget, "NoPods", "No matching pods found")
      const { count: expectedPods, healthy: desiredHealthy, problem, unmanaged } = yield* demand(budget, chosen)
      if (problem !== undefined) {
        const message = `Failed to calculate the number of expected pods: ${problem}`
        yield* recorder.warning(budget, "CalculateExpectedPodCountFailed", message)
        const status = { ...budget.status, disruptionsAllowed: 0 }
        yield* write(budget, withCondition(status, "False", "SyncFailed", problem, now()))
        return
      }
      if (unmanaged.length > 0) yield* recorder.warning(budget, "UnmanagedPods", unmanagedText(budget))
      const { next, waiting } = yield* pending(budget, chosen)
      const currentHealthy = chosen.filter((pod) => {
        const until = Date.parse(waiting[pod.metadata.name] ?? "") + defaults.timeout
        return pod.metadata.deletionTimestamp === undefined && !(until > now()) && PodFacts.isReady(pod)
      }).length
      const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0
      const status: PodDisruptionBudgetStatus = {
        ...(budget.metadata.generation === undefined ? {} : { observedGeneration: budget.metadata.generation }),
        ...(Object.keys(waiting).length === 0 ? {} : { disruptedPods: waiting }),
        disruptionsAllowed,
        currentHealthy,
        desiredHealthy,
        expectedPods,
        ...(budget.status?.conditions === undefined ? {} : { conditions: budget.status.conditions })
      }
      const [truth, reason] = disruptionsAllowed > 0
        ? ["True", "SufficientPods"] as const
        : ["False", "InsufficientPods"] as const
      yield* write(budget, withCondition(status, truth, reason, "", now()))
      if (next < Infinity) agenda.soon(key, next + 1)
    })

    const agenda: Agenda.Agenda = yield* Loop.make({ sync, reads: [budgets, pods] })

    /** Reports Pods that match several budgets and therefore cannot be evicted. */
    const ambiguous: Agenda.Agenda = yield* Loop.make({
      reads: [budgets, pods],
      sync: Effect.fnUntraced(function*(key): Effect.fn.Return<void, KubeError> {
        const pod = pods.get(parseKey(key))
        if (pod === undefined) return
        const { name, namespace } = pod.metadata
        const [chosen, other] = [...budgets.inNamespace(namespace)].filter((budget) => matches(budget, pod))
        if (chosen === undefined || other === undefined) return
        const message = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  ` +
          `Chose "${chosen.metadata.name}" arbitrarily.`
        yield* recorder.warning(pod, "MultiplePodDisruptionBudgets", message)
      })
    })

    /** When a Pod's DisruptionTarget condition becomes stale; Infinity if it has none that can. */
    const staleAt = (pod: Pod): number => {
      const condition = PodFacts.condition(pod, "DisruptionTarget")
      return condition?.status === "True" && condition.reason !== "TerminationByKubelet" && PodFacts.isActive(pod)
        ? Date.parse(condition.lastTransitionTime ?? "") + defaults.timeout
        : Infinity
    }

    const stale: Agenda.Agenda = yield* Loop.make({
      reads: [pods],
      sync: Effect.fnUntraced(function*(key): Effect.fn.Return<void, KubeError> {
        const pod = pods.get(parseKey(key))
        if (pod === undefined || staleAt(pod) === Infinity) return
        if (staleAt(pod) > now()) return stale.at(key, staleAt(pod))
        const { generation, resourceVersion, uid } = pod.metadata
        const conditions = pod.status?.conditions?.map((condition) =>
          condition.type !== "DisruptionTarget" ? condition : {
            type: condition.type,
            ...(generation === undefined ? {} : { observedGeneration: generation }),
            status: "False",
            lastTransitionTime: timestamp(now())
          }
        )
        const body = { metadata: { uid, resourceVersion }, status: { conditions } }
        yield* client.patch(Pod, pod, Patch.merge(body), { subresource: "status" })
      })
    })

    budgets.listen((budget, before) => {
      const key = keyString((budget ?? before)!)
      if (budget === undefined) agenda.forget(key)
      else agenda.now(key)
    })
    pods.listen((pod, before) => {
      const { namespace } = (pod ?? before)!.metadata
      let matching = 0
      for (const budget of budgets.inNamespace(namespace)) {
        if (!matches(budget, (pod ?? before)!)) continue
        agenda.now(keyString(budget))
        matching += 1
      }
      if (pod !== undefined && matching > 1) ambiguous.now(keyString(pod))
      if (pod !== undefined && staleAt(pod) < Infinity) stale.now(keyString(pod))
    })
  }
)

const withCondition = (
  status: PodDisruptionBudgetStatus,
  truth: string,
  reason: string,
  message: string,
  now: number
): PodDisruptionBudgetStatus => {
  const type = "DisruptionAllowed"
  const conditions = status.conditions ?? []
  const at = conditions.findIndex((condition) => condition.type === type)
  const before = conditions[at]
  const { observedGeneration } = status
  const next = {
    type,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    status: truth,
    lastTransitionTime: before?.status === truth ? before.lastTransitionTime : timestamp(now),
    reason,
    message
  }
  return { ...status, conditions: at < 0 ? [...conditions, next] : conditions.with(at, next) }
}

/** The message with the selector as Go prints it. */
const unmanagedText = ({ spec }: PodDisruptionBudget): string => {
  const { matchExpressions = [], matchLabels = {} } = spec?.selector ?? {}
  const labels = Object.entries(matchLabels).sort(([a], [b]) => a < b ? -1 : 1).map(([key, value]) =>
    `${key}: ${value},`
  )
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`
  )
  const selector = `&LabelSelector{MatchLabels:map[string]string{${labels.join("")}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`
  return `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, ` +
    "the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for " +
    "these pods please set \".spec.minAvailable\" field of the PDB to an integer value."
}
