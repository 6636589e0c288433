import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post, put } from "../../support/server.ts"

const url = "/api/v1/namespaces/default/replicationcontrollers"

const template = (spec: object = {}) => ({
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "main", image: "app:1" }], ...spec }
})

const controller = (spec: object) => ({ metadata: { name: "a" }, spec })

describe("ReplicationRules", () => {
  it.effect("judges selector, template and counts", () =>
    refuses(
      url,
      [controller({ template: template() })],
      [
        controller({ template: template(), selector: { app: "y" }, replicas: -1, minReadySeconds: -2 }),
        "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"
      ],
      [controller({}), "spec.selector: Required value", "spec.template: Required value"],
      [
        controller({ template: template({ restartPolicy: "Never", activeDeadlineSeconds: 5 }) }),
        "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not " +
        "Supported"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges its status", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, controller({ template: template() }))
      yield* refusesUpdates(`${url}/a`, body, [
        (object) => ({ ...object, spec: { selector: { app: "x" } } }),
        "spec.template: Required value"
      ])
      const refused = yield* put(`${url}/a/status`, { ...body, status: { replicas: 1, readyReplicas: 2 } })
      assert.deepStrictEqual(causes(refused), [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("judges PodTemplates", () =>
    refuses(
      "/api/v1/namespaces/default/podtemplates",
      [{ metadata: { name: "a" }, template: template() }],
      [{ metadata: { name: "a" } }, "template.spec.containers: Required value"]
    ).pipe(Effect.provide(layer)))
})
