/**
 * `Beside`: adapts the manifests of an operator for one that runs on the API server's own machine.
 *
 * The API server calls webhooks, conversions and an aggregated API through a Service. Here that Service has the type
 * ExternalName, for `localhost`. Since an ExternalName maps no ports, every reference to it uses the port that the
 * operator listens on. The certificates are still those of the Service's name.
 */
import * as ApiServiceServer from "../../apiservice/ApiServiceServer.ts"
import type { Description } from "../Description.ts"
import type { Written } from "./Objects.ts"

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1))

/** The target ports of Services that the API server calls. */
const called: ReadonlyArray<unknown> = ["webhooks", "api"]

const api = portOf(ApiServiceServer.defaults.address)

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The value with this port in every `service` in it. */
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

/** An object of the manifests, adapted for hooks that are served on this port. */
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

/** A program's description with its definitions adapted. */
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
