export class FairOrder {
  #turn = 0
  /** Lanes with something waiting, by priority and name. */
  readonly #lanes = new Map<number, Map<string, Lane>>()

  /** How much is waiting at a priority. */
  waiting(priority: number): number {
    let count = 0
    for (const lane of this.#lanes.get(priority)?.values() ?? []) count += lane.waiting
    return count
  }

  /** The place of a value that enters. The lowest `rank` is next; equal ones in the order of entering. */
  enter(name: string, priority: number): Place {
    const lane = this.#lane(name, priority)
    const tag = Math.max(this.#turn, lane.last) + 1
    lane.waiting += 1
    lane.last = tag
    return { lane, tag, rank: tag - priority }
  }

  /** The value at that place is served. */
  served(place: Place): void {
    this.#turn = Math.max(this.#turn, place.tag)
    this.left(place)
  }

  /** The value at that place is not waiting there any more. */
  left({ lane }: Place): void {
    lane.waiting -= 1
    if (lane.waiting > 0) return
    const lanes = this.#lanes.get(lane.priority)!
    lanes.delete(lane.name)
    if (lanes.size === 0) this.#lanes.delete(lane.priority)
  }

  #lane(name: string, priority: number): Lane {
    let lanes = this.#lanes.get(priority)
    if (lanes === undefined) this.#lanes.set(priority, lanes = new Map())
    let lane = lanes.get(name)
    if (lane === undefined) lanes.set(name, lane = { name, priority, waiting: 0, last: 0 })
    return lane
  }
}

interface Lane {
  readonly name: string
  readonly priority: number
  /** How much is waiting, and the tag given last. */
  waiting: number
  last: number
}

export interface Place {
  readonly lane: Lane
  readonly tag: number
  readonly rank: number
}
