/**
 * `SchemaSequences`: definitions of custom resources by chance, and objects of the kinds they define.
 *
 * A sequence first tries some definitions that may be refused, without making them, then makes one, waits until it is
 * served, and creates, changes and reads objects. At its end the definition goes, and all its objects with it.
 */
import { Chance } from "../Chance.ts"
import { paths } from "../Path.ts"
import type { Edit, Sequence, Step } from "../Step.ts"
import { damaged, legal, type Schema } from "./RandomSchema.ts"
import { near } from "./RandomValue.ts"

/** Of the sequence alone: what a server does for a version of a group that comes and goes is nothing to others. */
const group = "{{id}}.example.com"
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const headers = { accept: "application/json", "content-type": "application/json" }
const table = { ...headers, accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
const merge = { ...headers, "content-type": "application/merge-patch+json" }

/** A JSON path of a field, or of none. */
const fieldPath = (chance: Chance, schema: Schema): string => {
  const fields = paths(schema).filter((path) =>
    path.length % 2 === 0 && path.at(-2) === "properties" && path.join(" ") !== "properties metadata"
  )
  if (fields.length === 0) return ".spec"
  const names = chance.pick(fields).filter((_, index) => index % 2 === 1)
  return `.${names.map((name) => (/^\w+$/.test(name) ? name : `['${name}']`)).join(".")}`
}

const columns = (chance: Chance, schema: Schema, wrong: boolean) =>
  Array.from({ length: chance.int(3) }, (_, index) => ({
    name: `C${index}`,
    type: chance.pick(["string", "integer", "number", "boolean", "date"]),
    jsonPath: chance.chance(0.8)
      ? fieldPath(chance, schema)
      : chance.pick([
        ".spec",
        ".metadata.name",
        ".spec.a[0]",
        ".spec.nope",
        "..a",
        ".spec.b[0:1]",
        ".spec.c[?(@.key==\"a\")].value",
        ".spec['a','b']",
        ".spec.a["
      ]),
    ...chance.maybe(0.2, () => ({ priority: 1 })),
    ...chance.maybe(0.1, () => ({ format: "date" })),
    ...(wrong ? chance.pick([{ type: "text" }, { format: "x" }, { jsonPath: "spec" }, { jsonPath: "" }]) : {})
  }))

const scale = (chance: Chance) => ({
  specReplicasPath: chance.pick([".spec.a", ".spec", "spec.a", ""]),
  statusReplicasPath: chance.pick([".status.a", ".status.b.c", ".a"]),
  ...chance.maybe(0.5, () => ({ labelSelectorPath: chance.pick([".spec.a", ".status.b", ".a", "b", ""]) }))
})

const definition = (chance: Chance, plural: string, kind: string, schema: Schema, wrong: boolean) => {
  const additionalPrinterColumns = columns(chance, schema, wrong && chance.chance(0.3))
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    ...chance.maybe(0.5, () => ({
      subresources: { status: {}, ...(wrong ? chance.maybe(0.3, () => ({ scale: scale(chance) })) : {}) }
    })),
    ...(additionalPrinterColumns.length === 0 ? {} : { additionalPrinterColumns })
  }
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { plural, kind, singular: kind.toLowerCase() }, versions: [version] }
  }
}

const served = { until: "served" } as const

/** Steps that are numbered as they come. */
class Steps {
  readonly all: Array<Step> = []

  add(step: Omit<Step, "id">): number {
    const id = this.all.length + 1
    this.all.push({ id, ...step })
    return id
  }
}

const object = (chance: Chance, kind: string, name: string, schema: Schema) => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  ...(near(chance, { ...schema, required: ["spec"] }) as object)
})

const change = (chance: Chance, { properties }: Schema): Edit => {
  const spec = (properties as { readonly spec: Schema }).spec
  const inner = Object.entries((spec["properties"] ?? {}) as Readonly<Record<string, Schema>>)
  if (inner.length === 0) return { path: ["spec"], value: near(chance, spec) }
  const [name, schema] = chance.pick(inner)
  return { path: ["spec", name], ...(chance.chance(0.15) ? {} : { value: near(chance, schema) }) }
}

export const generate = (seed: number): Sequence => {
  const chance = new Chance(seed)
  const steps = new Steps()
  const schema = legal(chance)
  for (const letter of ["a", "b", "c"]) {
    const value = definition(chance, `${letter}{{id}}s`, `K${letter}{{id}}`, damaged(chance, schema), true)
    steps.add({
      method: "POST",
      path: definitionsPath,
      query: [["dryRun", "All"]],
      headers,
      body: { _tag: "Json", value }
    })
  }
  const [plural, kind] = ["x{{id}}s", "X{{id}}"]
  const made = definition(chance, plural, kind, schema, false)
  steps.add({ method: "POST", path: definitionsPath, query: [], headers, body: { _tag: "Json", value: made } })
  const path = `/apis/${group}/v1/namespaces/{{ns}}/${plural}`
  steps.add({ method: "GET", path, query: [], headers, until: 200 })
  const created: Array<{ readonly name: string; readonly of: Array<number> }> = []
  for (let index = 0; index < 8; index++) {
    const name = `o${index}`
    const body = { _tag: "Json", value: object(chance, kind, name, schema) } as const
    created.push({ name, of: [steps.add({ method: "POST", path, query: [], headers, body, ...served })] })
  }
  for (let index = 0; index < 10; index++) {
    const { name, of } = chance.pick(created)
    const part = chance.chance(0.1) ? "status" : "spec"
    const at = `${path}/${name}${part === "status" ? "/status" : ""}`
    // What a write leaves out, and is of a wrong type, takes all owners away in newer releases, which is a new version.
    const edits = [change(chance, schema), ...(chance.chance(0.3) ? [change(chance, schema)] : [])]
      .filter(({ path: [first] }) => first === part || (first !== "spec" && first !== "status"))
    // A null in a list was dropped by merge patches until 1.25.
    const [first] = edits
    if (chance.chance(0.5) || first === undefined || JSON.stringify(first.value ?? 0).includes("null")) {
      of.unshift(
        steps.add({
          method: "PUT",
          path: at,
          query: [],
          headers,
          body: { _tag: "Edited", of: [...of], edits },
          ...served
        })
      )
    } else {
      const value = {
        [first.path[0]!]: first.path.length === 1 ? first.value : { [first.path[1]!]: first.value ?? null }
      }
      of.unshift(
        steps.add({ method: "PATCH", path: at, query: [], headers: merge, body: { _tag: "Json", value }, ...served })
      )
    }
  }
  steps.add({ method: "GET", path, query: [], headers: table, ...served })
  steps.add({ method: "GET", path, query: [], headers, ...served })
  steps.add({ method: "DELETE", path: `${definitionsPath}/${plural}.${group}`, query: [], headers })
  return { seed, steps: steps.all }
}
