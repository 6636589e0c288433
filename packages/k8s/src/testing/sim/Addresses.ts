/** `Addresses`: unique addresses of simulated nodes and Pods. */

export interface Addresses {
  /** The address of a node, always the same: from 192.0.2.1 on, a range for documentation (RFC 5737). */
  readonly hostIP: (node: string) => string
  /** A new Pod address: from 10.0.0.1 on. */
  readonly nextPodIP: () => string
}

/** Starts with no addresses taken. */
export const make = (): Addresses => {
  const hosts = new Map<string, string>()
  let pods = 0
  return {
    hostIP: (node) => {
      const known = hosts.get(node)
      if (known !== undefined) return known
      const next = hosts.size + 1
      const address = `192.0.${2 + (next >>> 8)}.${next & 0xff}`
      hosts.set(node, address)
      return address
    },
    nextPodIP: () => {
      pods += 1
      return `10.${(pods >>> 16) & 0xff}.${(pods >>> 8) & 0xff}.${pods & 0xff}`
    }
  }
}
