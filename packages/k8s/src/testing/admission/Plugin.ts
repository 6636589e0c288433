/** `Plugin`: the interface of admission plugins, and what they learn of a write. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Effect from "effect/Effect"
import type { JsonObject } from "../../schema/JsonValue.ts"
import type { Deadline } from "../server/Deadline.ts"
import type { Served } from "../server/Registry.ts"
import type * as StatusError from "../../api/StatusError.ts"
import type { UserInfo } from "../../api/UserInfo.ts"

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT"

export interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The rounds of mutating admission of one request. */
export interface Rounds {
  /** 1 in the reinvocation. */
  readonly number: 0 | 1
  /** Requests a reinvocation of every mutating plugin after this round. */
  readonly repeat: () => void
  /** The state of plugins between rounds, by plugin name. */
  readonly notes: Map<string, unknown>
}

/** One write, as admission sees it. */
export interface Attributes {
  readonly operation: Operation
  readonly resource: Served
  /** The kind of the objects, which differs from the resource's in subresources such as scale. */
  readonly kind: Kind
  /** `""` for the object itself. */
  readonly subresource: string
  /** For a Namespace: its own name. */
  readonly namespace: string
  /** `""` while the name has not been generated yet. */
  readonly name: string
  /** Absent in a deletion. */
  readonly object: KubeObject | undefined
  /** Absent in a creation. */
  readonly oldObject: KubeObject | undefined
  /** `CreateOptions` and the like; undefined in a CONNECT. */
  readonly options: () => JsonObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly rounds: Rounds
  /** The time by which webhooks must have answered. */
  readonly deadline: () => Deadline
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void
  /** Adds an annotation to the audit event. */
  readonly annotate: (key: string, value: string) => void
  /** A new UUID at every call. */
  readonly uuid: () => string
}

export interface Plugin {
  readonly name: string
  /** Whether the plugin applies to a request; by default it always does. Called for every write, so it must be fast. */
  readonly handles?: (attributes: Attributes) => boolean
  /** Returns the object with which to continue. Called only if there is an object. */
  readonly mutate?: (attributes: Attributes, object: KubeObject) => Effect.Effect<KubeObject, StatusError.StatusError>
  /** Called instead of `mutate` for a deletion, which has no object to change. */
  readonly consult?: (attributes: Attributes) => Effect.Effect<void, StatusError.StatusError>
  readonly validate?: (attributes: Attributes) => Effect.Effect<void, StatusError.StatusError>
}
