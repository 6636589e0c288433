import { assert, describe, it } from "@effect/vitest"
import * as PodWarnings from "../../../src/testing/warnings/PodWarnings.ts"

const container = (more: object = {}) => ({ name: "c", image: "i", ...more })
const pod = (spec: object, metadata: object = {}) => ({ metadata, spec: { containers: [container()], ...spec } })

const cases: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
  ["a plain Pod", pod({}), []],
  ["an old label", pod({ nodeSelector: { "beta.kubernetes.io/arch": "arm" } }), [
    `spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead`
  ]],
  ["Pods that none is", pod({ topologySpreadConstraints: [{ topologyKey: "x" }] }), [
    "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"
  ]],
  [
    "neighbours that none is",
    pod({
      affinity: {
        podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: {} }] }
      }
    }),
    [
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: " +
      "a null labelSelector results in matching no pod"
    ]
  ],
  ["volumes of yesterday", pod({ volumes: [{ name: "v", gitRepo: {} }, { name: "w", storageos: {} }] }), [
    "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+"
  ]],
  ["what comes twice", pod({ hostAliases: [{ ip: "1.1.1.1" }, { ip: "1.1.1.1" }], imagePullSecrets: [{}] }), [
    `spec.hostAliases[1].ip: duplicate ip "1.1.1.1"`,
    `spec.imagePullSecrets[0].name: invalid empty name ""`
  ]],
  ["parts of bytes", pod({ containers: [container({ resources: { requests: { memory: "100m" } } })] }), [
    `spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer`
  ]],
  [
    "variables that hide others, and those that go on from them",
    pod({
      containers: [container({
        env: [{ name: "A", value: "1" }, { name: "A", value: "$(A)2" }, { name: "A", value: "3" }]
      })]
    }),
    [`spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply`]
  ],
  [
    "annotations that do nothing any more",
    pod({}, {
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "x",
        "container.seccomp.security.alpha.kubernetes.io/c": "x",
        "scheduler.alpha.kubernetes.io/critical-pod": ""
      }
    }),
    [
      "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the " +
      `"priorityClassName" field instead`,
      "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the " +
      `"seccompProfile" field instead`,
      "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the " +
      `"seccompProfile" field instead`
    ]
  ],
  ["no time to end", pod({ terminationGracePeriodSeconds: -1 }), [
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
  ]],
  ["addresses", pod({ dnsConfig: { nameservers: ["01.1.1.1"] } }), [
    `spec.dnsConfig.nameservers[0]: non-standard IP address "01.1.1.1" will be considered invalid in a future Kubernetes release: use "1.1.1.1"`
  ]]
]

describe("a Pod", () => {
  for (const [name, value, warnings] of cases) {
    it(name, () => assert.deepStrictEqual(PodWarnings.ofPod(value), warnings))
  }

  it("in a template is told where that stands", () => {
    const template = pod({ terminationGracePeriodSeconds: -1 }, {
      annotations: { "container.apparmor.security.beta.kubernetes.io/c": "runtime/default" }
    })
    assert.deepStrictEqual(PodWarnings.ofTemplate(template, "spec.template"), [
      "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; " +
      `use the "appArmorProfile" field instead`,
      "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be " +
      "treated as 1"
    ])
  })
})
