import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as BuiltinSchema from "../../../../src/testing/server/go/BuiltinSchema.ts"
import * as Restoring from "../../../../src/testing/server/go/Restoring.ts"

const definition = BuiltinSchema.definitionOf("apps", "v1", "Deployment")!
const configMap = BuiltinSchema.definitionOf("", "v1", "ConfigMap")!

/** A wrong value, what the decoder says of it, and what the converter says, as a kube-apiserver did. */
const cases: ReadonlyArray<readonly [string, object, string, string]> = [
  [
    configMap,
    { data: { a: 1 } },
    "number into Go struct field ConfigMap.data of type string",
    "cannot convert int64 to string"
  ],
  [
    configMap,
    { data: "x" },
    "string into Go struct field ConfigMap.data of type map[string]string",
    "cannot restore map from string"
  ],
  [
    configMap,
    { data: [] },
    "array into Go struct field ConfigMap.data of type map[string]string",
    "cannot restore map from slice"
  ],
  [
    configMap,
    { metadata: "x" },
    "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
    "cannot restore struct from: string"
  ],
  [
    configMap,
    { immutable: "x" },
    "string into Go struct field ConfigMap.immutable of type bool",
    "unrecognized type: bool"
  ],
  [
    configMap,
    { immutable: 1 },
    "number into Go struct field ConfigMap.immutable of type bool",
    "unrecognized type: bool"
  ],
  [
    configMap,
    { metadata: { finalizers: { a: 1 } } },
    "object into Go struct field ObjectMeta.metadata.finalizers of type []string",
    "cannot restore slice from map"
  ],
  [
    definition,
    { spec: { replicas: "x" } },
    "string into Go struct field DeploymentSpec.spec.replicas of type int32",
    "unrecognized type: int32"
  ],
  [
    definition,
    { spec: { replicas: 1.5 } },
    "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
    "cannot convert float64 to int32"
  ],
  [
    definition,
    { spec: { template: { spec: "x" } } },
    "string into Go struct field PodTemplateSpec.spec.template.spec of type v1.PodSpec",
    "cannot restore struct from: string"
  ],
  [
    definition,
    { spec: { template: { spec: { containers: [{ env: [{ value: 1 }] }] } } } },
    "number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
    "cannot convert int64 to string"
  ],
  [
    definition,
    { spec: { template: { spec: { containers: {} } } } },
    "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    "cannot restore slice from map"
  ]
]

/** The same of types that have names of their own. */
const ofNames: ReadonlyArray<readonly [object, string]> = [
  [{ spec: { strategy: { type: 5 } } }, "cannot convert int64 to v1.DeploymentStrategyType"],
  [{ spec: { strategy: { type: {} } } }, "unrecognized type: string"],
  [{ metadata: { uid: {} } }, "unrecognized type: string"],
  [{ metadata: { uid: 5 } }, "cannot convert int64 to types.UID"],
  [{ spec: { template: { spec: { overhead: [] } } } }, "cannot restore map from slice"],
  [{ spec: { template: { spec: { overhead: "x" } } } }, "cannot restore map from string"],
  [{ spec: { template: { spec: { os: "x" } } } }, "cannot restore struct from: string"]
]

describe("what a Go type cannot hold", () => {
  for (const [kind, body, decoder, converter] of cases) {
    it(JSON.stringify(body), () => {
      const read = BuiltinSchema.decode(kind, body as never)
      if (Result.isSuccess(read)) return assert.fail("was read")
      assert.strictEqual(read.failure, `json: cannot unmarshal ${decoder}`)
      assert.strictEqual(Restoring.word(read.failure), converter)
    })
  }

  for (const [body, converter] of ofNames) {
    it(JSON.stringify(body), () => {
      const read = BuiltinSchema.decode(definition, body as never)
      assert.strictEqual(Result.isFailure(read) ? Restoring.word(read.failure) : "was read", converter)
    })
  }

  it("an integer that its type does not hold is cut off for the converter, and refused by the decoder", () => {
    const body = { spec: { replicas: 2147483648, revisionHistoryLimit: 99999999999999 } }
    assert.isTrue(Result.isFailure(BuiltinSchema.decode(definition, body)))
    const read = BuiltinSchema.decode(definition, body, true)
    assert.deepStrictEqual(
      Result.isSuccess(read) ? read.success.object : read.failure,
      { spec: { replicas: -2147483648, revisionHistoryLimit: 276447231 } }
    )
  })

  it("types that read themselves name no field to the converter", () => {
    const said = (body: object): string => {
      const read = BuiltinSchema.decode(definition, body as never)
      return Result.isFailure(read) ? Restoring.word(read.failure) : "was read"
    }
    assert.strictEqual(
      said({ metadata: { creationTimestamp: 5 } }),
      "json: cannot unmarshal number into Go value of type string"
    )
    assert.strictEqual(
      said({ spec: { strategy: { rollingUpdate: { maxSurge: true } } } }),
      "json: cannot unmarshal bool into Go value of type int32"
    )
    assert.match(
      said({ spec: { template: { spec: { containers: [{ resources: { limits: { cpu: true } } }] } } } }),
      /^quantities must match the regular expression/
    )
  })
})
