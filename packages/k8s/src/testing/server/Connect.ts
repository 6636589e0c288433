/**
 * `Connect`: requests that would be connected through to a Pod, as far as admission sees them.
 *
 * Their object is made of the query: `PodExecOptions` and the like. Whether the Pod exists is asked only afterwards.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/rest.go (`ConnectResource`).
 */
import * as Effect from "effect/Effect"
import * as Admission from "../Admission.ts"
import type * as StatusError from "../../api/StatusError.ts"
import type * as Exchange from "./Exchange.ts"
import { asObject } from "../../api/Plain.ts"

type Reader = (values: ReadonlyArray<string>) => unknown

const flag: Reader = ([value]) => value !== undefined && value !== "false" && value !== "0" ? true : undefined
const text: Reader = ([value]) => value
const texts: Reader = (values) => values.length === 0 ? undefined : values
const numbers: Reader = (values) =>
  values.length === 0 ? undefined : values.flatMap((list) => list.split(",").map(Number))

const streams = { stdin: flag, stdout: flag, stderr: flag, tty: flag, container: text }

/** The subresources that are connected, with what their options take of the query. */
const fields: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  exec: { ...streams, command: texts },
  attach: streams,
  portforward: { ports: numbers },
  proxy: { path: text }
}

/** The subresource without the path that a proxy passes on. */
export const headOf = ({ subresource }: Exchange.Exchange["route"]): string =>
  subresource.startsWith("proxy/") ? "proxy" : subresource

/** Whether a request is connected through, its body and all. */
export const isConnected = ({ resource, route }: Exchange.Exchange): boolean =>
  resource.custom === undefined && fields[headOf(route)] !== undefined

/** Asks admission about a request that is to be connected; others pass. */
export const admit = (exchange: Exchange.Exchange): Effect.Effect<void, StatusError.StatusError> => {
  const { core, request, route } = exchange
  const readers = fields[headOf(route)]
  if (readers === undefined) return Effect.void
  const options: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(readers)) {
    const value = read(request.query.filter(([parameter]) => parameter === name).map(([, value]) => value))
    if (value !== undefined) options[name] = value
  }
  const attributes = Admission.attributes(exchange, "CONNECT", { dryRun: false, options: () => undefined })
  const { kind } = attributes.kind
  const object = asObject({ kind, apiVersion: "v1", ...options })
  return Effect.flatMap(
    Admission.admit(core, { ...attributes, object }, object),
    (admitted) => Admission.review(core, { ...attributes, object: admitted })
  )
}
