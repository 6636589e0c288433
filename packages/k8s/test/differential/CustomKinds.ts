/**
 * `CustomKinds`: the custom kinds of the sequences, and the definitions that must be installed for them.
 *
 * Between them they use every keyword of a structural schema that changes an answer: defaults, pruning, preserved and
 * embedded parts, nullable, enums, formats and bounds, list types, int-or-string, all three subresources, printer
 * columns, and several versions of which one is stored.
 */
import type { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import type { Edit } from "./Step.ts"

export const group = "fuzz.example.com"

type Schema = Readonly<Record<string, unknown>>

const string = { type: "string" }
const integer = { type: "integer" }
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: "object", properties, ...more })

const widgetSpec = object({
  replicas: { type: "integer", minimum: 0, maximum: 100, default: 1 },
  size: { type: "string", enum: ["small", "large"], default: "small" },
  name: { type: "string", minLength: 1, maxLength: 8, pattern: "^[a-z]+$" },
  ratio: { type: "number", minimum: 0, exclusiveMinimum: true },
  even: { type: "integer", multipleOf: 2 },
  on: { type: "boolean", nullable: true },
  port: { "x-kubernetes-int-or-string": true },
  when: { type: "string", format: "date-time" },
  labels: { type: "object", additionalProperties: string, maxProperties: 3 },
  tags: { type: "array", items: string, "x-kubernetes-list-type": "set", maxItems: 4 },
  parts: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "zone"],
    items: object(
      { name: string, zone: { type: "string", default: "z1" }, amount: { ...integer, default: 5 } },
      { required: ["name"] }
    )
  },
  free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  nested: object({ a: integer, b: { ...string, default: "dflt" } }, { required: ["a"] })
})

const widgetStatus = object({
  replicas: integer,
  phase: { type: "string", enum: ["New", "Done"] },
  selector: string,
  conditions: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    items: object({ type: string, status: string }, { required: ["type", "status"] })
  }
})

interface Definition {
  readonly plural: string
  readonly kind: string
  readonly scope?: "Cluster"
  readonly versions: ReadonlyArray<Readonly<Record<string, unknown>>>
}

const version = (name: string, openAPIV3Schema: Schema, more: Schema = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
  ...more
})

const definitionsOf: ReadonlyArray<Definition> = [
  {
    plural: "widgets",
    kind: "Widget",
    versions: [version("v1", object({ spec: widgetSpec, status: widgetStatus }), {
      subresources: {
        status: {},
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector"
        }
      },
      additionalPrinterColumns: [
        { name: "Size", type: "string", jsonPath: ".spec.size" },
        { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
        { name: "On", type: "boolean", jsonPath: ".spec.on" },
        { name: "Tags", type: "string", jsonPath: ".spec.tags" }
      ]
    })]
  },
  // Without subresources: the status is a field like any other.
  {
    plural: "gadgets",
    kind: "Gadget",
    versions: [
      version("v1", object({ spec: object({ x: integer, s: string }), status: object({ n: integer }) })),
      version("v1beta1", object({ spec: object({ x: integer, s: string, old: string }) }), {
        storage: false,
        subresources: { status: {} }
      }),
      version("v1alpha1", object({ spec: object({ x: integer }) }), { storage: false, deprecated: true })
    ]
  },
  {
    plural: "bags",
    kind: "Bag",
    scope: "Cluster",
    versions: [version("v1", { type: "object", "x-kubernetes-preserve-unknown-fields": true })]
  },
  {
    plural: "shapes",
    kind: "Shape",
    versions: [
      version(
        "v1",
        object({
          spec: object({
            kind: string,
            radius: { type: "number" },
            side: { type: "number" },
            either: object({ a: integer, b: integer }, {
              anyOf: [{ required: ["a"] }, { required: ["b"] }],
              not: { required: ["a", "b"] }
            }),
            bounded: { type: "integer", allOf: [{ minimum: 2 }, { maximum: 9 }] },
            template: {
              type: "object",
              "x-kubernetes-embedded-resource": true,
              "x-kubernetes-preserve-unknown-fields": true
            },
            email: { type: "string", format: "email" },
            uuid: { type: "string", format: "uuid" },
            bytes: { type: "string", format: "byte" },
            small: { type: "integer", format: "int32" },
            matrix: { type: "array", items: { type: "array", items: integer } },
            deep: object({
              list: { type: "array", items: object({ v: { type: "string", default: "w" }, n: integer }) }
            }, {
              default: { list: [{ n: 1 }] }
            })
          })
        }),
        { subresources: { status: {} } }
      )
    ]
  }
]

