/**
 * `BootstrapPriorities`: the default PriorityClasses.
 *
 * Source: k8s.io/kubernetes/pkg/registry/scheduling/rest/storage_scheduling.go.
 */
import { asObject, freeze } from "../../api/Plain.ts"
import * as PriorityRules from "../server/rules/PriorityRules.ts"
import type { Entry } from "./BootstrapPolicy.ts"

const entries: ReadonlyArray<Entry> = PriorityRules.system.map(({ description, name, value }) => ({
  collection: "priorityclasses.scheduling.k8s.io",
  namespace: "",
  object: freeze(asObject({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name, generation: 1 },
    value,
    description,
    preemptionPolicy: "PreemptLowerPriority"
  }))
}))

/** Every class, frozen. */
export const objects = (): ReadonlyArray<Entry> => entries
