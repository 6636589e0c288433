/**
 * `Identity`: what an API server assigns to a new object: its uid, a generated name if requested, its creation time,
 * and its storage key.
 *
 * Source: k8s.io/apiserver/pkg/storage/names/generate.go and pkg/registry/generic/registry/store.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as Names from "./Names.ts"
import * as StatusError from "./StatusError.ts"

/** A timestamp for metadata: RFC 3339, whole seconds, UTC. */
export const timestamp = (millis: number): string => {
  const second = Math.floor(millis / 1000)
  if (second !== latest.second) latest = { second, text: `${new Date(millis).toISOString().slice(0, 19)}Z` }
  return latest.text
}

/** Cached, since most requests come within the same second as the one before. */
let latest = { second: Number.NaN, text: "" }

/** The key of an object in its collection. */
export const storageKey = (namespace: string, name: string): string => namespace === "" ? name : `${namespace}/${name}`

/** 400: the name cannot be part of a key (`NamespaceKeyFunc`), so the store is not asked. */
export const nameFault = (name: string): StatusError.StatusError | undefined => {
  const faults = Names.pathSegment(name)
  return faults.length === 0
    ? undefined
    : StatusError.badRequest(`Name parameter invalid: ${FieldError.quote(name)}: ${faults.join(";")}`)
}

/** The error for an object that is not stored. */
export const missing = (
  target: Parameters<typeof StatusError.notFound>[0],
  name: string
): StatusError.StatusError => nameFault(name) ?? StatusError.notFound(target, name)

/** A UUID of version 4. */
export const uuid = (random: () => number): string => {
  const hex = (digits: number) => Math.floor(random() * 16 ** digits).toString(16).padStart(digits, "0")
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab"[Math.floor(random() * 4)]!}${hex(3)}-${hex(6)}${hex(6)}`
}

const suffixCharacters = "bcdfghjklmnpqrstvwxz2456789"

/** A generated name: at most 58 characters of the base, and 5 of an alphabet that spells no rude words. */
export const generatedName = (base: string, random: () => number): string => {
  let suffix = ""
  for (let at = 0; at < 5; at++) suffix += suffixCharacters[Math.floor(random() * suffixCharacters.length)]!
  return base.slice(0, 58) + suffix
}