/** The CustomResourceDefinitions to install before the first sequence. */
export const definitions: ReadonlyArray<Readonly<Record<string, unknown>>> = definitionsOf.map((
  { kind, plural, scope, versions }
) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: scope ?? "Namespaced",
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions
  }
}))

const part = (chance: Chance) => ({
  name: chance.pick(["p", "q"]),
  ...chance.maybe(0.5, () => ({ zone: chance.pick(["z1", "z2"]) })),
  ...chance.maybe(0.3, () => ({ amount: chance.int(9) }))
})

const free = (chance: Chance): unknown => chance.object(2, false)

const widgetEdit = (chance: Chance): Edit =>
  chance.pick<Edit>([
    { path: ["spec", "replicas"], value: chance.int(6) },
    { path: ["spec", "size"], value: chance.pick(["small", "large", "huge"]) },
    { path: ["spec", "name"], value: chance.pick(["abc", "x", "UPPER", "toolongname"]) },
    { path: ["spec", "ratio"], value: chance.pick([0, 0.5, 1, 1e21]) },
    { path: ["spec", "even"], value: chance.int(5) },
    { path: ["spec", "on"], value: chance.pick([true, false, null]) },
    { path: ["spec", "port"], value: chance.pick([80, "http", true]) },
    { path: ["spec", "when"], value: chance.pick(["2020-01-01T00:00:00Z", "yesterday"]) },
    { path: ["spec", "labels", chance.pick(["a", "b", "c", "d"])], value: "v" },
    { path: ["spec", "tags"], value: chance.pick([["a"], ["a", "b"], ["a", "a"], []]) },
    { path: ["spec", "parts"], value: chance.chance(0.5) ? [part(chance)] : [part(chance), part(chance)] },
    { path: ["spec", "free"], value: free(chance) },
    { path: ["spec", "nested"], value: chance.pick([{ a: 1 }, {}, { a: 1, b: "c", d: 2 }]) },
    { path: ["spec", chance.pick(["replicas", "size", "nested", "free"])] },
    { path: ["spec", "unknown"], value: 1 }
  ])

const gadget = (apiVersion: string, weight: number, status: boolean): Kind => ({
  apiVersion: `${group}/${apiVersion}`,
  kind: "Gadget",
  plural: "gadgets",
  namespaced: true,
  weight,
  custom: true,
  content: (chance) => ({
    spec: { x: chance.int(4), ...chance.maybe(0.5, () => ({ s: "t" })), ...chance.maybe(0.3, () => ({ old: "o" })) },
    ...chance.maybe(0.3, () => ({ status: { n: chance.int(3) } }))
  }),
  edit: (chance) =>
    chance.pick<Edit>([
      { path: ["spec", "x"], value: chance.pick<unknown>([1, 2, "no", null]) },
      { path: ["spec", "s"], value: chance.pick(["t", "u"]) },
      { path: ["spec", "x"] },
      { path: ["status", "n"], value: chance.int(4) },
      { path: ["status"] }
    ]),
  ...(status ? { status: (chance: Chance) => ({ path: ["status", "n"], value: chance.int(4) }) } : {})
})

