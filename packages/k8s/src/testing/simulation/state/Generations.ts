/**
 * `Generations`: what a status reports about generations, for example that of a Deployment at its last write.
 *
 * How often something was changed is history, as long as it is reported correctly: an object that is made anew counts from
 * 1. Conditions refer only to their own object, as it is now.
 */
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"

type Status = Readonly<Record<string, unknown>>

const ungenerated = (value: unknown, generations: ReadonlySet<unknown>): unknown => {
  if (Array.isArray(value)) return value.map((item) => ungenerated(item, generations))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      /generation$/i.test(key) && generations.has(item) ? "(generation)" : ungenerated(item, generations)
    ])
  )
}

/** Whether the status of an object mentions generations, besides the observed one. */
const speaking = new WeakMap<KubeObject, boolean>()

const speaks = (object: KubeObject): boolean => {
  const known = speaking.get(object)
  if (known !== undefined) return known
  const { observedGeneration: _, ...said } = (object as { readonly status?: Status }).status ?? {}
  const speaks = /generation":\d/i.test(JSON.stringify(said))
  speaking.set(object, speaks)
  return speaks
}

/**
 * An object without the generations that its status reports correctly, of itself or of what belongs to it; `all`: the
 * existing objects.
 */
export const untold = (object: KubeObject, all: ReadonlyArray<KubeObject>): KubeObject => {
  if (!speaks(object)) return object
  const { uid } = object.metadata
  const own = all.filter(({ metadata }) => metadata.uid === uid || controllerOf({ metadata })?.uid === uid)
  const generations = new Set<unknown>(own.flatMap(({ metadata }) => metadata.generation ?? []))
  const { conditions, ...said } = (object as { readonly status?: Status }).status ?? {}
  const current = new Set<unknown>([object.metadata.generation])
  const status = {
    ...ungenerated(said, generations) as Status,
    ...(conditions !== undefined && { conditions: ungenerated(conditions, current) })
  }
  return { ...object, status } as KubeObject
}
