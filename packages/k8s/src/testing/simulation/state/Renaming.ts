/**
 * `Renaming`: the common names of objects in all runs, whatever was drawn at random in this one.
 *
 * Uids, generated names and the hashes in names of what the cluster creates from templates are random; so are names
 * with a random part (see `Names`). The numbers of replicas are not random, but mean nothing.
 */
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { type Recording, seen } from "../recording/Recording.ts"
import { addressed, addressesOf } from "./Addresses.ts"
import * as Names from "./Names.ts"
import type { Mask } from "./Names.ts"

/** Replaces what is random in a text of a run by common names. */
export type Rename = (text: string) => string

/** Kinds whose controllers name what they create after themselves and a hash of a template and its collisions. */
export const hashing: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["ReplicaSet", new Set(["Deployment"])],
  ["ControllerRevision", new Set(["StatefulSet", "DaemonSet"])]
])

/**
 * The hash in the name of what the cluster created from a template. The template is compared itself, and may contain a
 * uid.
 */
const hashOf = ({ kind, metadata: { name, ownerReferences } }: KubeObject): string | undefined => {
  const owner = controllerOf({ metadata: { ownerReferences } })
  return owner !== undefined && hashing.get(kind)?.has(owner.kind) === true && name.startsWith(`${owner.name}-`)
    ? name.slice(owner.name.length + 1)
    : undefined
}

/** A name without the hash in it, also as the base of generated ones. */
type Unhash = (name: string) => string

const naming = (
  objects: Iterable<KubeObject>,
  common: (metadata: KubeObject["metadata"], unhash: Unhash) => string | undefined,
  counted: (name: string) => string = (name) => name
): Rename => {
  const all = [...objects]
  const known = new Map<string, string>()
  const hashed = new Map<string, string>()
  for (const object of all) {
    const hash = hashOf(object)
    if (hash === undefined) continue
    known.set(hash, "*")
    hashed.set(object.metadata.name, `${object.metadata.name.slice(0, -hash.length)}*`)
  }
  const unhash: Unhash = (name) => hashed.get(name) ?? name
  for (const { kind, metadata } of all) {
    const { name, uid } = metadata
    known.set(uid, `(uid of ${kind})`)
    known.set(uid.slice(0, 8), "(uid)")
    const found = hashed.get(name) ?? common(metadata, unhash)
    if (found === undefined) continue
    const renamed = counted(found)
    known.set(name, renamed)
    if (metadata.generateName !== undefined) known.set(metadata.generateName, renamed.replace(/\*$/, ""))
  }
  return (text) =>
    (known.get(text) ?? text)
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}/g, (part) => known.get(part) ?? part)
}

const generated = ({ generateName = "", name }: KubeObject["metadata"], unhash: Unhash): string | undefined =>
  generateName !== "" && name.startsWith(generateName)
    ? `${generateName.endsWith("-") ? `${unhash(generateName.slice(0, -1))}-` : generateName}*`
    : undefined

const ordinal = /-\d+$/

/** Replaces what is random in this run (uids, parts of them, names) by the common name of the object. */
export const undrawn = (objects: Iterable<KubeObject>): Rename => naming(objects, generated)

/**
 * The same, including the numbers of replicas: which one a replica has depends on which were taken when it was created.
 */
const renamer = (objects: Iterable<KubeObject>): Rename =>
  naming(
    objects,
    (metadata, unhash) => generated(metadata, unhash) ?? (ordinal.test(metadata.name) ? metadata.name : undefined),
    (name) => name.replace(/-\d+((?:-\*)*)$/, "-#$1")
  )

/** Replaces names of existing objects in texts, without distinguishing replicas. */
export const whichever = (objects: ReadonlyArray<KubeObject>): Rename => {
  const rename = renamer(objects)
  const address = addressed(addressesOf(objects, { entries: [], objects: [] }), (object) => familyOf(object, rename))
  return (text) => address(text).replace(/[\w-]+/g, rename)
}

const renamers = new WeakMap<Recording["entries"], Map<Mask | undefined, Rename>>()

/**
 * `renamer` for a finished run, whose entries contain everything that ever existed. With a mask, also for names with a
 * random part.
 */
export const renamerOf = (run: Pick<Recording, "entries" | "objects">, mask?: Mask): Rename => {
  const common = mask && Names.common(mask)
  const key = common && mask
  const known = renamers.get(run.entries) ?? new Map<Mask | undefined, Rename>()
  renamers.set(run.entries, known)
  const found = known.get(key)
  if (found !== undefined) return found
  const made = common === undefined ? withAddresses(run) : namingToo(run, common)
  known.set(key, made)
  return made
}

/** `renamer`, including the owners of all addresses that ever existed. */
const withAddresses = (run: Pick<Recording, "entries" | "objects">): Rename => {
  const objects = seen(run)
  const rename = renamer(objects)
  const address = addressed(addressesOf(objects, run), (object) => familyOf(object, rename))
  return (text) => address(rename(text))
}

/** The same, including the common names of families with a random part. */
const namingToo = (
  run: Pick<Recording, "entries" | "objects">,
  common: (family: string) => string | undefined
): Rename => {
  const rename = renamerOf(run)
  const names = new Map<string, string>()
  for (const object of seen(run)) {
    const { name } = object.metadata
    const family = familyOf(object, rename)
    const known = common(family)
    if (known !== undefined) names.set(name, known.slice(Math.max(known.indexOf(" "), known.lastIndexOf("/")) + 1))
  }
  return (text) => names.get(text) ?? rename(text)
}

/** Kind, namespace and common name of an object. */
export const familyOf = ({ kind, metadata }: KubeObject, rename: Rename): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${rename(metadata.namespace)}/`}${rename(metadata.name)}`
