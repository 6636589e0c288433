/**
 * `Admission`: what stands between an accepted request and the store, and may change or refuse it.
 *
 * Plugins are asked in order: first all `mutate`, then, on the final object, all `validate`. They see the object in the
 * version of the request. One plugin is always there, the namespace lifecycle of the real server; webhooks and quotas
 * are plugins of the same shape.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { stringAt } from "./server/Plain.ts"
import type { Served } from "./server/Registry.ts"
import type { Storage } from "./server/Storage.ts"
import type { UserInfo } from "./server/UserInfo.ts"
import * as StatusError from "./StatusError.ts"

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT"

/** One write, as admission sees it. */
export interface Attributes {
  readonly operation: Operation
  readonly resource: Served
  /** `""` for the object itself. */
  readonly subresource: string
  readonly namespace: string
  /** `""` while a name is still to be generated. */
  readonly name: string
  /** Absent of a deletion. */
  readonly object: KubeObject | undefined
  /** Absent of a creation. */
  readonly oldObject: KubeObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Adds a Warning header to the answer. */
  readonly warn: (text: string) => void
}

export interface Plugin {
  readonly name: string
  /** The object to go on with. Only asked where there is one. */
  readonly mutate?: (attributes: Attributes, object: KubeObject) => Effect.Effect<KubeObject, StatusError.StatusError>
  readonly validate?: (attributes: Attributes) => Effect.Effect<void, StatusError.StatusError>
}

/** What admission needs of a server. */
export interface Chain {
  readonly storage: Storage
  readonly admission: ReadonlyArray<Plugin>
}

/** Namespaces that cannot be deleted. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

/** Nothing is created in a namespace that is not there, or going. */
export const namespaceFault = (
  core: Pick<Chain, "storage">,
  attributes: Attributes
): StatusError.StatusError | undefined => {
  const { name, namespace, operation, resource } = attributes
  if (resource.collection === "namespaces") {
    return operation === "DELETE" && immortal.has(name)
      ? StatusError.forbidden(resource, name, "this namespace may not be deleted")
      : undefined
  }
  if (namespace === "" || operation !== "CREATE") return undefined
  const found = core.storage.get("namespaces", namespace)
  if (found === undefined) return StatusError.notFound({ group: "", plural: "namespaces" }, namespace)
  return stringAt(found, "status", "phase") === "Terminating" || found.metadata.deletionTimestamp !== undefined
    ? StatusError.namespaceTerminating(resource, name, namespace)
    : undefined
}

/** Asks every plugin; the result is the object to store. */
export const admit = Effect.fnUntraced(function*(core: Chain, attributes: Attributes, object: KubeObject) {
  const fault = namespaceFault(core, attributes)
  if (fault !== undefined) return yield* Effect.fail(fault)
  let current = object
  for (const plugin of core.admission) {
    if (plugin.mutate !== undefined) current = yield* plugin.mutate({ ...attributes, object: current }, current)
  }
  return current
})

/** Asks every plugin about the final object, or about a deletion. */
export const review = Effect.fnUntraced(function*(core: Chain, attributes: Attributes) {
  if (attributes.operation === "DELETE") {
    const fault = namespaceFault(core, attributes)
    if (fault !== undefined) return yield* Effect.fail(fault)
  }
  for (const plugin of core.admission) {
    if (plugin.validate !== undefined) yield* plugin.validate(attributes)
  }
})
