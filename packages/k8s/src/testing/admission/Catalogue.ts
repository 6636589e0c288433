/**
 * `Catalogue`: the kinds of a cluster with their schemas, without references, for type checking of policies.
 *
 * Built-in kinds come from the generated tables, custom ones from their definitions, with complete metadata. A
 * recursive type ends in an empty object. Quantities have no type (they are strings or numbers), so they are not
 * checked.
 *
 * Source: k8s.io/apiserver/pkg/cel/openapi/resolver.
 */
import { definitionFor, definitions, resources, type Schema as Definition } from "../../kinds/Schema.ts"
import type * as Schema from "../../schema/Schema.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Catalogue, Gvk } from "./TypeChecking.ts"

const empty: Schema.Schema = { type: "object" }
const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

/** A definition with all references resolved. */
const whole = (definition: Definition, around: ReadonlySet<string>): Schema.Schema => {
  const { format, items, properties, ref, type, values } = definition
  if (ref !== undefined) {
    const referred = definitions[ref]
    if (ref === quantity || referred === undefined) return {}
    return around.has(ref) ? empty : whole(referred, new Set([...around, ref]))
  }
  if (format === "int-or-string") return { "x-kubernetes-int-or-string": true }
  const inside = (inner: Definition): Schema.Schema => whole(inner, around)
  return {
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(items === undefined ? {} : { items: inside(items) }),
    ...(values === undefined ? {} : { additionalProperties: inside(values) }),
    ...(properties === undefined ? {} : {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, inside(inner)]))
    })
  }
}

const text: Schema.Schema = { type: "string" }

const ofDefinition = (definition: unknown, name: string): Schema.Schema | undefined => {
  const version = arrayAt(definition, "spec", "versions").find((one) =>
    stringAt(one, "name") === name && at(one, "served") === true
  )
  const schema = at(version, "schema", "openAPIV3Schema")
  if (schema === undefined) return undefined
  const metadata = whole({ ref: objectMeta }, new Set())
  const properties = { ...objectAt(schema, "properties"), apiVersion: text, kind: text, metadata }
  return { ...objectAt(schema), properties }
}

/** The catalogue of a cluster with these CustomResourceDefinitions. */
export const make = (customs: Iterable<unknown>): Catalogue => {
  const known = [...customs]
  const custom = (group: string, of: (definition: unknown) => boolean) =>
    known.filter((definition) => (group === "" || stringAt(definition, "spec", "group") === group) && of(definition))
  return {
    kindsFor: (group, version, plural): ReadonlyArray<Gvk> => [
      ...resources.filter((resource) =>
        (group === "" || resource.group === group) && resource.version === version && resource.plural === plural
      ).map(({ group, kind, version }) => ({ group, version, kind })),
      ...custom(
        group,
        (definition) =>
          stringAt(definition, "spec", "names", "plural") === plural && ofDefinition(definition, version) !== undefined
      )
        .map((definition) => ({
          group: stringAt(definition, "spec", "group"),
          version,
          kind: stringAt(definition, "spec", "names", "kind")
        }))
    ],
    schemaOf: (gvk) => {
      const builtIn = definitionFor(gvk)
      if (builtIn !== undefined) return whole(builtIn, new Set())
      const [found] = custom(gvk.group, (definition) => stringAt(definition, "spec", "names", "kind") === gvk.kind)
      return found === undefined ? undefined : ofDefinition(found, gvk.version)
    }
  }
}
