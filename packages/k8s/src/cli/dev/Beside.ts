/**
 * `Beside`: manifests of an operator in the cluster, changed for one that runs on the API server's own machine.
 *
 * What the API server calls (webhooks, conversions, an aggregated API) is behind a Service. Here that Service is an
 * external name, `localhost`, and whoever refers to it names the port that the operator listens on, as an external name
 * maps none. The certificates stay those of the Service's name.
 */
import * as ApiServiceServer from "../../apiservice/ApiServiceServer.ts"
import type { Description } from "../Description.ts"
import type { Written } from "./Objects.ts"

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1))

/** The target ports of Services that the API server comes through. */
const called: ReadonlyArray<unknown> = ["webhooks", "api"]

const api = portOf(ApiServiceServer.defaults.address)

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** Every `service` within, with this port. */
const atPort = (value: unknown, port: number | undefined): unknown => {
  if (Array.isArray(value)) return value.map((item) => atPort(item, port))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === "service" && isRecord(inner) ? [key, { ...inner, port }] : [key, atPort(inner, port)]
    )
  )
}

const local = (spec: unknown): unknown => {
  const wanted = isRecord(spec) && Array.isArray(spec["ports"]) ? spec["ports"] : []
  return wanted.some((port) => isRecord(port) && called.includes(port["targetPort"]))
    ? { type: "ExternalName", externalName: "localhost" }
    : spec
}

/** An object of the manifests, as it is to be applied where hooks are served on this port. */
export const object = <A extends Written>(written: A, webhooks: number): A => {
  switch (written.kind) {
    case "Service":
      return { ...written, spec: local((written as { readonly spec?: unknown }).spec) }
    case "APIService":
      return atPort(written, api) as A
    case "MutatingWebhookConfiguration":
    case "ValidatingWebhookConfiguration":
      return atPort(written, webhooks) as A
    default:
      return written
  }
}

/** A program's description; its definitions, as they are to be installed. */
export const description = (it: Description, webhooks: number): Description => ({
  ...it,
  definitions: it.definitions.map((definition) => {
    const { conversion, ...spec } = definition.spec
    return conversion === undefined ? definition : {
      ...definition,
      spec: { ...spec, conversion: atPort(conversion, webhooks) as typeof conversion }
    }
  })
})
