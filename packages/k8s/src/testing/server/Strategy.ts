/**
 * `Strategy`: what an API server does differently from kind to kind.
 *
 * Verbs are the same for every resource; a strategy answers the questions they leave open. Built-in kinds take theirs
 * from a table (see `BuiltinStrategies`); custom resources derive one from their definition (see `CustomResources`).
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
 * The kind's own validation, by the rules of built-in kinds (finalizers without a domain are refused) or by those of the
 * API machinery; or nobody but the registry, which does so when the kind's own validation has found nothing.
 */
export type MetadataJudge = "builtIn" | "machinery" | "registry"

/** How a kind behaves. Functions never change their arguments. */
export interface Strategy extends Deletion {
  /** Objects have `metadata.generation`: 1 at first, and one more with every change of what is wanted; or either. */
  readonly generation: boolean | "first" | "later"
  /** Who judges the metadata of a new object. */
  readonly metadataJudge: MetadataJudge
  /** How often the kind's own validation of an update judges metadata as that of a new object, and all of it is told. */
  readonly judgedAnew: number
  /** How often that of a status judges metadata: as of an update, then as of a new object. */
  readonly judgedWithStatus: number
  /** A change of annotations is a change of what is wanted, too. */
  readonly annotationsCount: boolean
  /** The same of labels. */
  readonly labelsCount: boolean
  /** The status is written through its subresource only. */
  readonly statusSubresource: boolean
  /** An object may come with a status all the same. */
  readonly createsStatus: boolean
  /**
   * What the status subresource does with metadata: keep the old, take labels and the like from the request. Where owners
   * are kept, a deletion is not taken from the request either.
   */
  readonly statusMetadata: "kept" | "written" | "labelsKept" | "ownersKept"
  /** A new object without any name is named by the server. */
  readonly namesItself: boolean
  /** A PUT of a missing object creates it. */
  readonly createsOnUpdate: boolean
  /** A PUT without a resourceVersion overwrites whatever is there. */
  readonly unconditionalUpdate: boolean
  /** A deletion answers the object rather than a `Status`. */
  readonly answersDeleted: boolean
  /** Why the object of this name cannot be deleted by name; undefined if it can. */
  readonly stays: (name: string) => string | undefined
  /** Objects of this core resource with the name of a deleted object are deleted with it. */
  readonly takesAlong?: string
  /** Fields a field selector may name, with their values. */
  readonly fields: Readonly<Record<string, FieldReader>>
  /** True where an unknown field label is refused with the list of the known ones. */
  readonly listsFields: boolean
  /** The last touches before an object is first stored: what the server sets, whatever the client wrote. */
  readonly prepareCreate: (object: JsonValue.JsonObject, pool: ServicePool) => JsonValue.JsonObject
  /** What is said of a new object as it came, even if it is refused. */
  readonly arrivalWarnings: (object: JsonValue.JsonObject) => ReadonlyArray<string>
  /** The new object with whoever creates it, of a kind that says so. */
  readonly signed: (object: JsonValue.JsonObject, user: UserInfo) => JsonValue.JsonObject
  /** The same before an update of the object itself (not of a subresource). */
  readonly prepareUpdate: (
    next: JsonValue.JsonObject,
    previous: KubeObject,
    pool: ServicePool
  ) => JsonValue.JsonObject
  /** The same before an update of the status, at a time in milliseconds since 1970. */
  readonly prepareStatus: (next: JsonValue.JsonObject, previous: KubeObject, now: number) => JsonValue.JsonObject
  /** Faults of an object, that is created or takes the place of `previous`. */
  readonly validate: (object: KubeObject, previous?: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Faults of an update, beyond those of `validate`. */
  readonly validateUpdate: (next: KubeObject, previous: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Why an object cannot be given what it asks for, as others have it. That is looked at before any faults. */
  readonly refusal: (
    object: KubeObject,
    previous: KubeObject | undefined,
    pool: ServicePool,
    dryRun: boolean
  ) => StatusError | undefined
  /** Faults of the status, when it is written in the place of `previous`. */
  readonly validateStatus: (object: KubeObject, previous: KubeObject) => ReadonlyArray<FieldError.FieldError>
  /** Warnings about an object without faults, that is created or takes the place of `previous`. */
  readonly warnings: (object: KubeObject, previous: KubeObject | undefined) => ReadonlyArray<string>
  /** Warnings about a deletion, of one object or of many, whether or not they are there. */
  readonly deletionWarnings: (options: DeleteOptions) => ReadonlyArray<string>
  /** Warnings about a status without faults. */
  readonly statusWarnings: (object: KubeObject, previous: KubeObject) => ReadonlyArray<string>
}

export { commonFields, fieldsAt } from "../../api/Selecting.ts"

const same = (object: JsonValue.JsonObject): JsonValue.JsonObject => object
const none = (): ReadonlyArray<never> => []

/** What holds unless a kind says otherwise. */
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

/** A strategy that differs from the defaults in what is given. */
export const make = (strategy: Partial<Strategy>): Strategy => ({ ...defaults, ...strategy })
