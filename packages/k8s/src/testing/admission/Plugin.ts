/** `Plugin`: what admission asks, and what of a write it is told. */
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

/** The two rounds of the mutating plugins of one request. */
export interface Rounds {
  /** 1 while plugins are asked once more. */
  readonly number: 0 | 1
  /** Has every plugin asked once more after this round. */
  readonly repeat: () => void
  /** What plugins remember from round to round, by their name. */
  readonly notes: Map<string, unknown>
}

/** One write, as admission sees it. */
export interface Attributes {
  readonly operation: Operation
  readonly resource: Served
  /** The kind of the objects; another than the resource's in subresources such as scale. */
  readonly kind: Kind
  /** `""` for the object itself. */
  readonly subresource: string
  /** Of a Namespace: its own name. */
  readonly namespace: string
  /** `""` while a name is still to be generated. */
  readonly name: string
  /** Absent of a deletion. */
  readonly object: KubeObject | undefined
  /** Absent of a creation. */
  readonly oldObject: KubeObject | undefined
  /** `CreateOptions` and the like; none of a CONNECT. */
  readonly options: () => JsonObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly rounds: Rounds
  /** Until when webhooks may be waited for. */
  readonly deadline: () => Deadline
  /** Adds a Warning header to the answer. */
  readonly warn: (text: string) => void
  /** Annotates the audit event. */
  readonly annotate: (key: string, value: string) => void
  /** A new one at every call. */
  readonly uuid: () => string
}

export interface Plugin {
  readonly name: string
  /** False where the plugin has nothing to say; it is not asked then. Called for every write: must be quick. */
  readonly handles?: (attributes: Attributes) => boolean
  /** The object to go on with. Only asked where there is one. */
  readonly mutate?: (attributes: Attributes, object: KubeObject) => Effect.Effect<KubeObject, StatusError.StatusError>
  /** Asked in place of `mutate` about a deletion, which has no object to change. */
  readonly consult?: (attributes: Attributes) => Effect.Effect<void, StatusError.StatusError>
  readonly validate?: (attributes: Attributes) => Effect.Effect<void, StatusError.StatusError>
}
