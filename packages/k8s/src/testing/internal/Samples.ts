/**
 * `Samples`: values of a Schema, the same for a seed.
 *
 * The one module that knows `effect/Arbitrary`, which is not stable yet.
 */
import type { AnySchema } from "@effect-operator/core/CustomResource"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"

export interface Options {
  readonly count: number
  readonly seed: number
  /** How long texts and lists may be. */
  readonly size?: number | undefined
}

/** In the Schema's type. Throws where so few of the values that can be drawn pass its checks that none is found. */
export const of = <S extends AnySchema>(schema: S, options: Options): ReadonlyArray<S["Type"]> =>
  Effect.runSync(Arbitrary.sampleEffect(Arbitrary.schema(schema), options)) as ReadonlyArray<S["Type"]>
