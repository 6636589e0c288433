import { assert, describe, it } from "@effect/vitest"
import { asObject } from "../../../../src/api/Plain.ts"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as ClaimRules from "../../../../src/testing/server/rules/ClaimRules.ts"

interface Parts {
  readonly spec?: object
  readonly status?: object
  readonly annotations?: object
}

const classAnnotation = "volume.beta.kubernetes.io/storage-class"

const claim = ({ annotations, spec, status }: Parts) =>
  asObject({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "a", ...(annotations === undefined ? {} : { annotations }) },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } }, ...spec },
    status: { phase: "Pending", ...status }
  })

/** `Type field`, of each fault of an update. */
const faults = (before: Parts, after: Parts) =>
  ClaimRules.validateUpdate(claim(after), claim(before)).map(({ field, type }) => `${type} ${field}`)

const bound = { status: { phase: "Bound", capacity: { storage: "1Gi" } }, spec: { volumeName: "v" } }
const asking = (storage: string) => ({
  ...bound,
  spec: { ...bound.spec, resources: { requests: { storage } } }
})

describe("what may change of a claim", () => {
  it("a status tells of storage, and how it grows", () => {
    const said = (status: object) => ClaimRules.validateStatus(claim({ status }), claim({})).map(FieldError.format)
    assert.deepStrictEqual(
      said({
        capacity: { storage: "1Gi", "example.com/x": "1" },
        allocatedResources: { storage: "2Gi" },
        allocatedResourceStatuses: { storage: "NodeResizePending" }
      }),
      []
    )
    assert.deepStrictEqual(said({ capacity: { cpu: "-1.5" } }), [
      "status.capacity[cpu]: Invalid value: -2: must be a valid resource quantity"
    ])
    assert.deepStrictEqual(said({ allocatedResources: { cpu: "1", storage: "-1" } }), [
      `status.allocatedResources: Unsupported value: "cpu": supported values: "storage"`,
      "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity"
    ])
    assert.deepStrictEqual(said({ allocatedResourceStatuses: { storage: "Growing" } }), [
      `status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", ` +
      `"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"`
    ])
  })

  it("is its volume, once", () => {
    assert.deepStrictEqual(faults({}, { spec: { volumeName: "v" } }), [])
    assert.deepStrictEqual(faults({ spec: { volumeName: "v" } }, { spec: { volumeName: "w" } }), ["Forbidden spec"])
    assert.deepStrictEqual(faults({ spec: { volumeName: "v" } }, {}), ["Forbidden spec"])
  })

  it("is the size of one that is bound, down to just above what it has", () => {
    assert.deepStrictEqual(faults(bound, asking("3Gi")), [])
    assert.deepStrictEqual(faults(bound, asking("1500Mi")), [])
    assert.deepStrictEqual(faults(bound, asking("1Gi")), ["Forbidden spec.resources.requests.storage"])
    assert.deepStrictEqual(faults({}, { spec: { resources: { requests: { storage: "3Gi" } } } }), ["Forbidden spec"])
  })

  it("is not what else it asks for, nor all of it at once", () => {
    const limited = { ...bound.spec, resources: { requests: { storage: "2Gi" }, limits: { storage: "9Gi" } } }
    assert.deepStrictEqual(faults(bound, { ...bound, spec: limited }), ["Forbidden spec"])
    assert.deepStrictEqual(faults(bound, { ...bound, spec: { ...bound.spec, resources: {} } }), [
      "Forbidden spec",
      "Forbidden spec.resources.requests.storage"
    ])
  })

  it("is a class where there was none", () => {
    const fast = { spec: { storageClassName: "fast" } }
    const annotated = { annotations: { [classAnnotation]: "fast" } }
    assert.deepStrictEqual(faults({}, fast), [])
    assert.deepStrictEqual(faults(fast, { spec: { storageClassName: "slow" } }), ["Forbidden spec"])
    assert.deepStrictEqual(faults(annotated, fast), [])
    assert.deepStrictEqual(faults(annotated, { annotations: { [classAnnotation]: "slow" } }), [
      `Invalid metadata.annotations.${classAnnotation}`
    ])
  })

  it("is neither how it is mounted nor, once in use, whether its volume has attributes", () => {
    assert.deepStrictEqual(faults({ spec: { volumeMode: "Block" } }, { spec: { volumeMode: "Filesystem" } }), [
      "Forbidden spec",
      "Invalid volumeMode"
    ])
    const [gold, silver, none, empty] = ["gold", "silver", undefined, ""].map((name) => ({
      spec: { ...bound.spec, ...(name === undefined ? {} : { volumeAttributesClassName: name }) },
      status: { ...bound.status, currentVolumeAttributesClassName: "gold" }
    }))
    assert.deepStrictEqual(faults(gold!, silver!), [])
    for (const gone of [none!, empty!]) {
      assert.deepStrictEqual(faults(gold!, gone), ["Forbidden spec.volumeAttributesClassName"])
    }
  })
})

describe("the source of a claim", () => {
  const prepared = (spec: object, before?: object) => {
    const next = claim({ spec }) as never
    const { dataSource, dataSourceRef } =
      (before === undefined ? ClaimRules.prepareCreate(next) : ClaimRules.prepareUpdate(next, claim({ spec: before })))[
        "spec"
      ] as Record<string, unknown>
    return { dataSource, dataSourceRef }
  }
  const other = { kind: "PersistentVolumeClaim", name: "b" }
  const foreign = { apiGroup: "example.com", kind: "Backup", name: "b" }

  it("is told in both fields, whichever names it", () => {
    assert.deepStrictEqual(prepared({ dataSource: other }), { dataSource: other, dataSourceRef: other })
    assert.deepStrictEqual(prepared({ dataSourceRef: foreign }), { dataSource: foreign, dataSourceRef: foreign })
  })

  it("of another namespace is not kept, as that feature is off, and has no place in the old field", () => {
    const far = { ...foreign, namespace: "n" }
    const nothing = { dataSource: undefined, dataSourceRef: undefined }
    assert.deepStrictEqual(prepared({ dataSourceRef: far }), nothing)
    assert.deepStrictEqual(prepared({ dataSource: foreign, dataSourceRef: far }), nothing)
    assert.deepStrictEqual(prepared({ dataSource: other, dataSourceRef: far }), {
      dataSource: other,
      dataSourceRef: other
    })
    assert.deepStrictEqual(prepared({ dataSourceRef: far }, { dataSourceRef: foreign }), {
      dataSource: undefined,
      dataSourceRef: far
    })
  })

  it("of another sort is ignored in the old field, unless it was there before", () => {
    const nothing = { dataSource: undefined, dataSourceRef: undefined }
    assert.deepStrictEqual(prepared({ dataSource: foreign }), nothing)
    assert.deepStrictEqual(prepared({ dataSource: foreign }, {}), nothing)
    assert.deepStrictEqual(prepared({ dataSource: foreign }, { dataSource: foreign }), {
      dataSource: foreign,
      dataSourceRef: foreign
    })
  })
})
