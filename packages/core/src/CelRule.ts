/**
 * `CelRule`: rules in CEL (`x-kubernetes-validations`), declared beside the field that they are about.
 *
 * `schema.pipe(CelRule.rules(CelRule.exactlyOneOf("image", "build"), …))` adds rules to a Schema. The definition
 * contains them, the server runs them, and `CrdValidation` of `@effect-operator/k8s` runs the same ones on the client.
 * `self` is the value of the Schema that has the rules, and `oldSelf` is that value before an update; a rule that uses
 * `oldSelf` does not apply to new objects. The builders know the fields of a struct: a name that it does not have is a
 * compile error. Optional fields are checked with `has` first, so a rule about two fields holds while one is absent.
 *
 * Servers run rules since 1.25, `quantity` since 1.29. The cost of a rule counts: set a maximum length for lists and
 * strings that a rule iterates over, or the server refuses the definition.
 *
 * Source: "Validation rules" in the Kubernetes documentation of CustomResourceDefinitions.
 */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as CelName from "./CelName.ts"

/** A rule as it appears in the definition. `Field` is the fields of `self` that it needs. */
export interface Rule<out Field extends string = never> {
  readonly rule: string
  readonly message?: string
  /** CEL expression for the message; if it fails, `message` is used. */
  readonly messageExpression?: string
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate"
  /** Where a violation is reported, relative to the value: `.spec.size`. */
  readonly fieldPath?: string
  /** Also evaluates a rule with `oldSelf` for new objects; `oldSelf` is then an optional. */
  readonly optionalOldSelf?: boolean
  /** Type only: there is no value. */
  readonly Field?: Field
}

type Options = Omit<Rule, "rule" | "Field">

/** A rule from a CEL expression. */
export const make = <const Field extends string = never>(
  rule: string,
  options: Options | string = {}
): Rule<Field> => ({
  rule,
  ...(typeof options === "string" ? { message: options } : options)
})

/** The key under which a Schema carries its rules. */
export const key = "x-kubernetes-validations"

/** Adds rules to a Schema, after those it has. */
export const rules = <Field extends string>(...added: ReadonlyArray<Rule<Field>>) =>
<S extends Schema.Top>(
  schema: S & ([Field] extends [keyof S["Encoded"]] ? unknown : { readonly noSuchField: Field })
): S["Rebuild"] => {
  const known = SchemaAST.resolveAt<ReadonlyArray<Rule>>(key)(schema.ast) ?? []
  return schema.annotate({ [key]: [...known, ...added] } as Schema.Annotations.Annotations)
}

/** The name of a field in CEL. */
const nameOf = (field: string): string => {
  const name = CelName.escape(field)
  if (name === undefined) {
    throw new Error(
      `A CEL rule cannot refer to the field ${JSON.stringify(field)}: it must begin with a letter or _, followed by ` +
        `letters, digits, _ . - and /. Rename the field, or put the rule on the object that contains it.`
    )
  }
  return name
}

const at = (field: string, self = "self"): string => `${self}.${nameOf(field)}`

const has = (field: string, self = "self"): string => `has(${at(field, self)})`

/** A JSON literal is also a CEL literal for the values that rules compare with. */
const literal = (value: string | number | boolean): string => JSON.stringify(value)

const listed = (fields: ReadonlyArray<string>): string => fields.join(", ")

const counted = (fields: ReadonlyArray<string>): string =>
  `[${fields.map((field) => has(field)).join(", ")}].filter(x, x).size()`

/** The value never changes once the object exists. On an optional field: once it is set; see `immutableOnceSet`. */
export const immutable = (message = "Value is immutable"): Rule => make("self == oldSelf", message)

/** An optional field can be set once, and then neither changed nor removed. */
export const immutableOnceSet = <const F extends string>(field: F): Rule<F> =>
  make(
    `!${has(field, "oldSelf")} || (${has(field)} && ${at(field)} == ${at(field, "oldSelf")})`,
    `${field} is immutable once set`
  )

/** A number may grow but never shrink. */
export const neverDecreases = (message = "may not decrease"): Rule => make("self >= oldSelf", message)

/** Exactly one of the fields is set. */
export const exactlyOneOf = <const F extends string>(...fields: ReadonlyArray<F>): Rule<F> =>
  make(`${counted(fields)} == 1`, `exactly one of ${listed(fields)} must be set`)

/** At most one of the fields is set. */
export const atMostOneOf = <const F extends string>(...fields: ReadonlyArray<F>): Rule<F> =>
  make(`${counted(fields)} <= 1`, `at most one of ${listed(fields)} may be set`)

/** At least one of the fields is set. */
export const atLeastOneOf = <const F extends string>(...fields: ReadonlyArray<F>): Rule<F> =>
  make(fields.map((field) => has(field)).join(" || "), `at least one of ${listed(fields)} must be set`)

/** `field` has the value `is`. */
export interface Condition<out W extends string> {
  readonly field: W
  readonly is: string | number | boolean
}

const unless = <W extends string>({ field, is }: Condition<W>): string =>
  `!${has(field)} || ${at(field)} != ${literal(is)}`

/** `field` must be set while another has a value: `requiredWhen("schedule", { field: "mode", is: "Timed" })`. */
export const requiredWhen = <const F extends string, const W extends string>(
  field: F,
  when: Condition<W>
): Rule<F | W> =>
  make(`${unless(when)} || ${has(field)}`, {
    message: `${field} is required when ${when.field} is ${when.is}`,
    reason: "FieldValueRequired"
  })

/** `field` must not be set while another has a value. */
export const forbiddenWhen = <const F extends string, const W extends string>(
  field: F,
  when: Condition<W>
): Rule<F | W> =>
  make(`${unless(when)} || !${has(field)}`, {
    message: `${field} may not be set when ${when.field} is ${when.is}`,
    reason: "FieldValueForbidden"
  })

const bothOrNone = (a: string, b: string, rule: string): string => `!${has(a)} || !${has(b)} || ${rule}`

/** The number in one field is at most that in another: `atMost("minReplicas", "maxReplicas")`. */
export const atMost = <const A extends string, const B extends string>(less: A, more: B): Rule<A | B> =>
  make(bothOrNone(less, more, `${at(less)} <= ${at(more)}`), `${less} must be at most ${more}`)

/** The quantity in one field is at most that in another: `quantityAtMost("request", "limit")`. */
export const quantityAtMost = <const A extends string, const B extends string>(less: A, more: B): Rule<A | B> =>
  make(
    bothOrNone(less, more, `quantity(${at(less)}).compareTo(quantity(${at(more)})) <= 0`),
    `${less} must be at most ${more}`
  )

/** For the Schema of a quantity: it lies between two quantities, inclusive: `quantityBetween("1Gi", "1Ti")`. */
export const quantityBetween = (minimum: string, maximum: string): Rule =>
  make(
    `quantity(self).compareTo(quantity(${literal(minimum)})) >= 0 && ` +
      `quantity(self).compareTo(quantity(${literal(maximum)})) <= 0`,
    `must be between ${minimum} and ${maximum}`
  )

/** For the Schema of a quantity: it may grow but never shrink, like the size of a volume. */
export const quantityNeverDecreases = (message = "may not decrease"): Rule =>
  make("quantity(self).compareTo(quantity(oldSelf)) >= 0", message)
