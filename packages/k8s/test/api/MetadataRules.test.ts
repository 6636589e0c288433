import type { PartialObjectMeta } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import * as MetadataRules from "../../src/api/MetadataRules.ts"

const create = (meta: PartialObjectMeta, options: Partial<MetadataRules.Options> = {}) =>
  MetadataRules.validateObjectMeta({ name: "a", namespace: "n", ...meta }, {
    namespaced: true,
    nameRule: "subdomain",
    ...options
  }).map(FieldError.format)

const stored: PartialObjectMeta = {
  name: "a",
  namespace: "n",
  uid: "u",
  resourceVersion: "7",
  generation: 2,
  creationTimestamp: "2020-01-01T00:00:00Z"
}

const update = (meta: PartialObjectMeta, previous: PartialObjectMeta = {}) => {
  const old = { ...stored, ...previous }
  return MetadataRules.validateObjectMetaUpdate({ ...old, ...meta }, old).map(FieldError.format)
}

describe("faults", () => {
  it("may be as many as a body has room for", () => {
    const finalizers = Array.from({ length: 400_000 }, () => "")
    assert.isAtLeast(create({ finalizers }).length, finalizers.length)
    const ownerReferences = Array.from({ length: 200_000 }, () => ({ apiVersion: "", kind: "", name: "", uid: "" }))
    assert.isAtLeast(update({ ownerReferences }).length, ownerReferences.length)
  })
})

describe("names of kinds", () => {
  it("follow the kind's rule", () => {
    assert.strictEqual(MetadataRules.nameRuleFor("", "Namespace"), "label")
    assert.strictEqual(MetadataRules.nameRuleFor("", "Service"), "dns1035")
    assert.strictEqual(MetadataRules.nameRuleFor("rbac.authorization.k8s.io", "Role"), "pathSegment")
    assert.strictEqual(MetadataRules.nameRuleFor("", "ConfigMap"), "subdomain")
    assert.strictEqual(MetadataRules.nameRuleFor("example.com", "Namespace"), "subdomain")
    assert.strictEqual(MetadataRules.nameRuleFor("", "toString"), "subdomain")
  })

  it("a generateName may end with a dash, as more will follow", () => {
    assert.deepStrictEqual(create({ generateName: "a-" }), [])
    assert.lengthOf(create({ generateName: "a_b-" }), 1)
    assert.deepStrictEqual(create({ generateName: ".", name: "a" }, { nameRule: "pathSegment" }), [])
  })
})

describe("create", () => {
  it("needs a name", () => {
    assert.deepStrictEqual(create({ name: undefined }), [
      "metadata.name: Required value: name or generateName is required"
    ])
  })

  it("needs a namespace, or forbids one", () => {
    assert.deepStrictEqual(create({ namespace: "" }), ["metadata.namespace: Required value"])
    assert.deepStrictEqual(create({}, { namespaced: false }), [
      "metadata.namespace: Forbidden: not allowed on this type"
    ])
  })

  it("annotation keys may have capitals in the prefix, label keys may not", () => {
    assert.deepStrictEqual(create({ annotations: { "A.b/c": "x" } }), [])
    assert.lengthOf(create({ labels: { "A.b/c": "x" } }), 1)
  })

  it("annotations have a limit of 256 KiB, keys included", () => {
    assert.deepStrictEqual(create({ annotations: { a: "x".repeat(256 * 1024 - 1) } }), [])
    assert.deepStrictEqual(create({ annotations: { a: "x".repeat(256 * 1024) } }), [
      "metadata.annotations: Too long: may not be more than 262144 bytes"
    ])
  })

  it("owner references need all their parts; the path has no index", () => {
    const owner = { apiVersion: "", kind: "", name: "", uid: "" }
    assert.deepStrictEqual(create({ ownerReferences: [owner] }), [
      "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
      "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
      "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
      "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"
    ])
  })

  it("has one controller at most", () => {
    const owner = (name: string) => ({ apiVersion: "v1", kind: "Pod", name, uid: name, controller: true })
    assert.deepStrictEqual(create({ ownerReferences: [owner("a"), owner("b")] }), [
      "metadata.ownerReferences: Invalid value: " +
      "[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\",\"uid\":\"a\",\"controller\":true}," +
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"b\",\"uid\":\"b\",\"controller\":true}]: " +
      "Only one reference can have Controller set to true. Found \"true\" in references for Pod/a and Pod/b"
    ])
  })

  it("names two controllers by what there is of their kinds and names", () => {
    const references = [{ controller: true }, { name: "b", controller: true }] as never
    assert.match(create({ ownerReferences: references }).at(-1)!, / in references for \/ and \/b$/)
  })

  it("Events own nothing", () => {
    const owner = { apiVersion: "v1", kind: "Event", name: "n", uid: "u" }
    assert.match(create({ ownerReferences: [owner] })[0]!, /\/v1, Kind=Event is disallowed from being an owner$/)
  })

  it("finalizers exclude each other and, on built-in kinds, need a domain", () => {
    assert.deepStrictEqual(create({ finalizers: ["orphan", "foregroundDeletion"] }), [
      "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: " +
      "finalizer orphan and foregroundDeletion cannot be both set"
    ])
    assert.deepStrictEqual(create({ finalizers: ["a"] }), [])
    assert.deepStrictEqual(create({ finalizers: ["kubernetes", "a"] }, { builtIn: true }), [
      "metadata.finalizers[1]: Invalid value: \"a\": name is neither a standard finalizer name nor is it fully qualified"
    ])
  })

  it("managed fields and managers", () => {
    assert.deepStrictEqual(create({ managedFields: [{ manager: "a\n", operation: "Apply" }] }), [
      "metadata.managedFields[0].manager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)"
    ])
  })
})

