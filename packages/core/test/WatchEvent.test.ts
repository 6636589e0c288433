import { WatchEvent } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

const bookmark = (annotations?: Readonly<Record<string, string>>): WatchEvent.WatchEvent => ({
  type: "BOOKMARK",
  object: { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: "1", ...(annotations && { annotations }) } }
})

describe("isInitialEventsEnd", () => {
  it("is true for the annotated bookmark only", () => {
    const end = { "k8s.io/initial-events-end": "true" }
    assert.isTrue(WatchEvent.isInitialEventsEnd(bookmark(end)))
    assert.isFalse(WatchEvent.isInitialEventsEnd(bookmark()))
    assert.isFalse(WatchEvent.isInitialEventsEnd(bookmark({ "k8s.io/initial-events-end": "false" })))
    const object = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "", annotations: end }
    }
    assert.isFalse(WatchEvent.isInitialEventsEnd({ type: "ADDED", object }))
  })
})
