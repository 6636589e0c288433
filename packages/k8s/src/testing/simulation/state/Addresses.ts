/**
 * `Addresses`: the addresses that the cluster assigns, and to which object each belongs.
 *
 * Another Pod of the same name has another address, so an operator that records addresses records another one and means
 * the same. An address that people have written themselves is merely text.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { madeByPeople, type Recording, seen } from "../recording/Recording.ts"

interface Addressed extends KubeObject {
  readonly spec?: { readonly clusterIP?: string }
  readonly status?: { readonly podIP?: string }
}

const pattern = /\b\d+\.\d+\.\d+\.\d+\b/g

/** The address that the cluster has assigned to an object. */
const addressOf = (object: KubeObject): string | undefined => {
  const { kind, spec, status } = object as Addressed
  const address = kind === "Pod" ? status?.podIP : kind === "Service" ? spec?.clusterIP : undefined
  return address === "None" || address === "" ? undefined : address
}

/** Addresses that people's own objects mention. */
const spoken = (run: Pick<Recording, "entries" | "objects">): ReadonlySet<string> => {
  const people = new Set(madeByPeople(run.entries))
  const theirs = seen(run).filter((object) => people.has(object.metadata.uid) && addressOf(object) === undefined)
  return new Set(
    theirs.flatMap((object) =>
      JSON.stringify({ ...object, metadata: undefined, status: undefined }).match(pattern) ?? []
    )
  )
}

/** The owner of each address that some of the objects have. */
export const addressesOf = (
  objects: Iterable<KubeObject>,
  run: Pick<Recording, "entries" | "objects">
): ReadonlyMap<string, KubeObject> => {
  const found = new Map<string, KubeObject>()
  for (const object of objects) {
    const address = addressOf(object)
    if (address !== undefined) found.set(address, object)
  }
  if (found.size > 0) { for (const address of spoken(run)) found.delete(address) }
  return found
}

const everSeen = new WeakMap<Recording["entries"], ReadonlyMap<string, KubeObject>>()

/** How often the objects at a given time of a run mention addresses that belong to nothing then, but did before. */
export const strayAddresses = (run: Pick<Recording, "entries" | "objects">): number => {
  const all = everSeen.get(run.entries) ?? addressesOf(seen(run), run)
  everSeen.set(run.entries, all)
  const living = new Set(run.objects.flatMap((object) => addressOf(object) ?? []))
  if ([...all.keys()].every((address) => living.has(address))) return 0
  const told = run.objects.filter(({ kind }) => kind !== "Event" && kind !== "Pod" && kind !== "Service")
  const texts = told.flatMap((object) => JSON.stringify({ ...object, metadata: undefined }).match(pattern) ?? [])
  return texts.filter((address) => all.has(address) && !living.has(address)).length
}

/** A text with addresses replaced by their owners. */
export const addressed = (
  owners: ReadonlyMap<string, KubeObject>,
  nameOf: (object: KubeObject) => string
): (text: string) => string =>
  owners.size === 0
    ? (text) => text
    : (text) =>
      text.replace(pattern, (address) => {
        const owner = owners.get(address)
        return owner === undefined ? address : `(address of ${nameOf(owner)})`
      })
