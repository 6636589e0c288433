/**
 * `Samples`: generated values of a Schema, the same for the same seed.
 *
 * The only module that uses `effect/Arbitrary`, which is not stable yet.
 */
import type { AnySchema } from "@effect-operator/core/CustomResource"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"

export interface Options {
  readonly count: number
  readonly seed: number
  /** The maximum length of strings and lists. */
  readonly size?: number | undefined
}

/** Values of the Schema's type. Throws if too few generated values pass its checks. */
export const of = <S extends AnySchema>(schema: S, options: Options): ReadonlyArray<S["Type"]> =>
  Effect.runSync(Arbitrary.sampleEffect(Arbitrary.schema(schema), options)) as ReadonlyArray<S["Type"]>
