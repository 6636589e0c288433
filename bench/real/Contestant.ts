/** What the contestants of the benchmarks on a real kube-apiserver are told, and what they tell. */

/** How to get in, as JSON in the first argument; the second is the namespace of the contestant's own. */
export interface Access {
  readonly url: string
  readonly token: string
  readonly caFile: string
}

/** Of one burst: every object's status patched once. */
export interface Burst {
  /** Milliseconds. */
  readonly wall: number
  readonly cpu: number
}

/** The objects of a burst that the contestant has to know before it is asked for one. */
export interface Operator {
  readonly known: () => number
  /** Patches the status of all that are known; completes with the last answer. */
  readonly burst: (round: number) => Promise<void>
}

/** The desired status. A contestant patches what has another, on its own account when it sees a new object. */
export const statusOf = (round: number) => ({ status: { round, ready: true } })

export const path = "/apis/bench.example.com/v1"

/** Answers `known` with a number, and `burst ROUND` with what it cost. */
export const serve = (operator: Operator): void => {
  let text = ""
  const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)
  const take = async (line: string): Promise<void> => {
    const [word, round] = line.split(" ")
    if (word === "known") return void answer(operator.known())
    const wall = performance.now()
    const cpu = process.cpuUsage()
    await operator.burst(Number(round))
    const { system, user } = process.cpuUsage(cpu)
    answer({ wall: performance.now() - wall, cpu: (system + user) / 1_000 } satisfies Burst)
  }
  process.stdin.on("data", (bytes: Buffer) => {
    text += bytes.toString()
    const lines = text.split("\n")
    text = lines.pop()!
    for (const line of lines) void take(line)
  })
  process.stdin.on("end", () => process.exit(0))
  answer("ready")
}
