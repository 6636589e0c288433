import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses } from "../../support/refusals.ts"
import { layer, patch, post, put } from "../../support/server.ts"

const url = "/apis/networking.k8s.io/v1/servicecidrs"

const of = (...cidrs: ReadonlyArray<string>) => ({ metadata: { name: "a", labels: { a: "b" } }, spec: { cidrs } })

const c = "spec.cidrs"

describe("ServiceCIDRRules", () => {
  it.effect("judges the ranges", () =>
    refuses(
      url,
      [of("10.1.0.0/32")],
      [of("fd00::/64", "10.1.0.0/24")],
      [{ metadata: { name: "a" } }, `${c}: Required value: at least one CIDR required`],
      [of("a"), `${c}[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`],
      [
        of("10.1.0.0/24", "10.2.0.0/24"),
        `${c}: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one IP for each IP family, i.e ` +
        "192.168.0.0/24 and 2001:db8::/64"
      ],
      [
        of("10.1.0.0/24", "fd00::/64", "10.2.0.0/24"),
        `${c}: Invalid value: {"CIDRs":["10.1.0.0/24","fd00::/64","10.2.0.0/24"]}: may only hold up to 2 values`
      ],
      [of("10.1.0.1/24"), `${c}[0]: Invalid value: "10.1.0.1/24": must not have bits set beyond the prefix length`],
      [of("FD00::/64"), `${c}[0]: Invalid value: "FD00::/64": must be in canonical form ("fd00::/64")`],
      [
        of("010.1.0.0/24"),
        `${c}[0]: Invalid value: "010.1.0.0/24": must not have leading 0s in IP or prefix length`
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("keeps the ranges, but for a second one", () =>
    Effect.gen(function*() {
      yield* post(url, of("10.1.0.0/24"))
      const change = (...cidrs: ReadonlyArray<string>) => patch(`${url}/a`, "merge", { spec: { cidrs } })
      assert.deepStrictEqual(causes(yield* change("10.3.0.0/24")), [
        `${c}[0]: Invalid value: "10.3.0.0/24": field is immutable`
      ])
      assert.strictEqual((yield* change("10.1.0.0/24", "fd00:2::/64")).status, 200)
      assert.deepStrictEqual(causes(yield* change("10.1.0.0/24")), [
        `${c}: Invalid value: ["10.1.0.0/24"]: field is immutable`
      ])
      assert.deepStrictEqual(causes(yield* patch(`${url}/a`, "merge", { spec: null })), [
        `${c}: Invalid value: null: field is immutable`
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps its metadata when the status is written", () =>
    Effect.gen(function*() {
      yield* post(url, of("10.1.0.0/24"))
      const { body } = yield* put(`${url}/a/status`, { metadata: { name: "a", annotations: { c: "d" } } })
      assert.deepStrictEqual(body.metadata.labels, { a: "b" })
      assert.isUndefined(body.metadata.annotations)
    }).pipe(Effect.provide(layer)))
})