describe("update", () => {
  it("accepts the stored metadata", () => assert.deepStrictEqual(update({}), []))

  it("identity does not change", () => {
    assert.deepStrictEqual(update({ uid: "v", name: "b", creationTimestamp: undefined }), [
      "metadata.name: Invalid value: \"b\": field is immutable",
      "metadata.uid: Invalid value: \"v\": field is immutable",
      "metadata.creationTimestamp: Invalid value: null: field is immutable"
    ])
  })

  it("a client cannot start a deletion", () => {
    assert.deepStrictEqual(update({ deletionTimestamp: "2020-01-02T00:00:00Z" }), [
      "metadata.deletionTimestamp: Invalid value: \"2020-01-02T00:00:00Z\": field is immutable"
    ])
  })

  it("nothing new holds up a deletion; what held it may go", () => {
    const previous = { deletionTimestamp: "2020-01-02T00:00:00Z", finalizers: ["x/a", "x/b"] }
    assert.deepStrictEqual(update({ finalizers: ["x/b"] }, previous), [])
    assert.deepStrictEqual(update({ finalizers: ["x/a", "x/d", "x/c"] }, previous), [
      "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, " +
      "found new finalizers []string{\"x/c\", \"x/d\"}"
    ])
  })

  it("needs a resourceVersion, and a generation that does not fall", () => {
    assert.deepStrictEqual(update({ resourceVersion: "", generation: 1 }), [
      "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
      "metadata.generation: Invalid value: 1: must not be decremented"
    ])
  })
})

describe("warnings", () => {
  it("only for finalizers that the write adds", () => {
    assert.deepStrictEqual(MetadataRules.finalizerWarnings(["old", "a.b", "a", "x/y", "orphan"], ["old"]), [
      "metadata.finalizers: \"a\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other " +
      "finalizer writers",
      "metadata.finalizers: \"a.b\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental " +
      "conflicts with other finalizer writers"
    ])
  })

  it("equal owner references become one", () => {
    const owner = { apiVersion: "v1", kind: "Pod", name: "n", uid: "u" }
    assert.deepStrictEqual(MetadataRules.dedupeOwnerReferences([owner, { ...owner }]), {
      references: [owner],
      repeated: true
    })
    const alike = [owner, { ...owner, controller: true }, { ...owner, controller: false }, { ...owner, name: "m" }]
    assert.deepStrictEqual(MetadataRules.dedupeOwnerReferences(alike), { references: alike, repeated: false })
    // Each compared with each of the others, they would take longer than any test may.
    const many = Array.from({ length: 60_000 }, (_, at) => ({ ...owner, uid: `u${at}` }))
    assert.lengthOf(MetadataRules.dedupeOwnerReferences([...many, ...many]).references, 60_000)
  })
})
