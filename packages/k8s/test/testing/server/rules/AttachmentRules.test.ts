import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post, put } from "../../support/server.ts"

const url = "/apis/storage.k8s.io/v1/volumeattachments"

const attachment = (source: object, spec: object = {}) => ({
  metadata: { name: "a" },
  spec: { attacher: "a.example.com", nodeName: "n", source, ...spec }
})

const inline = (spec: object) =>
  attachment({ inlineVolumeSpec: { accessModes: ["ReadWriteOnce"], csi: { driver: "d", volumeHandle: "h" }, ...spec } })

const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
const context = "in the context of inline volumes"
const path = "spec.source.inlineVolumeSpec"

describe("AttachmentRules", () => {
  it.effect("judges where the volume is from", () =>
    refuses(
      url,
      [attachment({ persistentVolumeName: "v" })],
      [inline({})],
      [attachment({}), `spec.source: Required value: ${one}`],
      [
        attachment({ persistentVolumeName: "v", inlineVolumeSpec: {} }),
        `spec.source: Forbidden: ${one}`
      ],
      [
        inline({ capacity: { storage: "1Gi" }, storageClassName: "x", volumeMode: "Block" }),
        `${path}.capacity: Forbidden: may not be specified ${context}`,
        `${path}.storageClassName: Forbidden: may not be specified ${context}`,
        `${path}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem ${context}`
      ],
      [
        attachment({ inlineVolumeSpec: {} }),
        `${path}.csi: Required value: has to be specified ${context}`,
        `${path}.accessModes: Required value`,
        `${path}: Required value: must specify a volume type`
      ],
      // The old rule and the one of the first stable version each ask for a name.
      [
        attachment({ persistentVolumeName: "v" }, { attacher: "" }),
        "spec.attacher: Required value",
        "spec.attacher: Required value"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("stays as it is, but for its status", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, { ...attachment({ persistentVolumeName: "v" }), status: { attached: true } })
      assert.deepStrictEqual(body.status, { attached: false })
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [
          (object) => ({ ...object, spec: { ...object.spec, nodeName: "m" } }),
          "spec: Invalid value: {\"Attacher\":\"a.example.com\",\"Source\":{\"PersistentVolumeName\":\"v\"," +
          "\"InlineVolumeSpec\":null},\"NodeName\":\"m\"}: field is immutable"
        ]
      )
      const refused = yield* put(`${url}/a/status`, {
        ...body,
        status: { attached: true, attachError: { message: "x".repeat(1025), errorCode: -1 } }
      })
      assert.deepStrictEqual(causes(refused), [
        "status.attachError.message: Too long: may not be more than 262144 bytes",
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"
      ])
      const labels = { a: "b" }
      const attached = yield* put(`${url}/a/status`, {
        ...body,
        metadata: { ...body.metadata, labels },
        status: { attached: true }
      })
      assert.deepStrictEqual(attached.body.status, { attached: true })
      assert.isUndefined(attached.body.metadata.labels)
    }).pipe(Effect.provide(layer)))
})
