/**
 * `Connect`: requests that connect to a Pod, as far as admission is concerned.
 *
 * Their object is built from the query: `PodExecOptions` and the like. Only then is the Pod looked up.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/rest.go (`ConnectResource`).
 */
import * as Effect from "effect/Effect"
import { asObject } from "../../../api/Plain.ts"
import type * as StatusError from "../../../api/StatusError.ts"
import * as Admission from "../../Admission.ts"
import type * as Exchange from "../Exchange.ts"

type Reader = (values: ReadonlyArray<string>) => unknown

const flag: Reader = ([value]) => value !== undefined && value !== "false" && value !== "0" ? true : undefined
const text: Reader = ([value]) => value
const texts: Reader = (values) => values.length === 0 ? undefined : values
const numbers: Reader = (values) =>
  values.length === 0 ? undefined : values.flatMap((list) => list.split(",").map(Number))

const streams = { stdin: flag, stdout: flag, stderr: flag, tty: flag, container: text }

/** The subresources that connect, with the options that they read from the query. */
const fields: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  exec: { ...streams, command: texts },
  attach: streams,
  portforward: { ports: numbers },
  proxy: { path: text }
}

/** The name of the subresource, without the path after `proxy`. */
export const headOf = ({ subresource }: Exchange.Exchange["route"]): string =>
  subresource.startsWith("proxy/") ? "proxy" : subresource

/** Whether a request connects, so its body is passed through. */
export const isConnected = ({ resource, route }: Exchange.Exchange): boolean =>
  resource.custom === undefined && fields[headOf(route)] !== undefined

/** The path that is proxied, as in the options. */
const pathOf = ({ request, route }: Exchange.Exchange): string => {
  const path = route.subresource.split("/").slice(1).filter((part) => part !== "").map((part) => `/${part}`).join("")
  return request.path.endsWith("/") ? `${path}/` : path
}

/** Calls admission for a request that connects; other requests pass. */
export const admit = (exchange: Exchange.Exchange): Effect.Effect<void, StatusError.StatusError> => {
  const { core, request, route } = exchange
  const subresource = headOf(route)
  const readers = fields[subresource]
  if (readers === undefined) return Effect.void
  const query = subresource !== "proxy"
    ? request.query
    : [["path", pathOf(exchange)] as const].filter(([, path]) => path !== "")
  const options: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(readers)) {
    const value = read(query.filter(([parameter]) => parameter === name).map(([, value]) => value))
    if (value !== undefined) options[name] = value
  }
  const attributes = Admission.attributes(exchange, "CONNECT", { subresource, dryRun: false, options: () => undefined })
  const { kind } = attributes.kind
  const object = asObject({ kind, apiVersion: "v1", ...options })
  return Effect.flatMap(
    Admission.admit(core, { ...attributes, object }, object),
    (admitted) => Admission.review(core, { ...attributes, object: admitted })
  )
}
