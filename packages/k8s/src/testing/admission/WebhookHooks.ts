/**
 * `WebhookHooks`: the webhooks of the stored configurations, compiled, in the order in which they are called.
 *
 * Configurations are ordered by name, webhooks by their order in the configuration. Everything that does not depend on
 * a request (rules, selectors, addresses, conditions) is computed once per stored configuration; which hooks have a
 * rule for a resource, once per resource.
 *
 * Source: k8s.io/apiserver/pkg/admission/configuration and pkg/admission/plugin/webhook/accessors.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Selector from "@effect-operator/core/Selector"
import * as Backends from "../Backends.ts"
import * as MatchConditions from "../../cel/MatchConditions.ts"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import * as AdmissionReview from "./AdmissionReview.ts"
import * as Derived from "./Derived.ts"
import * as Matching from "./Matching.ts"

/** One webhook of a configuration. */
export interface Hook {
  readonly name: string
  readonly configuration: string
  /** Unique, even if names repeat. */
  readonly id: string
  readonly rules: ReadonlyArray<Matching.Rule>
  /** Whether rules for other versions of a resource match as well. */
  readonly equivalent: boolean
  readonly namespaces: Selector.LabelSelector | undefined
  readonly objects: Selector.LabelSelector | undefined
  /** Undefined if it has none. */
  readonly conditions: MatchConditions.Matcher | undefined
  readonly target: Backends.Target
  readonly caBundle: string
  readonly timeoutSeconds: number
  /** Whether a failed call lets the request pass. */
  readonly ignoresFailure: boolean
  readonly supportsDryRun: boolean
  readonly reinvocable: boolean
  /** Undefined if the webhook accepts no version that the server supports. */
  readonly version: AdmissionReview.Version | undefined
}

const matcher = (conditions: ReadonlyArray<unknown>, ignoresFailure: boolean): MatchConditions.Matcher | undefined =>
  conditions.length === 0 ? undefined : MatchConditions.matcher(
    conditions.map((condition) => ({
      name: stringAt(condition, "name"),
      expression: stringAt(condition, "expression")
    })),
    ignoresFailure ? "Ignore" : "Fail"
  )

const compile = (configuration: KubeObject): ReadonlyArray<Hook> => {
  const seen = new Map<string, number>()
  return arrayAt(configuration, "webhooks").map((webhook) => {
    const name = stringAt(webhook, "name")
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    const timeout = at(webhook, "timeoutSeconds")
    const ignoresFailure = stringAt(webhook, "failurePolicy") === "Ignore"
    return {
      name,
      configuration: configuration.metadata.name,
      id: `${configuration.metadata.name}/${name}/${count}`,
      rules: arrayAt(webhook, "rules").map(Matching.rule),
      equivalent: stringAt(webhook, "matchPolicy") !== "Exact",
      namespaces: Matching.selector(at(webhook, "namespaceSelector")),
      objects: Matching.selector(at(webhook, "objectSelector")),
      conditions: matcher(arrayAt(webhook, "matchConditions"), ignoresFailure),
      target: Backends.targetOf(at(webhook, "clientConfig")),
      caBundle: stringAt(webhook, "clientConfig", "caBundle"),
      timeoutSeconds: typeof timeout === "number" ? timeout : 10,
      ignoresFailure,
      supportsDryRun: ["None", "NoneOnDryRun"].includes(stringAt(webhook, "sideEffects")),
      reinvocable: stringAt(webhook, "reinvocationPolicy") === "IfNeeded",
      version: AdmissionReview.version(arrayAt(webhook, "admissionReviewVersions").map(String))
    }
  })
}

/** The hooks of all configurations in a collection. */
export const make = (storage: Storage, collection: string): () => ReadonlyArray<Hook> => {
  const configurations = Derived.collection(storage, collection, compile)
  let from: ReadonlyArray<ReadonlyArray<Hook>> = []
  let hooks: ReadonlyArray<Hook> = []
  return () => {
    const now = configurations()
    if (now !== from) {
      from = now
      hooks = now.flat()
    }
    return hooks
  }
}
