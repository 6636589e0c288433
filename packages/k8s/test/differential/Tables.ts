/**
 * `Tables`: all requests that are written down (see `tables/Table`), and what two servers answer differently to them.
 */
import * as Effect from "effect/Effect"
import { script } from "./Report.ts"
import { type Place, run } from "./Run.ts"
import { differing } from "./Compare.ts"
import { access } from "./tables/Access.ts"
import { negotiation } from "./tables/Negotiation.ts"
import { parameters } from "./tables/Parameters.ts"
import { reviews } from "./tables/Reviews.ts"
import { routing } from "./tables/Routing.ts"
import { subresources } from "./tables/Subresources.ts"
import type { Table } from "./tables/Table.ts"
import type { Send } from "./Wire.ts"

export const tables: ReadonlyArray<Table> = [
  ...routing,
  ...parameters,
  ...negotiation,
  ...subresources,
  ...reviews,
  ...access
]

export interface Options {
  readonly left: Send
  readonly right: Send
  /** Tells the runs of one pair of servers apart; lower-case letters and digits. */
  readonly run: string
  /** The time of the run, in milliseconds. */
  readonly today: number
}

/** Runs every table on both servers; every row to which they give different answers, as a script. */
export const compare = ({ left, right, run: name, today }: Options) =>
  Effect.map(
    Effect.forEach(tables, ({ steps }, index) => {
      const place: Place = { id: `${name}t${index}` }
      return Effect.map(
        Effect.all([run(left, place, steps), run(right, place, steps)], { concurrency: 2 }),
        ([lefts, rights]) =>
          [...differing(steps, lefts, rights, today)].map((difference) =>
            script(index, place, [difference.step], lefts, difference)
          )
      )
    }, { concurrency: 4 }),
    (found) => found.flat()
  )
