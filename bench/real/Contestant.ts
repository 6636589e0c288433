/** The protocol of the contestants in benchmarks on a real kube-apiserver. */

/** The credentials, as JSON in the first argument; the second argument is the contestant's namespace. */
export interface Access {
  readonly url: string
  readonly token: string
  readonly caFile: string
}

/** The measurements of a burst: one patch of every object's status. */
export interface Burst {
  /** Milliseconds. */
  readonly wall: number
  readonly cpu: number
}

/** The contestant must know all objects of a burst before it starts. */
export interface Operator {
  readonly known: () => number
  /** Patches the status of all known objects; completes with the last response. */
  readonly burst: (round: number) => Promise<void>
}

/** The desired status. When a contestant sees a new object with another status, it patches it by itself. */
export const statusOf = (round: number) => ({ status: { round, ready: true } })

export const path = "/apis/bench.example.com/v1"

/** Responds to `known` with the number of known objects, and to `burst ROUND` with its measurements. */
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
