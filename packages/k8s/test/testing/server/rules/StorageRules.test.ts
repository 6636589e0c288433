import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const volume = (spec: object = {}) => ({
  metadata: { name: "a" },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/a" }, ...spec }
})

const storageClass = (more: object = {}) => ({ metadata: { name: "a" }, provisioner: "example.com/disk", ...more })

describe("StorageRules", () => {
  it.effect("a phase that is left out is the first one", () =>
    Effect.gen(function*() {
      const cleared = (url: string) =>
        Effect.map(patch(`${url}/a/status`, "merge", { status: null }), ({ body }) => body.status)
      const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
      yield* post("/api/v1/persistentvolumes", volume())
      yield* post(claims, {
        metadata: { name: "a" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
      })
      yield* post("/api/v1/namespaces", { metadata: { name: "a" } })
      assert.strictEqual((yield* cleared("/api/v1/persistentvolumes")).phase, "Pending")
      assert.deepStrictEqual(yield* cleared(claims), { phase: "Pending" })
      const resizing = { conditions: [{ type: "Resizing", status: "True" }] }
      const { body } = yield* patch(`${claims}/a/status`, "json", [{ op: "add", path: "/status", value: resizing }])
      assert.strictEqual(body.status.phase, "Pending")
      assert.deepStrictEqual(yield* cleared("/api/v1/namespaces"), { phase: "Active" })
    }).pipe(Effect.provide(layer)))

  it.effect("a volume says since when it is in its phase", () =>
    Effect.gen(function*() {
      const url = "/api/v1/persistentvolumes/a/status"
      const write = (status: object) => Effect.map(patch(url, "merge", { status }), ({ body }) => body.status)
      const { body: { metadata, status } } = yield* post("/api/v1/persistentvolumes", volume())
      assert.deepStrictEqual(status, { phase: "Pending", lastPhaseTransitionTime: metadata.creationTimestamp })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* write({ phase: "Available" }), {
        phase: "Available",
        lastPhaseTransitionTime: "1970-01-01T00:01:00Z"
      })
      yield* TestClock.adjust("1 minute")
      const told = { reason: "told", phase: "Available", lastPhaseTransitionTime: "1970-01-01T00:01:00Z" }
      assert.deepStrictEqual(yield* write({ reason: "told", lastPhaseTransitionTime: null }), told)
      const given = { ...told, phase: "Bound", lastPhaseTransitionTime: "2026-01-01T00:00:00Z" }
      assert.deepStrictEqual(yield* write(given), given)
    }).pipe(Effect.provide(layer)))

  it.effect("judges volumes", () =>
    refuses(
      "/api/v1/persistentvolumes",
      [volume()],
      [
        volume({ accessModes: [], capacity: undefined, hostPath: undefined }),
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        "spec.capacity: Unsupported value: null: supported values: \"storage\"",
        "spec: Required value: must specify a volume type"
      ],
      [
        volume({ capacity: { storage: "0" }, persistentVolumeReclaimPolicy: "Other", csi: {} }),
        "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero",
        "spec.persistentVolumeReclaimPolicy: Unsupported value: \"Other\": supported values: \"Delete\", \"Recycle\", \"Retain\"",
        "spec.csi: Forbidden: may not specify more than 1 volume type"
      ],
      [
        volume({ nfs: { server: "s", path: "/" }, flocker: {}, cephfs: {}, flexVolume: { driver: "" }, iscsi: {} }),
        "spec.flocker: Forbidden: may not specify more than 1 volume type",
        "spec.nfs: Forbidden: may not specify more than 1 volume type",
        "spec.cephFS: Forbidden: may not specify more than 1 volume type",
        "spec.iscsi: Forbidden: may not specify more than 1 volume type",
        "spec.flexVolume.driver: Required value"
      ],
      [
        volume({ hostPath: undefined, local: { path: "/a" } }),
        "spec.nodeAffinity: Required value: Local volume requires node affinity"
      ],
      [
        volume({ hostPath: undefined, csi: { driver: "example.com", nodePublishSecretRef: {} } }),
        "spec.csi.volumeHandle: Required value",
        "spec.csi.nodePublishSecretRef.name: Required value",
        "spec.csi.nodePublishSecretRef.namespace: Required value"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a volume stays what it is of", () =>
    Effect.gen(function*() {
      const url = "/api/v1/persistentvolumes"
      const { body } = yield* post(url, volume())
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { ...object.spec, capacity: { storage: "2Gi" } } })],
        [
          (object) => ({ ...object, spec: { ...object.spec, hostPath: { path: "/b" }, volumeMode: "Block" } }),
          "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
          "volumeMode: Invalid value: \"Block\": field is immutable"
        ],
        [
          (object) => ({ ...object, spec: { ...object.spec, accessModes: [] } }),
          "spec.accessModes: Required value",
          "spec.accessModes: Required value"
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a volume stays near the nodes it is near, but for names of labels that were never meant to stay", () =>
    Effect.gen(function*() {
      const url = "/api/v1/persistentvolumes"
      const near = (key: string, ...values: ReadonlyArray<string>) => ({
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values }] }] }
      })
      const beta = "failure-domain.beta.kubernetes.io/zone"
      const made = volume()
      const { body } = yield* post(url, { ...made, spec: { ...made.spec, nodeAffinity: near(beta, "a") } })
      const why = "field is immutable, except for updating from beta label to GA"
      const to = (nodeAffinity: unknown) => (object: any) => ({ ...object, spec: { ...object.spec, nodeAffinity } })
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [
          to(near(beta, "b")),
          `nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"${beta}",` +
          `"Operator":"In","Values":["b"]}],"MatchFields":null}]}}: ${why}`
        ],
        [to(undefined), `nodeAffinity: Invalid value: null: ${why}`],
        [to(near("topology.kubernetes.io/zone", "a"))]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("judges classes, which do not change", () =>
    Effect.gen(function*() {
      const url = "/apis/storage.k8s.io/v1/storageclasses"
      const term = (key: string) => ({ matchLabelExpressions: [{ key, values: ["x"] }] })
      yield* refuses(
        url,
        [storageClass({ provisioner: "" }), "provisioner: Required value"],
        [
          storageClass({ allowedTopologies: ["a", "b", "a"].map((key) => term(key)) }),
          "allowedTopologies[2].matchLabelExpressions: Duplicate value: \"\""
        ],
        [
          storageClass({ allowedTopologies: [{}] }),
          "allowedTopologies[0].matchLabelExpressions: Duplicate value: \"\""
        ],
        [
          storageClass({ reclaimPolicy: "Recycle", volumeBindingMode: "Other" }),
          "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"",
          "volumeBindingMode: Unsupported value: \"Other\": supported values: \"Immediate\", \"WaitForFirstConsumer\""
        ]
      )
      const { body } = yield* post(url, storageClass())
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [
          (object) => ({ ...object, reclaimPolicy: "" }),
          "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden."
        ],
        [
          (object) => ({ ...object, parameters: { a: "b" }, volumeBindingMode: "WaitForFirstConsumer" }),
          "parameters: Forbidden: updates to parameters are forbidden.",
          "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable"
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("judges classes of attributes, which do not change either", () =>
    Effect.gen(function*() {
      const url = "/apis/storage.k8s.io/v1/volumeattributesclasses"
      const attributes = (fields: object) => ({ metadata: { name: "a" }, ...fields })
      yield* refuses(url, [
        attributes({ driverName: "a b" }),
        "driverName: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must " +
        "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "parameters: Required value: must contain at least one key/value pair"
      ])
      const { body } = yield* post(url, attributes({ driverName: "d", parameters: { a: "b" } }))
      yield* refusesUpdates(`${url}/a`, body, [
        (object) => ({ ...object, driverName: "e", parameters: { a: "c" } }),
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden."
      ])
    }).pipe(Effect.provide(layer)))
})