export const customKinds: ReadonlyArray<Kind> = [
  {
    apiVersion: `${group}/v1`,
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
    weight: 14,
    custom: true,
    content: (chance) => ({
      ...chance.maybe(0.9, () => ({
        spec: {
          ...chance.maybe(0.5, () => ({ replicas: chance.int(5) })),
          ...chance.maybe(0.3, () => ({ size: "large" })),
          ...chance.maybe(0.3, () => ({ on: chance.pick([true, null]) })),
          ...chance.maybe(0.3, () => ({ port: chance.pick([80, "http"]) })),
          ...chance.maybe(0.3, () => ({ tags: chance.some(["a", "b", "c"]) })),
          ...chance.maybe(0.3, () => ({ parts: [part(chance)] })),
          ...chance.maybe(0.3, () => ({ free: free(chance) })),
          ...chance.maybe(0.3, () => ({ nested: { a: 1 } })),
          ...chance.maybe(0.2, () => ({ labels: { a: "1" } })),
          ...chance.maybe(0.1, () => ({ ratio: 0.5, when: "2020-01-01T00:00:00Z" }))
        }
      })),
      ...chance.maybe(0.2, () => ({ status: { phase: "New" } }))
    }),
    edit: widgetEdit,
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "replicas"], value: chance.int(4) },
        { path: ["status", "phase"], value: chance.pick(["New", "Done", "Odd"]) },
        { path: ["status", "selector"], value: chance.pick(["app=x", "app=y"]) },
        { path: ["status", "conditions"], value: [{ type: "Ready", status: "True" }] },
        { path: ["status", "extra"], value: 1 },
        { path: ["status"] }
      ]),
    scale: true
  },
  gadget("v1", 4, false),
  gadget("v1beta1", 2, true),
  gadget("v1alpha1", 1, false),
  {
    apiVersion: `${group}/v1`,
    kind: "Bag",
    plural: "bags",
    namespaced: false,
    weight: 2,
    custom: true,
    content: (chance) => ({ spec: free(chance), ...chance.maybe(0.3, () => ({ any: free(chance) })) }),
    edit: (chance) => ({ path: [chance.pick(["spec", "any", "status"])], value: free(chance) })
  },
  {
    apiVersion: `${group}/v1`,
    kind: "Shape",
    plural: "shapes",
    namespaced: true,
    weight: 5,
    custom: true,
    content: (chance) => ({
      spec: {
        ...chance.maybe(0.3, () => ({ either: chance.pick([{ a: 1 }, { b: 1 }, {}, { a: 1, b: 2 }]) })),
        ...chance.maybe(0.3, () => ({ bounded: chance.pick([2, 5, 9, 1, 10]) })),
        ...chance.maybe(0.3, () => ({
          template: chance.pick<object>([
            { apiVersion: "v1", kind: "Pod", metadata: { name: "x", labels: { a: "b" } }, spec: { any: 1 } },
            { apiVersion: "v1", kind: "Pod", metadata: { name: "x", unknown: 1 } },
            { kind: "Pod" }
          ])
        })),
        ...chance.maybe(0.2, () => ({ email: chance.pick(["a@b.c", "no"]) })),
        ...chance.maybe(0.2, () => ({ small: chance.pick([1, 2147483648]) })),
        ...chance.maybe(0.2, () => ({ matrix: [[1, 2], [3]] }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "matrix"], value: chance.pick<unknown>([[[1]], [["x"]], [1], []]) },
        { path: ["spec", "deep"], value: chance.pick<unknown>([{ list: [{}, { v: "q" }] }, {}, null]) },
        { path: ["spec", "uuid"], value: chance.pick(["123e4567-e89b-12d3-a456-426614174000", "u"]) },
        { path: ["spec", "bytes"], value: chance.pick(["AAEC", "*"]) },
        { path: ["spec", "either"], value: chance.pick([{ a: 1 }, {}, { a: 1, b: 2 }]) },
        { path: ["spec", "radius"], value: chance.pick<unknown>([1, 1.5, "r"]) }
      ]),
    status: (chance) => ({ path: ["status", "n"], value: chance.int(3) })
  }
]
