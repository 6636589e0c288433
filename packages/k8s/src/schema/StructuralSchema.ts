/**
 * `StructuralSchema`: what the `openAPIV3Schema` of a CustomResourceDefinition does to its objects.
 *
 * A write goes through `coerceMetadata`, `prune` and `applyDefaults` when it is decoded, and `judge` before it is
 * stored; the schema itself goes through `checkStructural` when the CRD is written. `judge` is `validate`, then the rules
 * in CEL (`x-kubernetes-validations`), unless one of the errors so far `blocksRules`.
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
 * Faults of a whole object, apart from its own metadata (`MetadataRules`). Given the previous object, faults of parts
 * that did not change are forgiven. `scale` are faults of the scale subresource, which come after those of the schema.
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

/** Faults of an object apart from those of its values: of the objects in it, and of lists. */
const besidesValues = (schema: Schema, object: unknown, previous: unknown): ReadonlyArray<FieldError.FieldError> => [
  ...EmbeddedResources.validate(schema, object),
  ...repeats(schema, object, previous)
]

/** Faults of a write to /status: only the status is judged by its part of the schema, at paths below `status`. */
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

/** Repeats in lists; forgiven while the previous object had any. */
const repeats = (schema: Schema, object: unknown, previous: unknown): ReadonlyArray<FieldError.FieldError> => {
  const errors = ListTypes.validate(schema, object)
  return errors.length > 0 && previous !== undefined && ListTypes.validate(schema, previous).length > 0 ? [] : errors
}

/** True if rules in CEL must not run after these errors; the server then adds `rulesNotChecked`. */
export const blocksRules = (errors: ReadonlyArray<FieldError.FieldError>): boolean =>
  errors.some((error) => blocking.has(error.type))

const blocking: ReadonlySet<FieldError.Type> = new Set([
  "NotSupported",
  "Required",
  "TooLong",
  "TooMany",
  "TypeInvalid"
])

/** What the server adds where rules exist and were not run. */
export const rulesNotChecked: FieldError.FieldError = FieldError.invalid(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete " +
    "validation"
)

/**
 * What the schema and its rules say of a write to an object or to its status. Rules see the whole object in both cases,
 * unless something keeps them from running, which may be what was `found` before.
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
 * As `judge`, of an object that is of another kind or version, as `typeFaults` say: its values are not judged, but the
 * objects in it, its lists and the rules are.
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
