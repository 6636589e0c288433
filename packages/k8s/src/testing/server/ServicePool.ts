/**
 * `ServicePool`: the addresses and node ports that Services have, so that none is given twice.
 *
 * It is what the stored Services hold, read from them when it is first asked for and followed from then on: whatever
 * goes free by a deletion, or by another type, can be given again. Where to look for something free follows from the uid
 * of the Service, so that the same Services are given the same in every run. The lowest are left to those who ask for one
 * by name, until nothing else is free.
 *
 * Source: "Service ClusterIP allocation" and "Service" (NodePort) of the Kubernetes documentation: both ranges have a band
 * for static assignment, of `min(max(16, size / 16), 256)` addresses and `min(max(16, size / 32), 128)` ports.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"

const collection = "services"

/** The ports of nodes that Services may have, both included. */
export const nodePorts = { lowest: 30000, highest: 32767 } as const

/** A number of sixteen bits out of a uid. */
const digits = (uid: string, from: number): number =>
  Number.parseInt(uid.replaceAll("-", "").slice(from, from + 4), 16) || 0

/** The addresses that Services may have. */
export const cidr = "10.96.0.0/12"

/** Addresses of the range that are none of a network's own, from 0. */
const addresses = 16 * 256 * 254

const addressAt = (index: number): string => {
  const [network, host] = [Math.floor(index / 254), index % 254]
  return `10.${96 + (network >> 8)}.${network & 0xff}.${1 + host}`
}

/** The address of the API server's own Service. */
export const first: string = addressAt(0)

const isAddress = (value: unknown): value is string => typeof value === "string" && value !== "" && value !== "None"

const addressesOf = (service: KubeObject): ReadonlyArray<string> => {
  const spec = at(service, "spec")
  return [at(spec, "clusterIP"), ...arrayAt(spec, "clusterIPs")].filter(isAddress)
}

const portsOf = (service: KubeObject): ReadonlyArray<number> => {
  const spec = at(service, "spec")
  return [at(spec, "healthCheckNodePort"), ...arrayAt(spec, "ports").map((port) => at(port, "nodePort"))]
    .filter((port): port is number => typeof port === "number" && port !== 0)
}

/** So many of the lowest are given when all others are taken: a part of them, within bounds. */
const band = (count: number, part: number, most: number): number =>
  Math.min(Math.max(16, Math.floor(count / part)), most)

/** What may be given. */
interface Range<A> {
  readonly count: number
  /** How many come last. */
  readonly lowest: number
  readonly of: (index: number) => A
}

const addressRange: Range<string> = { count: addresses, lowest: band(addresses, 16, 256), of: addressAt }

const ports = nodePorts.highest - nodePorts.lowest + 1

const portRange: Range<number> = {
  count: ports,
  lowest: band(ports, 32, 128),
  of: (index) => nodePorts.lowest + index
}

/** The first that is free, from a place on, round about; the lowest come last; any where none is. */
const firstFree = <A>({ count, lowest, of }: Range<A>, from: number, isTaken: (value: A) => boolean): A => {
  const upper = count - lowest
  for (let step = 0; step < count; step++) {
    const value = of(step < upper ? lowest + (from + step) % upper : step - upper)
    if (!isTaken(value)) return value
  }
  return of(lowest)
}

/** Addresses by the uid of who has them, and ports that somebody has. */
interface Holders {
  readonly addresses: Map<string, string>
  readonly ports: Set<number>
}

export class ServicePool {
  readonly #storage: Storage
  #known: Holders | undefined

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Whether another Service has the address. */
  hasAddress(address: string, uid: string): boolean {
    return (this.#holders.addresses.get(address) ?? uid) !== uid
  }

  /** Whether any Service has the port. */
  isTaken(port: number): boolean {
    return this.#holders.ports.has(port)
  }

  /** An address that no other Service has. */
  freeAddress(uid: string): string {
    const from = ((digits(uid, 4) % 16) * 256 + (digits(uid, 0) >> 8)) * 254 + (digits(uid, 0) & 0xff) % 254
    return firstFree(addressRange, from, (address) => this.hasAddress(address, uid))
  }

  /** A port that no Service has, this one neither, and that is not among those it asks for. */
  freePort(uid: string, own: ReadonlySet<number>): number {
    return firstFree(portRange, digits(uid, 8), (port) => own.has(port) || this.isTaken(port))
  }

  get #holders(): Holders {
    if (this.#known !== undefined) return this.#known
    const known: Holders = { addresses: new Map(), ports: new Set() }
    const take = (service: KubeObject): void => {
      const { uid } = service.metadata
      for (const address of addressesOf(service)) known.addresses.set(address, uid)
      for (const port of portsOf(service)) known.ports.add(port)
    }
    const leave = (service: KubeObject): void => {
      for (const address of addressesOf(service)) known.addresses.delete(address)
      for (const port of portsOf(service)) known.ports.delete(port)
    }
    const { get, keys } = this.#storage.list(collection)
    for (const key of keys) take(get(key))
    this.#storage.listen((change) => {
      if (change.collection !== collection) return
      if (change.previous !== undefined) leave(change.previous)
      if (change.type !== "DELETED") take(change.object)
    })
    return this.#known = known
  }
}
