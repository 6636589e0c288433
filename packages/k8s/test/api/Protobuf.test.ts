import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Protobuf from "../../src/api/Protobuf.ts"

type Field = readonly [number: number, value: number | string | ReadonlyArray<Field>]

const varint = (value: bigint): ReadonlyArray<number> => {
  const bytes: Array<number> = []
  let rest = BigInt.asUintN(64, value)
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}

const encode = (fields: ReadonlyArray<Field>): Buffer =>
  Buffer.concat(fields.map(([number, value]) => {
    if (typeof value === "number") return Buffer.from([...varint(BigInt(number * 8)), ...varint(BigInt(value))])
    const content = typeof value === "string" ? Buffer.from(value) : encode(value)
    return Buffer.concat([Buffer.from([...varint(BigInt(number * 8 + 2)), ...varint(BigInt(content.length))]), content])
  }))

const body = (apiVersion: string, kind: string, fields: ReadonlyArray<Field>): Buffer =>
  Buffer.concat([
    Buffer.from([0x6b, 0x38, 0x73, 0]),
    encode([[1, [[1, apiVersion], [2, kind]]]]),
    // The object as bytes.
    Buffer.from([0x12, ...varint(BigInt(encode(fields).length))]),
    encode(fields),
    encode([[3, ""], [4, ""]])
  ])

const decode = (apiVersion: string, kind: string, fields: ReadonlyArray<Field>): any =>
  Result.getOrThrow(Protobuf.decode(body(apiVersion, kind, fields)))

describe("Protobuf", () => {
  it("reads metadata, maps and bytes, without the zero values Go leaves out of JSON", () => {
    assert.deepStrictEqual(
      decode("v1", "ConfigMap", [
        [1, [
          [1, "a"],
          [2, ""],
          [3, "default"],
          [5, ""],
          [7, 0],
          [8, []],
          [11, [[1, "x"], [2, "y"]]],
          [11, [[1, "empty"], [2, ""]]],
          [14, "a/b"],
          [14, "c/d"]
        ]],
        [2, [[1, "key"], [2, "value"]]],
        [3, [[1, "bin"], [2, "\u0001\u0002"]]],
        [4, 0]
      ]),
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a", namespace: "default", labels: { x: "y", empty: "" }, finalizers: ["a/b", "c/d"] },
        data: { key: "value" },
        binaryData: { bin: "AQI=" },
        // A pointer in Go: false was meant.
        immutable: false
      }
    )
  })

  it("reads inlined messages, int-or-string, quantities, times and negative numbers", () => {
    const container: ReadonlyArray<Field> = [
      [1, "main"],
      [2, "nginx"],
      [8, [[1, [[1, "cpu"], [2, [[1, "100m"]]]]]]],
      [10, [[1, [[2, [[1, "/healthz"], [2, [[1, 0], [2, 8080], [3, ""]]]]]]], [2, 5]]],
      [11, [[1, [[2, [[2, [[1, 1], [2, 0], [3, "http"]]]]]]]]]
    ]
    assert.deepStrictEqual(
      decode("v1", "Pod", [
        [1, [[1, "p"], [8, [[1, 1_700_000_000], [2, 0]]]]],
        [2, [
          [1, [[1, "data"], [2, [[2, [[1, "Memory"]]]]]]],
          [2, container],
          [4, 0],
          [11, 0],
          [25, -5]
        ]]
      ]),
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", creationTimestamp: "2023-11-14T22:13:20Z" },
        spec: {
          volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
          containers: [{
            name: "main",
            image: "nginx",
            resources: { limits: { cpu: "100m" } },
            livenessProbe: { httpGet: { path: "/healthz", port: 8080 }, initialDelaySeconds: 5 },
            readinessProbe: { httpGet: { port: "http" } }
          }],
          terminationGracePeriodSeconds: 0,
          priority: -5
        }
      }
    )
  })

  it("reads micro times, lists in maps, embedded JSON and schemas", () => {
    assert.deepStrictEqual(
      decode("coordination.k8s.io/v1", "Lease", [[2, [[1, "me"], [4, [[1, 1], [2, 5_000]]]]]]),
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        spec: { holderIdentity: "me", renewTime: "1970-01-01T00:00:01.000005Z" }
      }
    )
    assert.deepStrictEqual(
      decode("authorization.k8s.io/v1", "SubjectAccessReview", [
        [2, [[3, "jane"], [5, [[1, "scopes"], [2, [[1, "a"], [1, "b"]]]]]]]
      ]),
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: { user: "jane", extra: { scopes: ["a", "b"] } }
      }
    )
    assert.deepStrictEqual(
      decode("apps/v1", "ControllerRevision", [[2, [[1, "{\"a\":[1]}"]]], [3, 7]]),
      { apiVersion: "apps/v1", kind: "ControllerRevision", data: { a: [1] }, revision: 7 }
    )
  })

  it("reads messages that have no fields", () => {
    const subresources = [[1, []], [2, [[1, ".spec.replicas"], [2, ".status.replicas"]]]] as const
    assert.deepStrictEqual(
      decode("apiextensions.k8s.io/v1", "CustomResourceDefinition", [
        [2, [[1, "example.com"], [7, [[1, "v1"], [2, 1], [3, 1], [5, subresources]]]]]
      ])["spec"],
      {
        group: "example.com",
        versions: [{
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
          }
        }]
      }
    )
  })

  it("reads options under any version", () => {
    assert.deepStrictEqual(decode("apps/v1", "DeleteOptions", [[1, 0], [4, "Foreground"]]), {
      apiVersion: "apps/v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      propagationPolicy: "Foreground"
    })
  })

  it("skips fields it does not know", () => {
    assert.deepStrictEqual(decode("v1", "ConfigMap", [[99, "new"], [98, 1], [2, [[1, "a"], [2, "b"]]]]), {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { a: "b" }
    })
  })

  it("refuses what is no such body, in the server's words", () => {
    const failure = (bytes: Uint8Array) => {
      const result = Protobuf.decode(bytes)
      return Result.isFailure(result) ? result.failure : "read"
    }
    assert.strictEqual(
      failure(Buffer.from("{}")),
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )
    assert.strictEqual(
      failure(body("example.com/v1", "Widget", [])),
      `no kind "Widget" is registered for version "example.com/v1"`
    )
    assert.strictEqual(failure(body("v1", "ConfigMap", [[1, "abc"]]).subarray(0, 20)), "unexpected EOF")
  })
})
