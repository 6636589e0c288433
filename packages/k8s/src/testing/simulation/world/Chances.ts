/**
 * `Chances`: what the API server of a simulation decides by chance.
 *
 * The uid of an object depends only on the seed, on where it is created and on how often something was created there
 * before. So a fault that adds a request does not change the uids of what others create afterwards, nor the names that
 * are generated from them.
 */
import type { Request } from "@effect-operator/core/Transport"
import type * as Random from "effect/Random"
import { hash } from "./Seed.ts"
import { generator, randomOf } from "./World.ts"

const nameOf = (body: unknown): string => {
  const { generateName, name } =
    (body as { readonly metadata?: { readonly name?: string; readonly generateName?: string } } | undefined)
      ?.metadata ?? {}
  return name ?? generateName ?? ""
}

/** Numbers in [0, 1) for each request, from a stream of its own. */
export const of = (seed: number): (request: Request) => () => number => {
  const made = new Map<string, number>()
  return ({ body, method, path }) => {
    let draw: (() => number) | undefined
    return () => {
      if (draw === undefined) {
        const place = `${method} ${path} ${nameOf(body)}`
        const before = made.get(place) ?? 0
        made.set(place, before + 1)
        draw = generator(hash(`${seed} ${before} ${place}`))
      }
      return draw()
    }
  }
}

/** Random numbers that belong to no request: the ids of audit events. */
export const service = (seed: number): typeof Random.Random.Service => randomOf(generator(hash(`${seed} server`)))
