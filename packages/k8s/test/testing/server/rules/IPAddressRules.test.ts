import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const url = "/apis/networking.k8s.io/v1/ipaddresses"

const parentRef = { resource: "services", name: "n" }

const address = (name: string, parent: object = parentRef) => ({ metadata: { name }, spec: { parentRef: parent } })

describe("IPAddressRules", () => {
  it.effect("judges the name and whose it is", () =>
    refuses(
      url,
      [address("10.0.0.1")],
      [address("2001:db8::1")],
      [
        { metadata: { name: "x" } },
        "metadata.name: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        "spec.parentRef: Required value"
      ],
      [
        address("010.0.0.1", {}),
        "metadata.name: Invalid value: \"010.0.0.1\": must not have leading 0s",
        "spec.parentRef.resource: Required value",
        "spec.parentRef.name: Required value"
      ],
      [
        address("2001:DB8::1", { resource: "a/b", name: "a/b", namespace: "c/d" }),
        "metadata.name: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")",
        "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'",
        "spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
        "spec.parentRef.namespace: Invalid value: \"c/d\": may not contain '/'"
      ],
      [
        address("::ffff:1.2.3.4"),
        "metadata.name: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("keeps whose it is", () =>
    Effect.gen(function*() {
      yield* post(url, address("10.0.0.1"))
      const { body } = yield* patch(`${url}/10.0.0.1`, "merge", { spec: { parentRef: { name: "m" } } })
      assert.strictEqual(
        body.message,
        "IPAddress.networking.k8s.io \"10.0.0.1\" is invalid: spec.parentRef: Invalid value: " +
          "{\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"\",\"Name\":\"m\"}: field is immutable"
      )
      const none = yield* patch(`${url}/10.0.0.1`, "merge", { spec: { parentRef: null } })
      assert.include(none.body.message, "[spec.parentRef: Required value, spec.parentRef: Invalid value: null: ")
    }).pipe(Effect.provide(layer)))
})
