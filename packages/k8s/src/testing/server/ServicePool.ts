/**
 * `ServicePool`: the cluster IPs and node ports of Services, so that none is allocated twice.
 *
 * It is read from the stored Services at the first use and updated with every change, so what a deletion or a change of
 * type frees can be allocated again. The search for a free value starts at one derived from the Service's uid, so
 * allocations are the same in every run. The lowest values are reserved for explicit requests until all others are
 * taken.
 *
 * Source: "Service ClusterIP allocation" and "Service" (NodePort) of the Kubernetes documentation: both ranges have a
 * band for static assignment, of `min(max(16, size / 16), 256)` addresses and `min(max(16, size / 32), 128)` ports.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"

const collection = "services"

/** The range of node ports, inclusive. */
export const nodePorts = { lowest: 30000, highest: 32767 } as const

/** A 16-bit number from a uid. */
const digits = (uid: string, from: number): number =>
  Number.parseInt(uid.replaceAll("-", "").slice(from, from + 4), 16) || 0

/** The range of cluster IPs. */
export const cidr = "10.96.0.0/12"

/** The number of addresses in the range that are not network or broadcast addresses. */
const addresses = 16 * 256 * 254

const addressAt = (index: number): string => {
  const [network, host] = [Math.floor(index / 254), index % 254]
  return `10.${96 + (network >> 8)}.${network & 0xff}.${1 + host}`
}

/** The address of the Service `kubernetes`. */
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

/** The size of the band for static assignment: a fraction of the range, within bounds. */
const band = (count: number, part: number, most: number): number =>
  Math.min(Math.max(16, Math.floor(count / part)), most)

/** A range of values to allocate. */
interface Range<A> {
  readonly count: number
  /** The size of the band at its beginning that is used last. */
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

/** The first free value from an index on, wrapping around, with the lowest band last; any value if none is free. */
const firstFree = <A>({ count, lowest, of }: Range<A>, from: number, isTaken: (value: A) => boolean): A => {
  const upper = count - lowest
  for (let step = 0; step < count; step++) {
    const value = of(step < upper ? lowest + (from + step) % upper : step - upper)
    if (!isTaken(value)) return value
  }
  return of(lowest)
}

/** Addresses by the uid of their Service, and ports that are taken. */
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

  /** A port that no Service has, including this one, and that is not among those it requests. */
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
