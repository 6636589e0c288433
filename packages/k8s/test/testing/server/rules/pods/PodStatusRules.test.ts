import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Names from "../../../../../src/api/Names.ts"
import { causes } from "../../../support/refusals.ts"
import { layer, patch, pods, post } from "../../../support/server.ts"

const container = { name: "c", image: "i" }

const state = (name: string, state: object) => ({
  name,
  image: "i",
  imageID: "",
  ready: false,
  restartCount: 0,
  state
})

const ended = (exitCode: number) => ({ terminated: { exitCode } })

const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

const put = (status: unknown) => patch(`${pods}/a/status`, "merge", { status })

describe("PodStatusRules", () => {
  it.effect("a status that leaves out class and generations does not lose them", () =>
    Effect.gen(function*() {
      yield* post(pods, { metadata: { name: "a" }, spec: { containers: [{ name: "c", image: "i" }] } })
      const write = (status: unknown) =>
        Effect.map(patch(`${pods}/a/status`, "merge", { status }), ({ body }) => body.status)
      assert.deepStrictEqual(yield* write(null), { qosClass: "BestEffort" })
      const ready = { type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: null }
      const seen = { observedGeneration: 1, conditions: [{ ...ready, observedGeneration: 1 }], qosClass: "BestEffort" }
      yield* write({ observedGeneration: 1, conditions: [{ ...ready, observedGeneration: 1 }] })
      assert.deepStrictEqual(yield* write({ observedGeneration: 0, conditions: [ready, ready] }), {
        ...seen,
        conditions: [seen.conditions[0], ready]
      })
    }).pipe(Effect.provide(layer)))

  it.effect("what nobody asks for is not told", () =>
    Effect.gen(function*() {
      yield* post(pods, { metadata: { name: "a" }, spec: { containers: [container] } })
      const { body } = yield* put({
        allocatedResources: { cpu: "1" },
        resources: { requests: { cpu: "1" } },
        extendedResourceClaimStatus: { resourceClaimName: "a", requestMappings: [] }
      })
      assert.deepStrictEqual(body.status, { phase: "Pending", qosClass: "BestEffort" })
    }).pipe(Effect.provide(layer)))

  it.effect("judges conditions, addresses, claims and where it is nominated to", () =>
    Effect.gen(function*() {
      yield* post(pods, { metadata: { name: "a" }, spec: { containers: [container], nodeName: "n" } })
      const name =
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
      const rows: ReadonlyArray<readonly [object, ...Array<string>]> = [
        [{
          phase: "Running",
          podIP: "10.0.0.1",
          hostIP: "no address",
          conditions: [{ type: "Ready", status: "True" }]
        }],
        [{ podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }],
        [{ podIPs: [{ ip: "not looked at, as it is not podIP" }] }],
        [{ podIPs: null, podIP: "x" }, `status.podIPs[0]: Invalid value: "x": ${address}`],
        [
          { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
          "status.podIPs: Invalid value: [{\"IP\":\"10.0.0.1\"},{\"IP\":\"10.0.0.2\"}]: may specify no more than one IP for " +
          "each IP family"
        ],
        [
          { hostIP: "10.0.0.3", hostIPs: [{ ip: "10.0.0.4" }, { ip: "y" }] },
          "status.hostIPs[0].ip: Invalid value: \"10.0.0.4\": must be equal to `hostIP`",
          `status.hostIPs[1]: Invalid value: "y": ${address}`,
          "status.hostIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: y",
          "status.hostIPs: Invalid value: [{\"IP\":\"10.0.0.4\"},{\"IP\":\"y\"}]: may specify no more than one IP for each IP " +
          "family"
        ],
        [
          { nominatedNodeName: "y" },
          "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound " +
          "to a node"
        ],
        [{ qosClass: "Guaranteed" }, "status.qosClass: Invalid value: \"Guaranteed\": field is immutable"],
        [{ observedGeneration: -1 }, "status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
        [
          { conditions: [{ type: "a b", status: "True", observedGeneration: -2 }] },
          "status.conditions[0].observedGeneration: Invalid value: -2: must be a non-negative integer",
          `status.conditions[0].Type: Invalid value: "a b": ${name}`
        ],
        [
          { resourceClaimStatuses: [{ name: "q", resourceClaimName: "A_" }] },
          "status.resourceClaimStatuses[0].name: Invalid value: \"q\": must match the name of an entry in " +
          "`spec.resourceClaims`",
          `status.resourceClaimStatuses[0].name: Invalid value: "A_": ${Names.dnsSubdomain("A_")[0]}`
        ],
        [
          { resourceClaimStatuses: [{ name: "q" }, { name: "q" }] },
          "status.resourceClaimStatuses[0].name: Invalid value: \"q\": must match the name of an entry in " +
          "`spec.resourceClaims`",
          "status.resourceClaimStatuses[1].name: Invalid value: \"q\": must match the name of an entry in " +
          "`spec.resourceClaims`",
          "status.resourceClaimStatuses[1].name: Duplicate value: \"q\""
        ]
      ]
      for (const [status, ...expected] of rows) assert.deepStrictEqual(causes(yield* put(status)), expected)
    }).pipe(Effect.provide(layer)))

  it.effect("judges who containers run as", () =>
    Effect.gen(function*() {
      yield* post(pods, { metadata: { name: "a" }, spec: { containers: [container] } })
      const users = { uid: -1, gid: 2147483648, supplementalGroups: [0, -2] }
      const as = (list: string, linux: object) =>
        Effect.map(put({ [list]: [{ ...state("c", {}), user: { linux } }] }), causes)
      const range = "must be between 0 and 2147483647, inclusive"
      for (const list of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"]) {
        const path = `status.${list}[0].user.linux`
        assert.deepStrictEqual(yield* as(list, users), [
          `${path}.uid: Invalid value: -1: ${range}`,
          `${path}.gid: Invalid value: 2147483648: ${range}`,
          `${path}.supplementalGroups[1]: Invalid value: -2: ${range}`
        ])
      }
      assert.strictEqual((yield* put({ containerStatuses: [{ ...state("c", {}), user: {} }] })).status, 200)
      yield* post(pods, { metadata: { name: "w" }, spec: { os: { name: "windows" }, containers: [container] } })
      const status = { containerStatuses: [{ ...state("c", {}), user: { linux: { uid: 0, gid: 0 } } }] }
      assert.deepStrictEqual(causes(yield* patch(`${pods}/w/status`, "merge", { status })), [
        "status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("how well the resources of a container are is not kept", () =>
    Effect.gen(function*() {
      yield* post(pods, { metadata: { name: "a" }, spec: { containers: [container] } })
      const health = {
        allocatedResourcesStatus: [{ name: "cpu", resources: [{ resourceID: "a", health: "Healthy" }] }]
      }
      const { body } = yield* put({ containerStatuses: [{ ...state("c", { running: {} }), ...health }] })
      assert.notProperty(body.status.containerStatuses[0], "allocatedResourcesStatus")
    }).pipe(Effect.provide(layer)))

  it.effect("what has ended has, unless it may be started again", () =>
    Effect.gen(function*() {
      const fixed = { exitCodes: { operator: "In", values: [42] }, action: "Restart" }
      yield* post(pods, {
        metadata: { name: "a" },
        spec: {
          restartPolicy: "OnFailure",
          containers: [
            container,
            { ...container, name: "never", restartPolicy: "Never", restartPolicyRules: [fixed] }
          ],
          initContainers: [{ ...container, name: "side", restartPolicy: "Always" }]
        }
      })
      const after = (exitCode: number, field: string, name: string) =>
        Effect.gen(function*() {
          yield* put({ [field]: null })
          assert.deepStrictEqual(causes(yield* put({ [field]: [state(name, ended(exitCode))] })), [])
          return causes(yield* put({ [field]: [state(name, { running: {} })] }))
        })
      const refused = (field: string) => [
        `status.${field}[0].state: Forbidden: may not be transitioned to non-terminated state`
      ]
      assert.deepStrictEqual(yield* after(1, "containerStatuses", "c"), [])
      assert.deepStrictEqual(yield* after(0, "containerStatuses", "c"), refused("containerStatuses"))
      assert.deepStrictEqual(yield* after(1, "containerStatuses", "never"), refused("containerStatuses"))
      assert.deepStrictEqual(yield* after(42, "containerStatuses", "never"), [])
      assert.deepStrictEqual(yield* after(1, "containerStatuses", "nobody"), refused("containerStatuses"))
      assert.deepStrictEqual(yield* after(0, "initContainerStatuses", "side"), [])
      assert.deepStrictEqual(
        yield* after(1, "ephemeralContainerStatuses", "debug"),
        refused("ephemeralContainerStatuses")
      )
    }).pipe(Effect.provide(layer)))
})
