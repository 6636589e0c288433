/**
 * `Unchanged`: the fields of custom resources that no step of a story changes.
 *
 * No run shows what a change does that nobody makes: an operator that never looks at a new image converges in every
 * story that keeps the image. Source: Acto (SOSP'23), whose stories change every property for that reason.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Crd from "../../../Crd.ts"
import type { JSONSchemaProps } from "../../../kinds/apiextensions.v1.ts"
import { isObject } from "../../../schema/JsonValue.ts"
import * as Declared from "../../Declared.ts"
import type { Scenario } from "../Scenario.ts"
import { madeByPeople, type Recording, seen } from "../recording/Recording.ts"

/** Whether the schema declares the value immutable. */
const isFixed = ({ "x-kubernetes-validations": rules = [] }: JSONSchemaProps): boolean =>
  rules.some(({ rule }) => /^\s*(self\s*==\s*oldSelf|oldSelf\s*==\s*self)\s*$/.test(rule))

/**
 * The paths of the values in a schema. An object with declared fields is descended into; anything else is one value.
 */
const placesOf = (schema: JSONSchemaProps, path: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  if (isFixed(schema)) return []
  const fields = Object.entries(schema.properties ?? {})
  return fields.length === 0 ? [path] : fields.flatMap(([name, field]) => placesOf(field, [...path, name]))
}

const valueAt = (object: KubeObject, path: ReadonlyArray<string>): string | undefined =>
  JSON.stringify(path.reduce<unknown>((value, name) => isObject(value) ? value[name] : undefined, object))

const places = new WeakMap<CustomResource, ReadonlyArray<ReadonlyArray<string>>>()

const specOf = (resource: CustomResource): ReadonlyArray<ReadonlyArray<string>> => {
  const known = places.get(resource)
  if (known !== undefined) return known
  const { spec } = Crd.schemaOf(resource).properties ?? {}
  const found = spec === undefined ? [] : placesOf(spec, ["spec"])
  places.set(resource, found)
  return found
}

/**
 * Fields, such as `Autoscaler.spec.image`, that keep one value for as long as an object lives, although the story
 * changes others of that object. Only objects that people created count.
 */
export const fields = ({ resources }: Pick<Scenario, "resources">, run: Recording): ReadonlyArray<string> => {
  const theirs = new Set(madeByPeople(run.entries))
  const ofKind = Map.groupBy(seen(run).filter(({ metadata }) => theirs.has(metadata.uid)), ({ kind }) => kind)
  return Declared.stored(resources).flatMap((resource) => {
    const lives = [...Map.groupBy(ofKind.get(resource.kind) ?? [], ({ metadata }) => metadata.uid).values()]
    if (lives.length === 0) return []
    return specOf(resource)
      .filter((path) => lives.every((states) => new Set(states.map((state) => valueAt(state, path))).size === 1))
      .map((path) => [resource.kind, ...path].join("."))
  })
}
