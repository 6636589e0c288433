/** Rules of schemas as tables: what the server says about objects, and about the rules themselves. */
import { assert, it } from "@effect/vitest"
import * as FieldError from "../../../src/schema/FieldError.ts"
import type { Schema } from "../../../src/schema/Schema.ts"
import * as StructuralSchema from "../../../src/schema/StructuralSchema.ts"

/** An object, perhaps with what it was before, and its faults in any order. */
export interface Row {
  readonly object: object
  readonly old?: object
  readonly errors: ReadonlyArray<string>
}

const whole = (fields: object) => ({
  apiVersion: "example.com/v1",
  kind: "Foo",
  metadata: { name: "a", namespace: "b", uid: "u", creationTimestamp: "2020-01-01T00:00:00Z", resourceVersion: "1" },
  ...fields
})

export const told = (errors: ReadonlyArray<FieldError.FieldError>): ReadonlyArray<string> =>
  errors.map((error) => `${error.type} ${FieldError.format(error)}`)

export const faultsOf = (schema: Schema, object: object, old?: object): ReadonlyArray<string> =>
  told(
    StructuralSchema.judge(schema, whole(object), old === undefined ? undefined : whole(old), "object", []).errors
  )

/** One test for each object. */
export const rulesOf = (schema: Schema, rows: ReadonlyArray<Row>): void => {
  for (const { errors, object, old } of rows) {
    it(JSON.stringify(object) + (old === undefined ? "" : ` after ${JSON.stringify(old)}`), () => {
      assert.deepStrictEqual([...faultsOf(schema, object, old)].sort(), [...errors].sort())
    })
  }
}

/** One test for each schema. */
export const definitions = (
  rows: ReadonlyArray<{ readonly schema: Schema; readonly errors: ReadonlyArray<string> }>
): void => {
  for (const [index, { errors, schema }] of rows.entries()) {
    it(`${index + 1}. ${errors[0]?.slice(0, 110) ?? "nothing is wrong"}`, () => {
      assert.deepStrictEqual(told(StructuralSchema.checkStructural(schema)), errors)
    })
  }
}
