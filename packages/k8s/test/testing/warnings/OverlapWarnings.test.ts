import { assert, describe, it } from "@effect/vitest"
import * as OverlapWarnings from "../../../src/testing/warnings/OverlapWarnings.ts"

const items = (...paths: ReadonlyArray<string>) => paths.map((path) => ({ key: "k", path }))

const cases: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
  ["files side by side", { configMap: { name: "c", items: items("a", "ab", "b/a") } }, []],
  ["the same file", { configMap: { name: "c", items: items("a", "a/") } }, [
    `volume "v" (ConfigMap "c"): overlapping paths: "a" with "a"`
  ]],
  ["a file as a folder", { secret: { secretName: "s", items: items("a/b", "a") } }, [
    `volume "v" (Secret "s"): overlapping paths: "a" with "a/b"`
  ]],
  ["sources of one volume", {
    projected: {
      sources: [
        { configMap: { name: "c", items: items("token") } },
        { serviceAccountToken: { path: "token" } },
        {},
        { clusterTrustBundle: { signerName: "x/y", path: "token/ca" } }
      ]
    }
  }, [
    `volume "v" (Projected) has no sources provided`,
    `volume "v" (Projected): overlapping paths: "token" (ServiceAccountToken) with "token" (ConfigMap "c")`,
    `volume "v" (Projected): overlapping paths: "token/ca" (ClusterTrustBundle "x/y") with "token" (ConfigMap "c")`,
    `volume "v" (Projected): overlapping paths: "token/ca" (ClusterTrustBundle "x/y") with "token" ` +
    `(ServiceAccountToken)`
  ]]
]

describe("overlapping paths", () => {
  for (const [name, volume, warnings] of cases) {
    it(name, () => assert.deepStrictEqual(OverlapWarnings.ofVolumes([{ name: "v", ...volume }]), warnings))
  }
})
