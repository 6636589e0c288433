import { assert, describe, it } from "@effect/vitest"
import { c, containerFaults } from "../../../support/podFaults.ts"

const volumes = [{ name: "data", emptyDir: {} }, { name: "disk", persistentVolumeClaim: { claimName: "d" } }]

const mounts = (...volumeMounts: ReadonlyArray<object>) => containerFaults({ volumeMounts }, { volumes })
const devices = (...volumeDevices: ReadonlyArray<object>) => containerFaults({ volumeDevices }, { volumes })

describe("MountRules", () => {
  it("takes what is right", () => {
    assert.deepStrictEqual(mounts({ name: "data", mountPath: "/a", subPath: "x/y" }), [])
    assert.deepStrictEqual(devices({ name: "disk", devicePath: "/dev/a" }), [])
  })

  it("mounts have names of volumes and paths of their own", () => {
    assert.deepStrictEqual(mounts({}), [
      `${c}.volumeMounts[0].name: Required value`,
      `${c}.volumeMounts[0].name: Not found: ""`,
      `${c}.volumeMounts[0].mountPath: Required value`
    ])
    assert.deepStrictEqual(mounts({ name: "data", mountPath: "/a" }, { name: "other", mountPath: "/a" }), [
      `${c}.volumeMounts[1].name: Not found: "other"`,
      `${c}.volumeMounts[1].mountPath: Invalid value: "/a": must be unique`
    ])
  })

  it("paths within volumes lead downwards", () => {
    assert.deepStrictEqual(mounts({ name: "data", mountPath: "/a", subPath: "/x", subPathExpr: "../y" }), [
      `${c}.volumeMounts.subPath: Invalid value: "/x": must be a relative path`,
      `${c}.volumeMounts[0].subPathExpr: Invalid value: "../y": subPathExpr and subPath are mutually exclusive`,
      `${c}.volumeMounts.subPathExpr: Invalid value: "../y": must not contain '..'`
    ])
  })

  it("how mounts are shared", () => {
    assert.deepStrictEqual(mounts({ name: "data", mountPath: "/a", mountPropagation: "Bidirectional" }), [
      `${c}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged ` +
      "containers"
    ])
    assert.deepStrictEqual(mounts({ name: "data", mountPath: "/a", recursiveReadOnly: "Enabled" }), [
      `${c}.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`
    ])
  })

  it("devices are those of claims", () => {
    assert.deepStrictEqual(devices({ name: "data", devicePath: "/x/../y" }), [
      `${c}.volumeDevices[0].name: Invalid value: "data": can only use volume source type of PersistentVolumeClaim or ` +
      "Ephemeral for block mode",
      `${c}.volumeDevices[0].devicePath: Invalid value: "/x/../y": can not contain backsteps ('..')`
    ])
    assert.deepStrictEqual(
      containerFaults({
        volumeDevices: [{ name: "disk", devicePath: "/a" }],
        volumeMounts: [{ name: "disk", mountPath: "/a" }]
      }, { volumes }),
      [
        `${c}.volumeMounts[0].name: Invalid value: "disk": must not already exist in volumeDevices`,
        `${c}.volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices`,
        `${c}.volumeDevices[0].name: Invalid value: "disk": must not already exist in volumeMounts`,
        `${c}.volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts`
      ]
    )
  })
})
