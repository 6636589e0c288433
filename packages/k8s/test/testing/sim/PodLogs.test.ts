import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ContainerLife, Ended, State } from "../../../src/testing/sim/PodLife.ts"
import * as PodLogs from "../../../src/testing/sim/PodLogs.ts"

const now = 100_000
const ended: Ended = { exitCode: 1, startedAt: 10_000, finishedAt: 20_000 }
const running: State = { _tag: "Running", startedAt: 50_000, readyAt: 50_000, endsAt: Infinity }

const life = (state: State, more: Partial<ContainerLife> = {}): ContainerLife => ({
  container: { name: "c", image: "i" },
  role: "Main",
  state,
  restarts: 0,
  pulls: 0,
  backoff: 0,
  ...more
})

const read = (of: ContainerLife, query: Readonly<Record<string, string>> = {}, output = "one\ntwo\nthree\n") =>
  Result.merge(
    PodLogs.read(of, "p", (attempt) => `run ${attempt}\n${output}`, PodLogs.query(Object.entries(query), now))
  )

describe("PodLogs", () => {
  it("are of the run that is, of the last one where there is none, or of the one before", () => {
    const waiting: State = { _tag: "Waiting", reason: "CrashLoopBackOff", until: now }
    const table: ReadonlyArray<readonly [ContainerLife, now: string, previous: string]> = [
      [life(running), "run 0", "previous terminated container \"c\" in pod \"p\" not found"],
      [life(running, { restarts: 2, last: ended }), "run 2", "run 1"],
      [life({ _tag: "Terminated", ended, until: now }, { restarts: 1, last: ended }), "run 1", "run 0"],
      [life(waiting, { restarts: 1, last: ended }), "run 1", "run 1"]
    ]
    for (const [of, current, previous] of table) {
      assert.strictEqual(read(of).split("\n")[0], current)
      assert.strictEqual(read(of, { previous: "true" }).split("\n")[0], previous)
    }
  })

  it("are refused of what has not run, with what it waits for", () => {
    for (
      const [reason, why] of [
        ["ContainerCreating", "ContainerCreating"],
        ["ErrImagePull", "image can't be pulled"],
        ["ImagePullBackOff", "trying and failing to pull image"]
      ] as const
    ) {
      const waiting = life({ _tag: "Waiting", reason, until: now })
      assert.strictEqual(read(waiting), `container "c" in pod "p" is waiting to start: ${why}`)
    }
  })

  it("are cut by lines, bytes and time", () => {
    assert.strictEqual(read(life(running), { tailLines: "2" }), "two\nthree\n")
    assert.strictEqual(read(life(running), { tailLines: "0" }), "")
    assert.strictEqual(read(life(running), { tailLines: "9" }), "run 0\none\ntwo\nthree\n")
    assert.strictEqual(read(life(running), { limitBytes: "8" }), "run 0\non")
    assert.strictEqual(read(life(running), { sinceSeconds: "50", tailLines: "1" }), "three\n")
    assert.strictEqual(read(life(running), { sinceSeconds: "49" }), "")
    assert.strictEqual(read(life(running), { sinceTime: "1970-01-01T00:00:50Z", tailLines: "1" }), "three\n")
    assert.strictEqual(read(life(running), { sinceTime: "1970-01-01T00:00:51Z" }), "")
  })

  it("tell when each line was printed, if asked, also of one without an end", () => {
    assert.strictEqual(
      read(life(running), { timestamps: "true" }, "half"),
      "1970-01-01T00:00:50.000000000Z run 0\n1970-01-01T00:00:50.000000000Z half"
    )
  })
})
