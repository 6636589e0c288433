import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../../src/schema/FieldError.ts"
import * as PodSpecRules from "../../../../../src/testing/server/rules/pods/PodSpecRules.ts"

const container = (more: Record<string, unknown> = {}) => ({
  name: "main",
  image: "app:1",
  terminationMessagePolicy: "File",
  imagePullPolicy: "Always",
  ...more
})

const faults = (spec: Record<string, unknown>) =>
  PodSpecRules.podSpec(
    { restartPolicy: "Always", dnsPolicy: "ClusterFirst", containers: [container()], ...spec },
    "spec"
  )
    .map(FieldError.format)

const ofContainer = (more: Record<string, unknown>) => faults({ containers: [container(more)] })

const c = "spec.containers[0]"

describe("PodSpecRules", () => {
  it("accepts what is right", () => {
    assert.deepStrictEqual(faults({}), [])
    assert.deepStrictEqual(
      ofContainer({
        ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
        env: [{ name: "A", value: "1" }, { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        resources: { requests: { cpu: "500m" }, limits: { cpu: "1", "example.com/gpu": "1" } },
        livenessProbe: { httpGet: { path: "/", port: "http", scheme: "HTTP" }, successThreshold: 1 }
      }),
      []
    )
  })

  it("judges containers", () => {
    assert.deepStrictEqual(faults({ containers: [] }), ["spec.containers: Required value"])
    assert.deepStrictEqual(ofContainer({ name: "", image: "" }), [
      `${c}.name: Required value`,
      `${c}.image: Required value`
    ])
    assert.include(ofContainer({ name: "UPPER" })[0], `${c}.name: Invalid value: "UPPER": a lowercase RFC 1123 label`)
    assert.deepStrictEqual(faults({ containers: [container(), container()] }), [
      "spec.containers[1].name: Duplicate value: \"main\""
    ])
    assert.deepStrictEqual(ofContainer({ imagePullPolicy: "Never!" }), [
      `${c}.imagePullPolicy: Unsupported value: "Never!": supported values: "Always", "IfNotPresent", "Never"`
    ])
  })

  it("judges ports, environment and resources", () => {
    assert.deepStrictEqual(ofContainer({ ports: [{ protocol: "TCP" }, { containerPort: 70000, protocol: "X" }] }), [
      `${c}.ports[0].containerPort: Required value`,
      `${c}.ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
      `${c}.ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`
    ])
    assert.deepStrictEqual(ofContainer({ env: [{ name: "" }, { name: "A", valueFrom: {} }] }), [
      `${c}.env[0].name: Required value`,
      `${c}.env[1].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, ` +
      "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    ])
    assert.deepStrictEqual(ofContainer({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }), [
      `${c}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`
    ])
    assert.deepStrictEqual(ofContainer({ resources: { limits: { bogus: "1" } } }), [
      `${c}.resources.limits[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified`,
      `${c}.resources.limits[bogus]: Invalid value: "bogus": must be a standard resource for containers`
    ])
  })

  it("judges probes", () => {
    assert.deepStrictEqual(ofContainer({ livenessProbe: { successThreshold: 1 } }), [
      `${c}.livenessProbe: Required value: must specify a handler type`
    ])
    assert.deepStrictEqual(
      ofContainer({ startupProbe: { tcpSocket: { port: 0 }, successThreshold: 2, periodSeconds: -1 } }),
      [
        `${c}.startupProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${c}.startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${c}.startupProbe.successThreshold: Invalid value: 2: must be 1`
      ]
    )
    assert.deepStrictEqual(faults({ initContainers: [container({ name: "init", readinessProbe: {} })] }), [
      "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"
    ])
  })

  it("judges volumes, tolerations and the rest", () => {
    assert.deepStrictEqual(faults({ volumes: [{ name: "a", secret: {} }, { name: "b" }] }), [
      "spec.volumes[0].secret.secretName: Required value",
      "spec.volumes[1]: Required value: must specify a volume type"
    ])
    assert.deepStrictEqual(
      faults({ tolerations: [{ operator: "Equal" }, { key: "a", operator: "Exists", value: "v" }] }),
      [
        "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means " +
        "\"match all values and all keys\"",
        "spec.tolerations[1].operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'"
      ]
    )
    assert.deepStrictEqual(faults({ activeDeadlineSeconds: 0, restartPolicy: "Maybe" }), [
      "spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"OnFailure\", \"Never\"",
      "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"
    ])
  })

  it("variables come from files of volumes that the Pod has for itself", () => {
    const fileKeyRef = { volumeName: "v", path: "p", key: "k" }
    const from = (...volumes: ReadonlyArray<object>) =>
      faults({ volumes, containers: [container({ env: [{ name: "A", valueFrom: { fileKeyRef } }] })] })
    const here = `${c}.env[0].valueFrom.fileKeyRef.volumeName`
    assert.deepStrictEqual(from({ name: "v", emptyDir: {} }), [])
    assert.deepStrictEqual(from(), [`${here}: Not found: "v"`])
    assert.deepStrictEqual(from({ name: "v", hostPath: { path: "/a", type: "" } }), [
      `${here}: Invalid value: "v": referenced volume must be of type emptyDir`
    ])
  })
})
