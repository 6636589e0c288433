/** What statements about server-side apply and managedFields have in common. */
import * as Effect from "effect/Effect"
import { type Answer, Target } from "./Target.ts"

/** Of a server-side apply. */
export const contentType = "application/apply-patch+yaml"
/** Of a merge patch. */
export const merge = "application/merge-patch+json"

/** The entries of an object, without their times: manager, operation, fields. */
export const owners = ({ object }: Answer): ReadonlyArray<readonly [string, string, unknown]> =>
  (object.metadata.managedFields ?? []).map((entry) => [entry.manager!, entry.operation!, entry.fieldsV1])

/** What one manager owns by one operation. */
export const owned = (answer: Answer, manager: string, operation = "Apply"): unknown =>
  owners(answer).find(([name, how]) => name === manager && how === operation)?.[2]

/** ConfigMaps in a new namespace, and how to write them. */
export const configMaps = Effect.gen(function*() {
  const { namespace, request } = yield* Target
  const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
  const object = (name: string, data: unknown, metadata: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    data
  })
  return {
    path,
    object,
    get: (name: string) => request("GET", `${path}/${name}`),
    create: (name: string, data: unknown, agent: string, metadata?: object) =>
      request("POST", path, { body: object(name, data, metadata), headers: { "user-agent": `${agent}/1.0 (x)` } }),
    patch: (name: string, body: object, agent: string) =>
      request("PATCH", `${path}/${name}`, { body, contentType: merge, headers: { "user-agent": `${agent}/1.0` } }),
    apply: (name: string, data: unknown, manager: string, query: object = {}, metadata: object = {}) =>
      request("PATCH", `${path}/${name}`, {
        body: object(name, data, metadata),
        contentType,
        query: { fieldManager: manager, ...query }
      })
  }
})

/** Widgets with a list of every type, and how to apply them. */
export const widgets = Effect.fnUntraced(function*(spec?: object) {
  const { kind, namespace, request } = yield* Target
  const list = (type: string, items: object, more: object = {}) => ({
    type: "array",
    "x-kubernetes-list-type": type,
    items,
    ...more
  })
  const text = { type: "string" }
  const of = yield* kind({
    status: true,
    spec: {
      type: "object",
      properties: {
        x: { type: "integer" },
        set: list("set", text),
        atomic: list("atomic", text),
        plain: { type: "array", items: text },
        items: list(
          "map",
          { type: "object", required: ["name"], properties: { name: text, value: text, more: text } },
          { "x-kubernetes-list-map-keys": ["name"] }
        ),
        whole: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: text },
        parts: { type: "object", additionalProperties: text },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        deep: { type: "object", properties: { a: text, b: { type: "object", properties: { c: text } } } },
        ...spec
      }
    }
  })
  const ns = yield* namespace
  const apply = (manager: string, fields: object, query: object = {}, subresource = "") =>
    request("PATCH", `${of.path(ns, "a")}${subresource}`, {
      body: { apiVersion: `${of.group}/v1`, kind: "Widget", metadata: { name: "a" }, ...fields },
      contentType,
      query: { fieldManager: manager, ...query }
    })
  return { ...of, ns, apply, get: request("GET", of.path(ns, "a")) }
})
