import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { asObject } from "../../../../../src/api/Plain.ts"
import * as FieldError from "../../../../../src/schema/FieldError.ts"
import * as PodRules from "../../../../../src/testing/server/rules/pods/PodRules.ts"
import { get, layer, post } from "../../../support/server.ts"

const pod = (spec: Record<string, unknown>) =>
  asObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "main", image: "app:1" }], ...spec }
  })

const faults = (previous: Record<string, unknown>, next: Record<string, unknown>) =>
  PodRules.validateUpdate(pod(next), pod(previous)).map(FieldError.format)

const inZones = (...expressions: ReadonlyArray<unknown>) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: expressions }] }
  }
})
const zone = (...values: ReadonlyArray<string>) => ({ key: "zone", operator: "In", values })
const gated = { schedulingGates: [{ name: "quota" }] }

const otherwise = /^spec: Forbidden: pod updates may not change fields other than /

describe("PodRules", () => {
  it("lets images, a closer deadline and more tolerations through", () => {
    assert.deepStrictEqual(
      faults(
        { activeDeadlineSeconds: 10, tolerations: [{ key: "a", tolerationSeconds: 1 }] },
        {
          activeDeadlineSeconds: 5,
          tolerations: [{ key: "a", tolerationSeconds: 2 }, { key: "b" }],
          containers: [{ name: "main", image: "app:2" }]
        }
      ),
      []
    )
    assert.match(faults({}, { restartPolicy: "Never" }).join(), otherwise)
  })

  it("stops at containers that came or went, and at a deadline out of reach", () => {
    assert.deepStrictEqual(faults({}, { containers: [], restartPolicy: "Never" }), [
      "spec.containers: Forbidden: pod updates may not add or remove containers"
    ])
    assert.deepStrictEqual(
      faults({ activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: 10, restartPolicy: "Never" }),
      [
        "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"
      ]
    )
    assert.deepStrictEqual(faults({}, { activeDeadlineSeconds: -1, restartPolicy: "Never" }), [
      "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ])
    const taken = faults({ activeDeadlineSeconds: 5 }, { restartPolicy: "Never" })
    assert.strictEqual(
      taken[0],
      "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
    )
    assert.match(taken[1]!, otherwise)
  })

  it("lets a period below zero become one second", () => {
    assert.deepStrictEqual(faults({ terminationGracePeriodSeconds: -5 }, { terminationGracePeriodSeconds: 1 }), [])
    assert.match(
      faults({ terminationGracePeriodSeconds: 5 }, { terminationGracePeriodSeconds: 1 }).join(),
      otherwise
    )
  })

  it("takes gates away and adds none", () => {
    assert.deepStrictEqual(faults(gated, {}), [])
    assert.deepStrictEqual(faults(gated, { schedulingGates: [{ name: "quota" }, { name: "more" }] }), [
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'more'"
    ])
  })

  it("lets the choice of nodes become narrower at a gate, and nowhere else", () => {
    assert.deepStrictEqual(faults(gated, { ...gated, nodeSelector: { disk: "ssd" } }), [])
    assert.match(faults({}, { nodeSelector: { disk: "ssd" } }).join(), otherwise)
    assert.deepStrictEqual(faults({ ...gated, nodeSelector: { disk: "ssd" } }, gated), [
      "spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    ])
    assert.deepStrictEqual(faults(gated, { ...gated, affinity: inZones(zone("a")) }), [])
    assert.match(
      faults(gated, { ...gated, affinity: { ...inZones(zone("a")), podAffinity: { x: 1 } } }).join(),
      otherwise
    )
    const there = { ...gated, affinity: inZones(zone("a")) }
    const rack = { key: "rack", operator: "Exists" }
    assert.deepStrictEqual(faults(there, { ...gated, affinity: inZones(zone("a"), rack) }), [])
    assert.match(
      faults(there, { ...gated, affinity: inZones(zone("b")) }).join(),
      /nodeSelectorTerms\[0\]: Invalid value: .*: only additions are allowed \(no mutations or deletions\)$/
    )
    assert.match(
      faults(there, gated).join(),
      /no additions\/deletions to non-empty NodeSelectorTerms list are allowed$/
    )
    assert.match(
      faults({ ...gated, affinity: inZones() }, { ...gated, affinity: inZones(zone("a")) }).join(),
      /only additions are allowed/
    )
  })

  it.effect("one that is gated says so from the start", () =>
    Effect.gen(function*() {
      const { body } = yield* post("/api/v1/namespaces/default/pods", { ...pod(gated) })
      assert.deepStrictEqual(body.status.conditions, [{
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: body.metadata.creationTimestamp,
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates"
      }])
      const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
      const shown = yield* get("/api/v1/namespaces/default/pods/p", table)
      assert.strictEqual(shown.body.rows[0].cells[2], "SchedulingGated")
    }).pipe(Effect.provide(layer)))

  it.effect("one with limits of its own requests what its containers do, and has the quality of what is its own", () =>
    Effect.gen(function*() {
      const of = (resources: object | undefined, ...containers: ReadonlyArray<object>) =>
        Effect.map(
          post("/api/v1/namespaces/default/pods?dryRun=All", {
            metadata: { name: "a" },
            spec: {
              ...(resources === undefined ? {} : { resources }),
              containers: containers.map((own, index) => ({ name: `c${index}`, image: "i", resources: own }))
            }
          }),
          ({ body }) => [body.spec.resources?.requests, body.status.qosClass]
        )
      const memory = { limits: { memory: "1Gi" } }
      assert.deepStrictEqual(yield* of({ limits: { cpu: "3" } }, memory), [{ cpu: "3", memory: "1Gi" }, "Burstable"])
      assert.deepStrictEqual(yield* of({ requests: { cpu: "3" } }, { requests: { memory: "1Gi" } }), [
        { cpu: "3" },
        "Burstable"
      ])
      assert.deepStrictEqual(yield* of({ limits: { cpu: "3" } }, { requests: { cpu: "1" } }), [
        { cpu: "1" },
        "Burstable"
      ])
      const both = { limits: { cpu: "3", memory: "2Gi" } }
      assert.deepStrictEqual(yield* of(both, {}), [both.limits, "Guaranteed"])
      assert.deepStrictEqual(yield* of({}, both), [undefined, "BestEffort"])
      assert.deepStrictEqual(yield* of(undefined, both), [undefined, "Guaranteed"])
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod that says nothing of it is not in its host's network", () =>
    Effect.gen(function*() {
      const url = "/api/v1/namespaces/default/pods"
      for (const hostNetwork of [undefined, true]) {
        const metadata = { name: hostNetwork === true ? "host" : "own" }
        yield* post(url, { ...pod({ hostNetwork }), metadata })
      }
      const found = (value: string) =>
        Effect.map(get(`${url}?fieldSelector=spec.hostNetwork%3D${value}`), ({ body }) =>
          body.items.map((item: any) => item.metadata.name))
      assert.deepStrictEqual([yield* found("false"), yield* found("true"), yield* found("")], [["own"], ["host"], []])
    }).pipe(Effect.provide(layer)))
})
