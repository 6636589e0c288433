/**
 * `FlowSchemaConditions`: the condition of a FlowSchema about the existence of its PriorityLevelConfiguration.
 *
 * A real server writes it shortly after either of the two has changed. Here it is written, as a separate change, before
 * the request that caused it is answered.
 *
 * Source: k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go, syncFlowSchemaStatus.
 */
import type { KubeObject, ManagedFieldsEntry } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import { timestamp } from "../../api/Identity.ts"
import { arrayAt, asObject, objectAt, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import * as Managers from "../apply/Managers.ts"
import { levels, schemas } from "./BootstrapFlows.ts"

const manager = "api-priority-and-fairness-config-consumer-v1"

const type = "Dangling"

/** The condition; the previous one if it is unchanged. */
const conditionOf = (before: unknown, level: string, isThere: boolean, lastTransitionTime: string): unknown => {
  const status = isThere ? "False" : "True"
  const reason = isThere ? "Found" : "NotFound"
  const message = `This FlowSchema references the PriorityLevelConfiguration object named "${level}" ${
    isThere ? "and it exists" : "but there is no such object"
  }`
  return stringAt(before, "status") === status && stringAt(before, "message") === message &&
      stringAt(before, "reason") === reason
    ? before
    : { type, status, lastTransitionTime, reason, message }
}

const owned = Object.fromEntries(
  [".", "f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type"].map((key) => [key, {}])
)

/** The managedFields of an object with the entry of the server, which applies the condition. */
const withOwner = (entries: ReadonlyArray<ManagedFieldsEntry>, time: string) => {
  const own = {
    manager,
    operation: "Apply",
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    time,
    fieldsType: "FieldsV1",
    fieldsV1: { "f:status": { "f:conditions": { [`k:{"type":"${type}"}`]: owned } } },
    subresource: "status"
  } satisfies ManagedFieldsEntry
  const others = entries.filter((entry) => entry.manager !== manager || entry.subresource !== "status")
  const managers = Managers.decode([...others, own])
  return Result.isSuccess(managers) ? Managers.encode(managers.success, entries) : undefined
}

/** The schema with its condition; the same schema if it has it already. */
const told = (schema: KubeObject, isThere: boolean, time: string): KubeObject => {
  const conditions = arrayAt(schema, "status", "conditions")
  const before = conditions.find((condition) => stringAt(condition, "type") === type)
  const condition = conditionOf(before, levelOf(schema), isThere, time)
  if (condition === before) return schema
  const managedFields = withOwner(schema.metadata.managedFields ?? [], time)
  return asObject({
    ...schema,
    metadata: { ...schema.metadata, ...(managedFields === undefined ? {} : { managedFields }) },
    status: {
      ...objectAt(schema, "status"),
      conditions: before === undefined
        ? [...conditions, condition]
        : conditions.map((other) => other === before ? condition : other)
    }
  })
}

const levelOf = (schema: KubeObject): string => stringAt(schema, "spec", "priorityLevelConfiguration", "name")

/** Returns the function that updates the conditions after a request. */
export const make = (storage: Storage): (now: number) => void => {
  let isStale = false
  storage.listen(({ collection }) => {
    if (collection === schemas || collection === levels) isStale = true
  })
  return (now) => {
    if (!isStale) return
    const { get, keys } = storage.list(schemas)
    for (const key of keys) {
      const schema = get(key)
      const next = told(schema, storage.get(levels, levelOf(schema)) !== undefined, timestamp(now))
      if (next !== schema) storage.put(schemas, key, "", next)
    }
    isStale = false
  }
}
