import { assert, describe, it } from "@effect/vitest"
import type { Pod } from "../../../src/kinds/core.v1.ts"
import * as PodLife from "../../../src/testing/sim/PodLife.ts"
import { render } from "../../../src/testing/sim/PodStatus.ts"

const pod = (spec: Partial<Pod["spec"]> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "default",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "1970-01-01T00:00:00Z"
  },
  spec: { containers: [{ name: "main", image: "x" }], ...spec }
})

/** Every change of the rendered status until a time, as `seconds: phase, states`. */
const story = (of: Pod, scripts: PodLife.Scripts, until: number): ReadonlyArray<string> => {
  const context: PodLife.Context = { pod: of, scripts, notes: [], backoff: 10_000 }
  const lines: Array<string> = []
  let life = PodLife.begin(of, scripts, 0, 1000)
  for (let now = 0; now <= until;) {
    life = PodLife.advance(life, context, now)
    const status = render(of, life, { hostIP: "h", podIP: "p" }, now)
    const states = [...status.initContainerStatuses ?? [], ...status.containerStatuses ?? []].map((container) => {
      const { running, terminated, waiting } = container.state ?? {}
      const state = waiting?.reason ??
        (running === undefined ? `${terminated!.reason} ${terminated!.exitCode}` : "Running")
      return `${container.name} ${state}${container.ready ? " ready" : ""} ${container.restartCount}`
    })
    lines.push(`${now / 1000}: ${status.phase} ${states.join(", ")}`)
    const next = PodLife.next(life, now)
    if (next === Infinity) break
    assert.isAbove(next, now, "time goes on")
    now = next
  }
  return lines
}

describe("PodLife", () => {
  it("a container that crashes is restarted at once, then after 10 s, 20 s, … 5 min", () => {
    const starts = story(pod(), () => ({ exit: { after: "1 second", exitCode: 1 } }), 1_200_000)
      .filter((line) => line.includes("main Running"))
      .map((line) => Number(line.split(":")[0]))
    assert.deepStrictEqual(
      starts.slice(1).map((start, index) => start - starts[index]!),
      // A second of running, and the wait.
      [2, 11, 21, 41, 81, 161, 301, 301, ...starts.slice(9).map(() => 301)]
    )
  })

  it("a run of ten minutes makes the back-off start anew", () => {
    const lines = story(
      pod(),
      (_, restarts) => ({ exit: { after: restarts === 2 ? "11 minutes" : "1 second", exitCode: 1 } }),
      900_000
    )
    assert.deepStrictEqual(lines.slice(0, 9), [
      "0: Pending main ContainerCreating 0",
      "1: Running main Running ready 0",
      "2: Running main Error 1 0",
      "3: Running main Running ready 1",
      "4: Running main CrashLoopBackOff 1",
      "14: Running main Running ready 2",
      "674: Running main Error 1 2",
      "675: Running main Running ready 3",
      "676: Running main CrashLoopBackOff 3"
    ])
  })

  it("an image that cannot be pulled is tried again and again, until it can", () => {
    let tries = 0
    const lines = story(pod(), () => tries++ < 2 ? { pullError: "not found" } : {}, 100_000)
    assert.deepStrictEqual(lines, [
      "0: Pending main ContainerCreating 0",
      "1: Pending main ErrImagePull 0",
      "2: Pending main ImagePullBackOff 0",
      "11: Running main Running ready 0"
    ])
  })

  it("init containers go first, one after the other; sidecars run on and end last", () => {
    const of = pod({
      restartPolicy: "Never",
      initContainers: [
        { name: "one", image: "x" },
        { name: "side", image: "x", restartPolicy: "Always" },
        { name: "two", image: "x" }
      ]
    })
    const lines = story(
      of,
      ({ name }) => name === "side" ? {} : { exit: { after: "5 seconds", exitCode: 0 } },
      100_000
    )
    assert.deepStrictEqual(lines, [
      "0: Pending one PodInitializing 0, side PodInitializing 0, two PodInitializing 0, main PodInitializing 0",
      "1: Pending one Running 0, side PodInitializing 0, two PodInitializing 0, main PodInitializing 0",
      "6: Pending one Completed 0 ready 0, side Running ready 0, two Running 0, main PodInitializing 0",
      "11: Running one Completed 0 ready 0, side Running ready 0, two Completed 0 ready 0, main Running ready 0",
      "16: Succeeded one Completed 0 ready 0, side Completed 0 0, two Completed 0 ready 0, main Completed 0 0"
    ])
  })

  it("a failed init container fails a Pod that is never restarted", () => {
    const of = pod({ restartPolicy: "Never", initContainers: [{ name: "init", image: "x" }] })
    const lines = story(of, ({ name }) => name === "init" ? { exit: { after: 0, exitCode: 2 } } : {}, 100_000)
    assert.deepStrictEqual(lines, [
      "0: Pending init PodInitializing 0, main PodInitializing 0",
      "1: Failed init Error 2 0, main PodInitializing 0"
    ])
  })

  it("readiness takes its time, and conditions say what is missing", () => {
    const of = pod()
    const scripts: PodLife.Scripts = () => ({ ready: "5 seconds" })
    const life = PodLife.advance(PodLife.begin(of, scripts, 0, 0), { pod: of, scripts, notes: [], backoff: 1 }, 1000)
    const ready = (now: number) =>
      render(of, life, { hostIP: "h", podIP: "p" }, now).conditions?.find(({ type }) => type === "Ready")
    assert.deepInclude(ready(1000), {
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [main]"
    })
    assert.strictEqual(PodLife.next(life, 1000), 5000)
    assert.strictEqual(ready(5000)?.status, "True")
  })
})
