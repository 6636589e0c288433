/**
 * `StructuralSchema`: how the `openAPIV3Schema` of a CustomResourceDefinition processes objects.
 *
 * A write goes through `coerceMetadata`, `prune` and `applyDefaults` when it is decoded, and through `judge` before it
 * is stored. The schema itself goes through `checkStructural` when the CRD is written. `judge` is `validate` followed
 * by the CEL rules (`x-kubernetes-validations`), unless one of the errors so far `blocksRules`.
 */
import * as EmbeddedResources from "./EmbeddedResources.ts"
import * as FieldError from "./FieldError.ts"
import * as JsonValue from "./JsonValue.ts"
import * as RuleValidation from "../cel/RuleValidation.ts"
import * as ListTypes from "./ListTypes.ts"
import { property, type Schema } from "./Schema.ts"
import * as SchemaValidation from "./SchemaValidation.ts"

export { applyDefaults, fillDefaults } from "./Defaulting.ts"
export { type Coerced, coerceMetadata, decodeMessage } from "./EmbeddedResources.ts"
export { prune, type Pruned, pruneWithPaths } from "./Pruning.ts"
export { type Schema, settle } from "./Schema.ts"
export { checkStructural } from "./StructuralRules.ts"

/**
 * Faults of a complete object, except its own metadata (`MetadataRules`). Given the previous object, faults in
 * unchanged parts are forgiven. `scale` are faults of the scale subresource, which follow those of the schema.
 */
export const validate = (
  schema: Schema,
  object: unknown,
  previous?: unknown,
  scale: ReadonlyArray<FieldError.FieldError> = []
): ReadonlyArray<FieldError.FieldError> => [
  ...SchemaValidation.validateValue(schema, object, previous),
  ...scale,
  ...besidesValues(schema, object, previous)
]

/** Faults other than those of values: of embedded objects, and of lists. */
const besidesValues = (schema: Schema, object: unknown, previous: unknown): ReadonlyArray<FieldError.FieldError> => [
  ...EmbeddedResources.validate(schema, object),
  ...repeats(schema, object, previous)
]

/**
 * Faults of a write to /status: only the status is validated, by its part of the schema and with paths below `status`.
 */
export const validateStatus = (
  schema: Schema,
  object: unknown,
  previous?: unknown,
  scale: ReadonlyArray<FieldError.FieldError> = []
): ReadonlyArray<FieldError.FieldError> => {
  const status = JsonValue.isObject(object) ? JsonValue.get(object, "status") : undefined
  const before = JsonValue.isObject(previous) ? JsonValue.get(previous, "status") : undefined
  const statusSchema = property(schema, "status")
  return [
    ...(status === undefined || statusSchema === undefined
      ? []
      : SchemaValidation.validateValue(statusSchema, status, before, "status")),
    ...scale,
    ...repeats(schema, object, previous)
  ]
}

/** Duplicates in lists; forgiven if the previous object had any. */
const repeats = (schema: Schema, object: unknown, previous: unknown): ReadonlyArray<FieldError.FieldError> => {
  const errors = ListTypes.validate(schema, object)
  return errors.length > 0 && previous !== undefined && ListTypes.validate(schema, previous).length > 0 ? [] : errors
}

/** True if CEL rules must not run after these errors; the server then adds `rulesNotChecked`. */
export const blocksRules = (errors: ReadonlyArray<FieldError.FieldError>): boolean =>
  errors.some((error) => blocking.has(error.type))

const blocking: ReadonlySet<FieldError.Type> = new Set([
  "NotSupported",
  "Required",
  "TooLong",
  "TooMany",
  "TypeInvalid"
])

/** What the server adds if there are rules that were not run. */
export const rulesNotChecked: FieldError.FieldError = FieldError.invalid(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete " +
    "validation"
)

/**
 * Validates a write to an object or its status by the schema and its rules. Rules see the whole object in both cases.
 * They do not run if one of the errors, including those `found` before, blocks them.
 */
export const judge = (
  schema: Schema,
  object: unknown,
  previous: unknown,
  part: "object" | "status",
  scale: ReadonlyArray<FieldError.FieldError>,
  found: ReadonlyArray<FieldError.FieldError> = []
): RuleValidation.Judged => {
  const errors = (part === "status" ? validateStatus : validate)(schema, object, previous, scale)
  return withRules(schema, object, previous, errors, found)
}

/**
 * As `judge`, for an object of another kind or version (`typeFaults`): its values are not validated, but its embedded
 * objects, lists and rules are.
 */
export const judgeOther = (
  schema: Schema,
  object: unknown,
  previous: unknown,
  typeFaults: ReadonlyArray<FieldError.FieldError>,
  found: ReadonlyArray<FieldError.FieldError> = []
): RuleValidation.Judged =>
  withRules(schema, object, previous, [...typeFaults, ...besidesValues(schema, object, previous)], found)

const withRules = (
  schema: Schema,
  object: unknown,
  previous: unknown,
  errors: ReadonlyArray<FieldError.FieldError>,
  found: ReadonlyArray<FieldError.FieldError>
): RuleValidation.Judged => {
  if (!RuleValidation.hasRules(schema)) return { errors, warnings: [] }
  if (blocksRules(found) || blocksRules(errors)) return { errors: [...errors, rulesNotChecked], warnings: [] }
  const judged = RuleValidation.validate(schema, object, previous)
  return { errors: [...errors, ...judged.errors], warnings: judged.warnings }
}
