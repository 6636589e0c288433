import { assert, describe, it } from "@effect/vitest"
import { podFaults } from "../../../support/podFaults.ts"

const v = "spec.volumes[0]"
const mode = "must be a number between 0 and 0777 (octal), both inclusive"

const volume = (source: object) => podFaults({ volumes: [{ name: "data", ...source }] })

const rows: ReadonlyArray<readonly [source: object, ...faults: ReadonlyArray<string>]> = [
  [{ emptyDir: {} }],
  [
    { emptyDir: { sizeLimit: "-1" } },
    `${v}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`
  ],
  [
    { hostPath: { path: "/a/../b", type: "Other" } },
    `${v}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
    `${v}.hostPath.type: Unsupported value: "Other": supported values: "", "BlockDevice", "CharDevice", "Directory", ` +
    `"DirectoryOrCreate", "File", "FileOrCreate", "Socket"`
  ],
  [
    { flexVolume: { driver: "a/b", options: { "a.k8s.io/b": "1", "Kubernetes.io": "2", "k8s.io.a/b": "3" } } },
    `${v}.flexVolume.options[a.k8s.io/b]: Invalid value: "a.k8s.io/b": kubernetes.io and k8s.io namespaces are reserved`,
    `${v}.flexVolume.options[Kubernetes.io]: Invalid value: "Kubernetes.io": kubernetes.io and k8s.io namespaces are ` +
    "reserved"
  ],
  [
    { awsElasticBlockStore: { volumeID: "v", partition: 256 } },
    `${v}.awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255, inclusive`
  ],
  [
    { gcePersistentDisk: { pdName: "", partition: -1 } },
    `${v}.persistentDisk.pdName: Required value`,
    `${v}.persistentDisk.partition: Invalid value: -1: must be between 1 and 255, inclusive`
  ],
  [{ persistentVolumeClaim: {} }, `${v}.persistentVolumeClaim.claimName: Required value`],
  [{ nfs: { server: "s", path: "a" } }, `${v}.nfs.path: Invalid value: "a": must be an absolute path`],
  [
    { configMap: { name: "c", defaultMode: 512, items: [{ key: "k", path: "..x" }, { path: "/a", mode: -1 }] } },
    `${v}.configMap.defaultMode: Invalid value: 512: ${mode}`,
    `${v}.configMap.items[0].path: Invalid value: "..x": must not start with '..'`,
    `${v}.configMap.items[1].key: Required value`,
    `${v}.configMap.items[1].path: Invalid value: "/a": must be a relative path`,
    `${v}.configMap.items[1].mode: Invalid value: -1: ${mode}`
  ],
  [{ csi: {} }, `${v}.csi.driver: Required value`],
  [
    { downwardAPI: { items: [{ path: "a" }] } },
    `${v}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`
  ],
  [{ flocker: {} }, `${v}.flocker: Required value: one of datasetName and datasetUUID is required`],
  [
    { quobyte: { registry: "a", volume: "v" } },
    `${v}.quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas`
  ],
  [
    { azureDisk: { diskName: "d", diskURI: "x", kind: "Shared" } },
    `${v}.azureDisk.diskURI: Unsupported value: "x": supported values: ` +
    `"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`
  ],
  [{ cinder: { volumeID: "v", secretRef: {} } }, `${v}.cinder.secretRef.name: Required value`],
  [{ ephemeral: {} }, `${v}.ephemeral.volumeClaimTemplate: Required value`],
  [{ emptyDir: {}, downwardAPI: {} }, `${v}.downwarAPI: Forbidden: may not specify more than 1 volume type`]
]

describe("VolumeRules", () => {
  it("judges each source by what it needs", () => {
    for (const [source, ...faults] of rows) assert.deepStrictEqual(volume(source), faults, JSON.stringify(source))
  })

  it("a claim that the Pod makes is not another volume's", () => {
    const claim = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }
    assert.deepStrictEqual(
      podFaults({
        volumes: [
          { name: "data", ephemeral: { volumeClaimTemplate: claim } },
          { name: "other", persistentVolumeClaim: { claimName: "a-data" } }
        ]
      }),
      [
        "spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: \"a-data\": must not reference a PVC that gets " +
        "created for an ephemeral volume"
      ]
    )
  })
})

describe("ProjectionRules", () => {
  it("sources share files, and none has one twice", () => {
    const sources = [
      { configMap: { name: "c", items: [{ key: "k", path: "a" }] } },
      { secret: { items: [{ key: "k", path: "a" }] } },
      { serviceAccountToken: { path: "token", expirationSeconds: 1 } },
      { secret: { name: "s" }, downwardAPI: {} }
    ]
    assert.deepStrictEqual(volume({ projected: { sources } }), [
      `${v}.projected.sources[1].secret.name: Required value`,
      `${v}.projected: Invalid value: "": conflicting duplicate paths`,
      `${v}.projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less ` +
      "than 10 minutes",
      `${v}.projected.sources[3]: Forbidden: may not specify more than 1 volume type per source`
    ])
  })
})
