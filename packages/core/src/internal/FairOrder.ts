/**
 * `FairOrder`: who is next when several queues share one worker, as start-time fair queueing has it.
 *
 * A lane is what one namespace has waiting at one priority. A value that enters gets a tag one above the last of its
 * lane, or one above the value served last, whichever is more: so lanes take turns, and a lane of ten thousand holds up
 * a lane of one by a single value. Priority is a head start, measured in turns: of two values that enter at once, the
 * one with `p` more priority goes first, but one that has waited `p` turns longer goes before it. Nothing starves: a
 * value is overtaken for a bounded number of turns, whatever else keeps coming.
 *
 * Source: Goyal, Vin, Cheng: Start-time Fair Queueing (SIGCOMM 1996), with unit costs.
 */
export class FairOrder {
  #turn = 0
  /** Lanes with something waiting: how much, and the tag given last. */
  readonly #lanes = new Map<string, { readonly priority: number; waiting: number; last: number }>()

  /** How much is waiting at a priority. */
  waiting(priority: number): number {
    let count = 0
    for (const lane of this.#lanes.values()) if (lane.priority === priority) count += lane.waiting
    return count
  }

  /** The place of a value that enters. The lowest `rank` is next; equal ones in the order of entering. */
  enter(name: string, priority: number): Place {
    const lane = `${priority} ${name}`
    const found = this.#lanes.get(lane)
    const tag = Math.max(this.#turn, found?.last ?? 0) + 1
    if (found === undefined) this.#lanes.set(lane, { priority, waiting: 1, last: tag })
    else {
      found.waiting += 1
      found.last = tag
    }
    return { lane, tag, rank: tag - priority }
  }

  /** The value at that place is served. */
  served(place: Place): void {
    this.#turn = Math.max(this.#turn, place.tag)
    this.left(place)
  }

  /** The value at that place is not waiting there any more. */
  left({ lane }: Place): void {
    const found = this.#lanes.get(lane)!
    if (found.waiting === 1) this.#lanes.delete(lane)
    else found.waiting -= 1
  }
}

export interface Place {
  readonly lane: string
  readonly tag: number
  readonly rank: number
}
