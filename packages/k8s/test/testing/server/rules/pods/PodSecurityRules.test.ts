import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../../src/schema/FieldError.ts"
import * as PodSecurityRules from "../../../../../src/testing/server/rules/pods/PodSecurityRules.ts"

const ofContainer = (securityContext: unknown) =>
  PodSecurityRules.ofContainer({ securityContext }, "c").map(FieldError.format)

const ofPod = (securityContext: unknown, spec: object = {}) =>
  PodSecurityRules.ofPod({ securityContext, ...spec }, "spec").map(FieldError.format)

describe("PodSecurityRules", () => {
  it("accepts what is right, and what is not there", () => {
    assert.deepStrictEqual(PodSecurityRules.ofContainer({}, "c"), [])
    assert.deepStrictEqual(PodSecurityRules.ofPod({}, "spec"), [])
    assert.deepStrictEqual(
      ofContainer({
        runAsUser: 0,
        runAsGroup: 2_147_483_647,
        allowPrivilegeEscalation: false,
        capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
        seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" }
      }),
      []
    )
    assert.deepStrictEqual(
      ofPod({ fsGroup: 1, supplementalGroups: [1, 2], sysctls: [{ name: "a" }, { name: "b" }] }),
      []
    )
  })

  it("knows the bounds of ids", () => {
    const range = "must be between 0 and 2147483647, inclusive"
    assert.deepStrictEqual(ofContainer({ runAsUser: -1, runAsGroup: 2_147_483_648 }), [
      `c.securityContext.runAsUser: Invalid value: -1: ${range}`,
      `c.securityContext.runAsGroup: Invalid value: 2147483648: ${range}`
    ])
    assert.deepStrictEqual(ofPod({ fsGroup: -1, supplementalGroups: [1, -2] }), [
      `spec.securityContext.fsGroup: Invalid value: -1: ${range}`,
      `spec.securityContext.supplementalGroups[1]: Invalid value: -2: ${range}`
    ])
  })

  it("refuses what contradicts itself", () => {
    const faults = ofContainer({
      allowPrivilegeEscalation: false,
      privileged: true,
      capabilities: { add: ["CAP_SYS_ADMIN"] }
    })
    assert.lengthOf(faults, 2)
    assert.match(faults[0]!, /cannot set `allowPrivilegeEscalation` to false and `privileged` to true$/)
    assert.match(faults[1]!, /cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN$/)
    assert.lengthOf(ofPod({}, { shareProcessNamespace: true, hostPID: true }), 1)
    assert.deepStrictEqual(ofPod({ sysctls: [{ name: "a" }, { name: "a" }] }), [
      "spec.securityContext.sysctls[1].name: Duplicate value: \"a\""
    ])
  })

  it("a parameter of the kernel that is the node's own is not a Pod's to set", () => {
    const sysctls = ["net.ipv4.tcp_rmem", "kernel.shmmax", "fs/mqueue/msg_max", "kernel.domainname"].map((name) => ({
      name
    }))
    assert.deepStrictEqual(ofPod({ sysctls }), [])
    assert.deepStrictEqual(ofPod({ sysctls }, { hostPID: true }), [])
    assert.deepStrictEqual(ofPod({ sysctls }, { hostNetwork: true }), [
      `spec.securityContext.sysctls[0].name: Invalid value: "net.ipv4.tcp_rmem": may not be specified when ` +
      "'hostNetwork' is true"
    ])
    assert.deepStrictEqual(ofPod({ sysctls }, { hostIPC: true }), [
      `spec.securityContext.sysctls[1].name: Invalid value: "kernel.shmmax": may not be specified when 'hostIPC' is true`,
      `spec.securityContext.sysctls[2].name: Invalid value: "fs/mqueue/msg_max": may not be specified when 'hostIPC' ` +
      "is true"
    ])
  })

  it("knows profiles", () => {
    assert.deepStrictEqual(ofContainer({ seccompProfile: {} }), [
      "c.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set"
    ])
    assert.deepStrictEqual(ofContainer({ seccompProfile: { type: "Localhost" } }), [
      "c.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"
    ])
    assert.match(ofPod({ seccompProfile: { type: "Localhost", localhostProfile: "/a" } }).join(), /must be a relative/)
    assert.match(ofPod({ appArmorProfile: { type: "Nope" } }).join(), /Unsupported value: "Nope"/)
    assert.match(
      ofPod({ appArmorProfile: { type: "Unconfined", localhostProfile: "a" } }).join(),
      /can only be set when AppArmor type is Localhost$/
    )
  })

  it("labels volumes for SELinux file by file", () => {
    assert.deepStrictEqual(ofPod({ seLinuxChangePolicy: "Recursive" }), [])
    assert.deepStrictEqual(ofPod({ seLinuxChangePolicy: "MountOption" }), [
      "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"MountOption\": supported values: \"Recursive\""
    ])
  })
})
