/** `Drawn`: texts that were drawn at random, and the places that hold the same one. */
import { decoded } from "../recording/Base64.ts"
import * as Canonical from "./Canonical.ts"
import { entriesOf, itemsOf, pathOf } from "./Outside.ts"

/** The places of random texts, with the texts; only of objects that are alone in their family. */
export const drawn = (run: Canonical.Run, mask: Canonical.Mask): ReadonlyMap<string, string> => {
  const families = Canonical.families(run, mask)
  const found = new Map<string, string | undefined>()
  const walk = (value: unknown, path: string, place: string): void => {
    if (mask.has(path)) {
      // Short texts may be equal by accident.
      if (typeof value === "string" && value.length > 5) found.set(place, found.has(place) ? undefined : decoded(value))
      return
    }
    // Random keys (such as a uid) are not places.
    const isKeyed = mask.has(`${path}{}`)
    for (const [key, item] of entriesOf(value) ?? []) {
      const step = isKeyed ? "*" : key
      walk(item, `${path}.${step}`, `${place}.${step}`)
    }
    for (const item of itemsOf(value) ?? []) walk(item, `${path}[]`, `${place}[]`)
  }
  for (const object of run.objects) walk(object, object.kind, families.get(object.metadata.uid)!)
  for (const [name, value] of run.outside) walk(value, pathOf(name), pathOf(name))
  return new Map([...found].flatMap(([place, text]) => (text === undefined ? [] : [[place, text] as const])))
}

/** Pairs of places that hold the same text. */
export type Tied = ReadonlyArray<readonly [string, string]>

/** Places whose texts, although random, are equal to each other in both of two runs: a password, and what uses it. */
export const tied = (
  a: Canonical.Run,
  b: Canonical.Run,
  mask: Canonical.Mask
): Tied => {
  const [one, two] = [[...drawn(a, mask)], drawn(b, mask)]
  return one.flatMap(([place, text], index) =>
    one.slice(index + 1).flatMap(([other, same]) =>
      text === same && two.has(place) && two.get(place) === two.get(other) ? [[place, other] as const] : []
    )
  )
}
