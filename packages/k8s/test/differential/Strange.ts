/** `Strange`: requests no client should send, and parts of patches that seldom make sense. */
import { broken, garbage } from "./Mutation.ts"
import type { Edit } from "./Step.ts"
import { collection, type Draft, itemPath, json, patchTypes, pickKnown, pickName, type World } from "./World.ts"

/** Operations that carry metadata from one field to another. */
const carrying: ReadonlyArray<unknown> = [
  { op: "copy", from: "/metadata/labels", path: "/metadata/annotations" },
  { op: "move", from: "/metadata/labels", path: "/metadata/annotations" }
]

/** The others; those that a custom object's status may meet: carried metadata write a version of their own, for its owners. */
export const operationsOnStatus: ReadonlyArray<unknown> = [
  { op: "move", from: "/metadata/nope", path: "/metadata/labels" },
  { op: "remove", path: "/metadata/nope" },
  { op: "replace", path: "/metadata/nope", value: 1 },
  { op: "replace", path: "/nope/nope", value: 1 },
  { op: "add", path: "/metadata/finalizers/-", value: "example.com/last" },
  { op: "add", path: "/metadata/finalizers/0", value: "example.com/first" },
  { op: "remove", path: "/metadata/finalizers/0" },
  { op: "remove", path: "/metadata/finalizers/9" },
  { op: "test", path: "/kind", value: "Nope" },
  { op: "test", path: "/metadata/nope", value: null },
  { op: "nope", path: "/metadata" },
  { op: "add", path: "metadata", value: 1 },
  { op: "add", value: 1 },
  { op: "remove", path: "" },
  { path: "/metadata/labels", value: {} },
  5
]

/** Operations of a JSON patch. */
export const operations: ReadonlyArray<unknown> = [...carrying, ...operationsOnStatus]

/** Directives of a strategic merge patch. */
export const directives: ReadonlyArray<Edit> = [
  { path: ["spec", "template", "spec", "containers"], value: [{ name: "main", $patch: "delete" }] },
  { path: ["spec", "template", "spec", "containers"], value: [{ name: "extra", image: "e:1" }] },
  { path: ["spec", "template", "spec", "containers"], value: [{ $patch: "replace" }, { name: "only", image: "o:1" }] },
  { path: ["spec", "containers"], value: [{ name: "main", image: "app:7" }] },
  { path: ["metadata", "finalizers"], value: ["example.com/merged"] },
  {
    path: ["metadata", "ownerReferences"],
    value: [{ apiVersion: "v1", kind: "Pod", name: "o", uid: "11111111-1111-1111-1111-111111111111" }]
  }
]

const contentTypes = [
  "text/plain",
  "application/yaml",
  "application/json; charset=utf-8",
  "application/xml",
  "application/apply-patch+json",
  "nonsense",
  ""
]

const requests: ReadonlyArray<(world: World) => Draft> = [
  // A content type that is not what the body is.
  (world) => {
    const { kind } = pickKnown(world)
    const value = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name: pickName(world, kind) },
      ...kind.content(world.chance)
    }
    const headers = { ...json, "content-type": world.chance.pick(contentTypes) }
    return { method: "POST", path: collection(kind), query: [], headers, body: { _tag: "Json", value } }
  },
  (world) => {
    const { kind, name } = pickKnown(world)
    const headers = { ...json, "content-type": world.chance.pick(contentTypes) }
    const value = { metadata: { labels: { app: "z" } } }
    return { method: "PATCH", path: itemPath(kind, name), query: [], headers, body: { _tag: "Json", value } }
  },
  // Verbs where there are none.
  (world) => {
    const { kind, name } = pickKnown(world)
    const method = world.chance.pick(["PUT", "PATCH"] as const)
    const headers = { ...json, "content-type": method === "PUT" ? json["content-type"] : patchTypes.merge }
    const value = { metadata: { name } }
    return { method, path: collection(kind), query: [], headers, body: { _tag: "Json", value } }
  },
  (world) => {
    const { kind, name } = pickKnown(world)
    const path = `${itemPath(kind, name)}/${world.chance.pick(["nope", "status", "scale"])}`
    return { method: world.chance.pick(["GET", "DELETE"] as const), path, query: [], headers: json }
  },
  // Bodies that are none.
  (world) => {
    const { kind, name } = pickKnown(world)
    const method = world.chance.pick(["POST", "PUT", "PATCH", "DELETE"] as const)
    const path = method === "POST" ? collection(kind) : itemPath(kind, name)
    const type = method === "PATCH" ? world.chance.pick(Object.values(patchTypes)) : json["content-type"]
    const text = world.chance.pick(method === "PATCH" ? broken : garbage)
    return { method, path, query: [], headers: { ...json, "content-type": type }, body: { _tag: "Text", text } }
  },
  // Names that cannot be.
  (world) => {
    const { kind } = pickKnown(world)
    const name = world.chance.pick(["UPPER", "a_b", "x".repeat(254), "a%20b"])
    return {
      method: world.chance.pick(["GET", "DELETE"] as const),
      path: itemPath(kind, name),
      query: [],
      headers: json
    }
  },
  // A namespace that is not there.
  (world) => {
    const { kind } = pickKnown(world)
    const path = collection(kind).replace("{{ns}}", "none-{{id}}")
    const value = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name: "lost" },
      ...kind.content(world.chance)
    }
    return kind.namespaced
      ? { method: "POST", path, query: [], headers: json, body: { _tag: "Json", value } }
      : { method: "GET", path: itemPath(kind, "none-{{id}}"), query: [], headers: json }
  },
  // Query parameters of the wrong kind.
  (world) => {
    const { kind } = pickKnown(world)
    const query = world.chance.pick(
      [
        ["limit", "x"],
        ["limit", "-1"],
        ["continue", "nonsense"],
        ["resourceVersion", "-5"],
        ["resourceVersionMatch", "Exact"],
        ["timeoutSeconds", "x"],
        ["unknown", "1"]
      ] as const
    )
    const own = kind.namespaced ? [] : [["labelSelector", "seq={{id}}"] as const]
    return { method: "GET", path: collection(kind), query: [...own, query], headers: json }
  }
]

export const request = (world: World): Draft => world.chance.pick(requests)(world)
