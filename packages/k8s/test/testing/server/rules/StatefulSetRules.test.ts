import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const url = "/apis/apps/v1/namespaces/default/statefulsets"

const claim = (spec: object = {}) => ({
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec }
})

const template = (spec: object = {}) => ({
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "main", image: "app:1" }], ...spec }
})

const set = (spec: object = {}) => ({
  metadata: { name: "a" },
  spec: { selector: { matchLabels: { app: "x" } }, serviceName: "s", template: template(), ...spec }
})

const strategy = (updateStrategy: object) => set({ updateStrategy })
const rolling = "spec.updateStrategy.rollingUpdate"
const retention = "spec.persistentVolumeClaimRetentionPolicy"

describe("StatefulSetRules", () => {
  it.effect("judges strategies, policies and claims", () =>
    refuses(
      url,
      [set()],
      [strategy({ type: "OnDelete" })],
      [
        strategy({ type: "Other" }),
        `spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`
      ],
      [
        strategy({ type: "OnDelete", rollingUpdate: { partition: 1 } }),
        `${rolling}: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'`
      ],
      [
        strategy({ rollingUpdate: { partition: -1, maxUnavailable: 0 } }),
        `${rolling}.partition: Invalid value: -1: must be greater than or equal to 0`,
        `${rolling}.maxUnavailable: Invalid value: 0: cannot be 0`
      ],
      [
        strategy({ rollingUpdate: { maxUnavailable: "120%" } }),
        `${rolling}.maxUnavailable: Invalid value: "120%": must not be greater than 100%`
      ],
      [
        set({ podManagementPolicy: "Other", persistentVolumeClaimRetentionPolicy: { whenScaled: "Other" } }),
        "spec.podManagementPolicy: Invalid value: \"Other\": must be 'OrderedReady' or 'Parallel'",
        `${retention}.whenScaled: Unsupported value: "Other": supported values: "Retain", "Delete"`
      ],
      [
        set({ ordinals: { start: -1 }, volumeClaimTemplates: [claim({ accessModes: [] })] }),
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("names are the Pods' own, and claims are volumes", () =>
    refuses(
      url,
      [set({ template: template({ hostname: "Not A Host", subdomain: "Nor This" }) })],
      [set({
        volumeClaimTemplates: [claim()],
        template: template({ volumes: [{ name: "data", hostPath: { path: "" } }] })
      })]
    ).pipe(Effect.provide(layer)))

  it.effect("what cannot change is not judged again", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, set({ volumeClaimTemplates: [claim()] }))
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { ...object.spec, ordinals: { start: 3 } } })],
        [
          (object) => ({ ...object, spec: { ...object.spec, serviceName: "No", volumeClaimTemplates: [] } }),
          "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " +
          "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' " +
          "are forbidden"
        ]
      )
    }).pipe(Effect.provide(layer)))
})
