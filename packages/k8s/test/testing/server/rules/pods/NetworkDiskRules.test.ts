import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { podFaults } from "../../../support/podFaults.ts"
import { refuses } from "../../../support/refusals.ts"
import { layer } from "../../../support/server.ts"

const v = "spec.volumes[0]"
const range = "must be between 0 and 255, inclusive"

const ofPod = (source: object) => podFaults({ volumes: [{ name: "data", ...source }] })

const volume = (source: object, name = "a") => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...source }
})

const disk = { targetPortal: "p", iqn: "iqn.2001-04.com.example:disk", lun: 0 }

const rows: ReadonlyArray<readonly [source: object, ...faults: ReadonlyArray<string>]> = [
  [{ fc: {} }, `${v}.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`],
  [
    { fc: { targetWWNs: ["a"], wwids: ["b"], lun: 256 } },
    `${v}.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously`,
    `${v}.fc.lun: Invalid value: 256: ${range}`
  ],
  [{ fc: { targetWWNs: ["a"] } }, `${v}.fc.lun: Required value: lun is required if targetWWNs is specified`],
  [{ fc: { targetWWNs: ["a"], lun: 255 } }],
  [{ fc: { wwids: ["b"], lun: 300 } }],
  [{ iscsi: {} }, `${v}.iscsi.targetPortal: Required value`, `${v}.iscsi.iqn: Required value`],
  [{ iscsi: disk }],
  [{ iscsi: { ...disk, iqn: "eui.02004567A425678D" } }],
  [{ iscsi: { ...disk, iqn: `naa.${"5".repeat(32)}` } }],
  [
    { iscsi: { ...disk, iqn: "bad", lun: -1 } },
    `${v}.iscsi.iqn: Invalid value: "bad": must be valid format starting with iqn, eui, or naa`,
    `${v}.iscsi.lun: Invalid value: -1: ${range}`
  ],
  [{ iscsi: { ...disk, iqn: "naa.5" } }, `${v}.iscsi.iqn: Invalid value: "naa.5": must be valid format`],
  [
    { iscsi: { ...disk, chapAuthSession: true, initiatorName: "iqn.2001-04.com.example" } },
    `${v}.iscsi.secretRef: Required value`,
    `${v}.iscsi.initiatorname: Invalid value: "iqn.2001-04.com.example": must be valid format`
  ],
  [{ iscsi: { ...disk, chapAuthDiscovery: true, secretRef: {}, initiatorName: disk.iqn } }]
]

describe("NetworkDiskRules", () => {
  it("judges disks of Pods", () => {
    for (const [source, ...faults] of rows) assert.deepStrictEqual(ofPod(source), faults, JSON.stringify(source))
  })

  it.effect("judges disks of volumes, which have names of their own", () =>
    refuses(
      "/api/v1/persistentvolumes",
      [volume({ fc: {} }), "spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"],
      [
        volume({ iscsi: { ...disk, iqn: "bad", lun: 999, secretRef: {}, initiatorName: "" } }),
        "spec.iscsi.iqn: Invalid value: \"bad\": must be valid format",
        `spec.iscsi.lun: Invalid value: 999: ${range}`,
        "spec.iscsi.secretRef.name: Required value",
        "spec.iscsi.initiatorname: Invalid value: \"\": must be valid format"
      ],
      [
        volume({ iscsi: { ...disk, initiatorName: disk.iqn } }, "n".repeat(63)),
        "spec.iscsi.targetportal: Invalid value: \"p\": Total length of <volume name>:<iscsi.targetPortal> must be " +
        "under 64 characters if iscsi.initiatorName is specified."
      ]
    ).pipe(Effect.provide(layer)))
})
