/**
 * `Proxies`: the proxy that the environment sets for a server, by Go's rules, so that an operator and kubectl agree.
 *
 * `HTTPS_PROXY` for https, `HTTP_PROXY` for http, each in upper case or else in lower case. `NO_PROXY` is a
 * comma-separated list of exceptions: `*`, an address, an address range, a host with its subdomains, or `.host` for the
 * subdomains alone. Each, except a range, may have a port to which it is limited. Loopback addresses and `localhost`
 * never use a proxy.
 *
 * Source: golang.org/x/net/http/httpproxy.
 */
import * as Net from "node:net"

export type Environment = Readonly<Record<string, string | undefined>>

/** The variables that are read. */
export const variables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"] as const

/** The proxy's URL for a server, if there is one; it may be invalid. */
export const fromEnvironment = (environment: Environment, server: URL): string | undefined => {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY"
  const proxy = either(environment, name)
  if (proxy === undefined || !needsProxy(either(environment, "NO_PROXY") ?? "", server)) return undefined
  return proxy.includes("://") ? proxy : `http://${proxy}`
}

const either = (environment: Environment, name: string): string | undefined =>
  environment[name] || environment[name.toLowerCase()] || undefined

/** Whether no exception applies to the server. */
export const needsProxy = (exceptions: string, server: URL): boolean => {
  const host = bare(server.hostname.toLowerCase())
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port
  if (host === "localhost" || isLoopback(host)) return false
  return !exceptions.split(",").some((exception) => matches(exception.trim().toLowerCase(), host, port))
}

const bare = (host: string): string => host.startsWith("[") ? host.slice(1, -1) : host

const isLoopback = (host: string): boolean => {
  const family = Net.isIP(host)
  return family === 4 ? host.startsWith("127.") : family === 6 ? contains("::1", 128, 6, host) : false
}

const contains = (network: string, prefix: number, family: 4 | 6, host: string): boolean => {
  const list = new Net.BlockList()
  list.addSubnet(network, prefix, family === 4 ? "ipv4" : "ipv6")
  return list.check(host, Net.isIP(host) === 4 ? "ipv4" : "ipv6")
}

const matches = (exception: string, host: string, port: string): boolean => {
  if (exception === "") return false
  if (exception === "*") return true
  const [network, prefix, ...more] = exception.split("/")
  const family = Net.isIP(network ?? "")
  if (network !== undefined && prefix !== undefined && more.length === 0 && family !== 0) {
    const bits = Number(prefix)
    const isRange = /^\d+$/.test(prefix) && bits <= (family === 4 ? 32 : 128)
    return isRange && Net.isIP(host) !== 0 && contains(network, bits, family === 4 ? 4 : 6, host)
  }
  const { name, port: only } = split(exception)
  if (only !== undefined && only !== port) return false
  const named = Net.isIP(name)
  if (named !== 0) return Net.isIP(host) !== 0 && contains(name, named === 4 ? 32 : 128, named === 4 ? 4 : 6, host)
  if (Net.isIP(host) !== 0 || name === "") return false
  const domain = name.startsWith("*.") ? name.slice(1) : name
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`)
}

/** A name and its port: `host:8080`, `[::1]:8080`, `::1`. */
const split = (exception: string): { readonly name: string; readonly port?: string } => {
  if (Net.isIP(exception) !== 0) return { name: exception }
  const found = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(exception)
  const name = found?.[1] ?? found?.[2]
  if (name === undefined) return { name: exception }
  return found?.[3] === undefined ? { name } : { name, port: found[3] }
}
