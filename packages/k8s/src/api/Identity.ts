/**
 * `Identity`: what an API server gives a new object: a uid, a name where the client wants one made, a time; and the key by
 * which it is stored.
 *
 * Source: k8s.io/apiserver/pkg/storage/names/generate.go.
 */

/** A time as metadata carries it: RFC 3339, whole seconds, UTC. */
export const timestamp = (millis: number): string => {
  const second = Math.floor(millis / 1000)
  if (second !== latest.second) latest = { second, text: `${new Date(millis).toISOString().slice(0, 19)}Z` }
  return latest.text
}

/** Most requests come in the second of the one before. */
let latest = { second: Number.NaN, text: "" }

/** The key of an object in its collection. */
export const storageKey = (namespace: string, name: string): string => namespace === "" ? name : `${namespace}/${name}`

/** A UUID of version 4. */
export const uuid = (random: () => number): string => {
  const hex = (digits: number) => Math.floor(random() * 16 ** digits).toString(16).padStart(digits, "0")
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab"[Math.floor(random() * 4)]!}${hex(3)}-${hex(6)}${hex(6)}`
}

const suffixCharacters = "bcdfghjklmnpqrstvwxz2456789"

/** `generateName` completed: at most 58 characters of it and 5 of an alphabet that spells nothing rude. */
export const generatedName = (base: string, random: () => number): string => {
  let suffix = ""
  for (let at = 0; at < 5; at++) suffix += suffixCharacters[Math.floor(random() * suffixCharacters.length)]!
  return base.slice(0, 58) + suffix
}
