/**
 * `Strategy`: what an API server does differently for each kind.
 *
 * Verbs are the same for every resource and leave the details to its strategy. Built-in kinds have a table (see
 * `BuiltinStrategies`); custom resources derive a strategy from their definition (see `CustomResources`).
 *
 * Source: k8s.io/kubernetes/pkg/registry/GROUP/KIND/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as FieldError from "../../schema/FieldError.ts"
import type { UserInfo } from "../../api/UserInfo.ts"
import type * as JsonValue from "../../schema/JsonValue.ts"
import type { DeleteOptions, Strategy as Deletion } from "../../api/Deletion.ts"
import type { FieldReader } from "../../api/Selecting.ts"
import type { ServicePool } from "./ServicePool.ts"
import type { StatusError } from "../../api/StatusError.ts"

/**
 * Which validation of metadata the kind includes: that of built-in kinds (which refuses finalizers without a domain),
 * that of the API machinery, or none. In the last case the registry validates metadata if the kind's own validation
 * found nothing.
 */
export type MetadataJudge = "builtIn" | "machinery" | "registry"

/** The behaviour of a kind. Functions never mutate their arguments. */
export interface Strategy extends Deletion {
  /**
   * Whether `metadata.generation` is 1 for a new object (`first`), increased with every change of the desired state
   * (`later`), or both (`true`).
   */
  readonly generation: boolean | "first" | "later"
  /** Which validation of metadata a new object gets. */
  readonly metadataJudge: MetadataJudge
  /**
   * How many times the validation of an update also validates metadata as that of a new object. Each repetition reports
   * its faults again.
   */
  readonly judgedAnew: number
  /**
   * How many times the validation of a status validates metadata: the first time as in an update, then as in a new
   * object.
   */
  readonly judgedWithStatus: number
  /** Whether a change of annotations increases the generation. */
  readonly annotationsCount: boolean
  /** Whether a change of labels increases the generation. */
  readonly labelsCount: boolean
  /** Whether the status can be written only through its subresource. */
  readonly statusSubresource: boolean
  /** Whether an object may be created with a status nevertheless. */
  readonly createsStatus: boolean
  /**
   * What a write of the status does with metadata: keeps the stored one, takes the one in the request, or takes it
   * except for labels or owners. `ownersKept` also ignores the request's deletion timestamp.
   */
  readonly statusMetadata: "kept" | "written" | "labelsKept" | "ownersKept"
  /** Whether the server names a new object that has no name. */
  readonly namesItself: boolean
  /** Whether a PUT of a missing object creates it. */
  readonly createsOnUpdate: boolean
  /** Whether a PUT without a resourceVersion overwrites any version. */
  readonly unconditionalUpdate: boolean
  /** Whether a deletion returns the object rather than a `Status`. */
  readonly answersDeleted: boolean
  /** Why the object of this name cannot be deleted; undefined if it can. */
  readonly stays: (name: string) => string | undefined
  /** A core resource: its object of the same name is deleted together with this one. */
  readonly takesAlong?: string
  /** Additional fields that field selectors may use, with their readers. */
  readonly fields: Readonly<Record<string, FieldReader>>
  /** Whether the refusal of an unknown field label lists the known ones. */
  readonly listsFields: boolean
  /** Changes an object before it is first stored: sets what the server decides, whatever the client wrote. */
  readonly prepareCreate: (object: JsonValue.JsonObject, pool: ServicePool) => JsonValue.JsonObject
  /** Warnings about a new object as it was sent, even if it is refused. */
  readonly arrivalWarnings: (object: JsonValue.JsonObject) => ReadonlyArray<string>
  /** Adds the creating user to a new object, for kinds that record it. */
  readonly signed: (object: JsonValue.JsonObject, user: UserInfo) => JsonValue.JsonObject
  /** Changes an object before an update of the object itself (not of a subresource). */
  readonly prepareUpdate: (
    next: JsonValue.JsonObject,
    previous: KubeObject,
    pool: ServicePool
  ) => JsonValue.JsonObject
  /** Changes an object before an update of its status, at a time in milliseconds since 1970. */
  readonly prepareStatus: (next: JsonValue.JsonObject, previous: KubeObject, now: number) => JsonValue.JsonObject
  /** Faults of an object that is created or replaces `previous`. */
  readonly validate: (object: KubeObject, previous?: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Additional faults of an update. */
  readonly validateUpdate: (next: KubeObject, previous: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Why the object cannot get values that it requests and that others have; checked before validation. */
  readonly refusal: (
    object: KubeObject,
    previous: KubeObject | undefined,
    pool: ServicePool,
    dryRun: boolean
  ) => StatusError | undefined
  /** Faults of a status that replaces that of `previous`. */
  readonly validateStatus: (object: KubeObject, previous: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Warnings about a valid object that is created or replaces `previous`. */
  readonly warnings: (object: KubeObject, previous: KubeObject | undefined) => ReadonlyArray<string>
  /** Warnings about a deletion of one or many objects, whether or not they exist. */
  readonly deletionWarnings: (options: DeleteOptions) => ReadonlyArray<string>
  /** Warnings about a valid status. */
  readonly statusWarnings: (object: KubeObject, previous: KubeObject) => ReadonlyArray<string>
}

export { commonFields, fieldsAt } from "../../api/Selecting.ts"

const same = (object: JsonValue.JsonObject): JsonValue.JsonObject => object
const none = (): ReadonlyArray<never> => []

/** The default strategy. */
const defaults: Strategy = {
  generation: false,
  metadataJudge: "builtIn",
  judgedAnew: 1,
  judgedWithStatus: 1,
  annotationsCount: false,
  labelsCount: false,
  statusSubresource: false,
  createsStatus: false,
  statusMetadata: "written",
  namesItself: false,
  createsOnUpdate: false,
  unconditionalUpdate: true,
  answersDeleted: false,
  stays: () => undefined,
  garbageCollection: "Background",
  fields: {},
  listsFields: true,
  prepareCreate: same,
  arrivalWarnings: none,
  signed: same,
  prepareUpdate: same,
  prepareStatus: same,
  validate: none,
  validateUpdate: none,
  refusal: () => undefined,
  validateStatus: none,
  warnings: none,
  deletionWarnings: none,
  statusWarnings: none
}

/** The default strategy with the given changes. */
export const make = (strategy: Partial<Strategy>): Strategy => ({ ...defaults, ...strategy })
