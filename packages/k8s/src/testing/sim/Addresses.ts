/** `Addresses`: what a simulated network gives nodes and Pods, each address once. */

export interface Addresses {
  /** Of a node, always the same: 192.0.2.1 and on, which nobody else has (RFC 5737). */
  readonly hostIP: (node: string) => string
  /** Of another Pod: 10.0.0.1 and on. */
  readonly nextPodIP: () => string
}

/** None is taken yet. */
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
