import { assert, describe, it } from "@effect/vitest"
import type { Pod } from "../../../src/kinds/core.v1.ts"
import * as PodStates from "../../../src/testing/sim/PodStates.ts"

const early = "2026-01-01T00:00:00Z"
const late = "2026-01-01T00:01:00Z"
const host: PodStates.Host = { now: early, hostIP: "10.0.0.1", podIP: "10.1.0.1" }

const pod = (spec: Partial<Pod["spec"]> = {}, metadata: Partial<Pod["metadata"]> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", namespace: "ns", uid: "u", resourceVersion: "1", creationTimestamp: early, ...metadata },
  spec: { nodeName: "node", containers: [{ name: "main", image: "nginx" }], ...spec }
})

const running = (spec?: Partial<Pod["spec"]>) => {
  const one = pod(spec)
  return { ...one, status: PodStates.running(one, host) }
}

const gated = { readinessGates: [{ conditionType: "example.com/ok" }] }

const withGate = (one: Pod, status: string): Pod => ({
  ...one,
  status: { ...one.status, conditions: [...one.status?.conditions ?? [], { type: "example.com/ok", status }] }
})

const main = (status: Pod["status"]) => status?.containerStatuses?.[0]

describe("PodStates", () => {
  describe("stepOf", () => {
    const step = (one: Pod, ends = false) => PodStates.stepOf(one, ends)

    it("binds what has no node, unless it is not this scheduler's to bind yet", () => {
      assert.strictEqual(step(pod({ nodeName: "" })), "Bind")
      assert.isUndefined(step(pod({ nodeName: "", schedulerName: "mine" })))
      assert.isUndefined(step(pod({ nodeName: "", schedulingGates: [{ name: "wait" }] })))
    })

    it("starts what is bound, and leaves alone what runs, unless its containers end", () => {
      assert.strictEqual(step(pod()), "Start")
      assert.isUndefined(step(running()))
      assert.strictEqual(step(running(), true), "Exit")
    })

    it("restarts what has stopped containers, and leaves alone what is finished", () => {
      const one = running()
      assert.strictEqual(step({ ...one, status: PodStates.crashed(one, { exitCode: 1 }, late) }, true), "Restart")
      assert.isUndefined(step({ ...one, status: PodStates.finished(one, { exitCode: 1 }, late) }, true))
    })

    it("refreshes what is ready against its gates, either way", () => {
      const waiting = running(gated)
      assert.isUndefined(step(waiting))
      const met = withGate(waiting, "True")
      assert.strictEqual(step(met), "Refresh")
      const ready = { ...met, status: PodStates.refreshed(met, late) }
      assert.isUndefined(step(ready))
      const conditions = ready.status.conditions!.filter(({ type }) => type !== "example.com/ok")
      assert.strictEqual(step({ ...ready, status: { ...ready.status, conditions } }), "Refresh")
    })

    it("removes what is being deleted for as long as it has grace, whatever its state", () => {
      const deleting = { deletionTimestamp: late, deletionGracePeriodSeconds: 30 }
      assert.strictEqual(step(pod({}, deleting)), "Remove")
      assert.strictEqual(step({ ...pod({}, deleting), status: { phase: "Succeeded" } }), "Remove")
      assert.isUndefined(step(pod({}, { ...deleting, deletionGracePeriodSeconds: 0 })))
    })
  })

  it("a running Pod is ready, with its addresses and a running container", () => {
    const one = running()
    assert.strictEqual(one.status?.phase, "Running")
    assert.strictEqual(PodStates.conditionOf(one, "Ready")?.status, "True")
    assert.deepStrictEqual(one.status.podIPs, [{ ip: "10.1.0.1" }])
    assert.strictEqual(one.status.startTime, early)
    const container = main(one.status)
    assert.deepStrictEqual(container?.state, { running: { startedAt: early } })
    assert.isTrue(container?.ready)
    assert.strictEqual(container?.restartCount, 0)
    assert.isUndefined(one.status.initContainerStatuses)
  })

  it("a readiness gate keeps a running Pod unready", () => {
    const ready = PodStates.conditionOf(running(gated), "Ready")
    assert.strictEqual(ready?.status, "False")
    assert.strictEqual(ready?.reason, "ReadinessGatesNotReady")
  })

  it("init containers have completed, sidecars run on", () => {
    const initContainers = [{ name: "init" }, { name: "sidecar", restartPolicy: "Always" }]
    const [init, sidecar] = running({ initContainers }).status?.initContainerStatuses ?? []
    assert.strictEqual(init?.state?.terminated?.reason, "Completed")
    assert.isDefined(sidecar?.state?.running)
  })

  it("a condition keeps its transition time while it holds as before, and foreign conditions stay", () => {
    const one = withGate(running(), "True")
    const crashed = { ...one, status: PodStates.crashed(one, { exitCode: 1 }, late) }
    assert.strictEqual(PodStates.conditionOf(crashed, "PodScheduled")?.lastTransitionTime, early)
    assert.strictEqual(PodStates.conditionOf(crashed, "Ready")?.lastTransitionTime, late)
    assert.strictEqual(PodStates.conditionOf(crashed, "example.com/ok")?.status, "True")
    const again = { ...crashed, status: PodStates.crashed(crashed, { exitCode: 1 }, "2026-01-01T00:02:00Z") }
    assert.strictEqual(PodStates.conditionOf(again, "Ready")?.lastTransitionTime, late)
  })

  it("the restart policy decides what runs again", () => {
    const after = (restartPolicy: string | undefined) =>
      [0, 1].map((exitCode) =>
        PodStates.restarts(pod(restartPolicy === undefined ? {} : { restartPolicy }), { exitCode })
      )
    assert.deepStrictEqual(after(undefined), [true, true])
    assert.deepStrictEqual(after("Always"), [true, true])
    assert.deepStrictEqual(after("OnFailure"), [false, true])
    assert.deepStrictEqual(after("Never"), [false, false])
  })

  it("a crashed container waits, remembers its end, and has been restarted once more when it runs again", () => {
    const one = running()
    const crashed = { ...one, status: PodStates.crashed(one, { exitCode: 3 }, late) }
    assert.strictEqual(crashed.status.phase, "Running")
    assert.strictEqual(main(crashed.status)?.state?.waiting?.reason, "CrashLoopBackOff")
    assert.deepStrictEqual(main(crashed.status)?.lastState?.terminated, {
      exitCode: 3,
      reason: "Error",
      startedAt: early,
      finishedAt: late
    })
    const again = { ...crashed, status: PodStates.restarted(crashed, late) }
    assert.strictEqual(main(again.status)?.restartCount, 1)
    assert.deepStrictEqual(main(again.status)?.state, { running: { startedAt: late } })
    assert.strictEqual(PodStates.conditionOf(again, "Ready")?.status, "True")
    const untouched = PodStates.restarted(again, late)
    assert.strictEqual(main(untouched)?.restartCount, 1, "what runs is not restarted")
  })

  it("a finished Pod has succeeded or failed, by the exit code", () => {
    const one = running()
    const succeeded = PodStates.finished(one, { exitCode: 0 }, late)
    assert.strictEqual(succeeded.phase, "Succeeded")
    assert.strictEqual(main(succeeded)?.state?.terminated?.reason, "Completed")
    const failed = PodStates.finished(one, { exitCode: 1, reason: "Evicted", message: "no room" }, late)
    assert.deepStrictEqual([failed.phase, failed.reason, failed.message], ["Failed", "Evicted", "no room"])
    assert.strictEqual(PodStates.conditionOf({ ...one, status: failed }, "Ready")?.reason, "PodFailed")
    assert.isTrue(PodStates.isFinished({ ...one, status: failed }))
    assert.isFalse(PodStates.isFinished(one))
  })
})
