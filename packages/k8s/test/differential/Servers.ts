/**
 * The servers that are compared: the in-memory one behind its HTTP facade, and a real etcd with kube-apiserver.
 *
 * Neither has controllers: what is compared is what the API server itself does.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as ApiServer from "../../src/testing/ApiServer.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import type * as Step from "./Step.ts"
import * as Wire from "./Wire.ts"

/** The in-memory server, or a variant of it. */
export const inMemory = (server: Layer.Layer<ApiServer.ApiServer> = ApiServer.ApiServer.layer) =>
  Layer.build(HttpFacade.layer({ http: true }).pipe(Layer.provide(server), Layer.orDie)).pipe(
    Effect.flatMap((context) => Effect.provide(HttpFacade.HttpFacade, context)),
    Effect.map(({ token, url }) => Wire.make({ url, token, ca: "" }))
  )

/** Room for the Services of ten thousand sequences. */
const apiServerFlags = [
  "--service-cluster-ip-range=10.96.0.0/14",
  "--service-node-port-range=20000-60000",
  // Old releases store a new version where only the owner of a field changes.
  "--feature-gates=ServerSideApply=false"
]

/** Versions that the real server has under an older name, with the resource that is meant. */
const renamed: ReadonlyArray<readonly [newer: string, older: string, resource: string]> = [
  ["policy/v1", "policy/v1beta1", "poddisruptionbudgets"],
  ["batch/v1", "batch/v1beta1", "cronjobs"],
  ["discovery.k8s.io/v1", "discovery.k8s.io/v1beta1", "endpointslices"]
]

/** The older version of a CronJob leaves its Jobs behind, unless a deletion says otherwise. */
const inBackground = (wire: Step.Wire): Step.Wire => {
  const { body, method, path } = wire
  const background = "\"propagationPolicy\":\"Background\""
  if (method !== "DELETE" || /propagationPolicy|orphanDependents/.test(body ?? path)) return wire
  return body === undefined
    ? { ...wire, path: `${path}${path.includes("?") ? "&" : "?"}propagationPolicy=Background` }
    : {
      ...wire,
      body: body.replace(/^\{(\s*\})?/, (_, end) => end === undefined ? `{${background},` : `{${background}}`)
    }
}

/** Speaks to an older server as if it had the newer names. */
const translated = (send: Wire.Send): Wire.Send => (wire) => {
  const evicts = /\/pods\/[^/]+\/eviction(?:\?|$)/.test(wire.path)
  const found = renamed.find(([newer, , resource]) =>
    (evicts && newer.startsWith("policy/")) ||
    wire.path.startsWith(`/apis/${newer}/`) && wire.path.split(/[/?]/).includes(resource)
  )
  if (found === undefined) return send(wire)
  const [newer, older] = found
  const sent = found[2] === "cronjobs" ? inBackground(wire) : wire
  const path = sent.path.replace(`/apis/${newer}/`, `/apis/${older}/`)
  const body = sent.body?.replaceAll(`"${newer}"`, `"${older}"`)
  return Effect.map(send({ ...sent, path, body }), (answer) => {
    const back = (value: unknown): unknown =>
      value === undefined
        ? undefined
        : JSON.parse(
          JSON.stringify(value).replaceAll(older, newer).replaceAll("version \\\"v1beta1\\\"", "version \\\"v1\\\"")
        )
    return {
      ...answer,
      body: back(answer.body),
      ...(answer.events === undefined ? {} : { events: back(answer.events) as ReadonlyArray<unknown> })
    }
  })
}

/** The client of a real server, of whatever age. */
export const connect = (access: Wire.Access): Wire.Send => translated(Wire.make(access))

/** A real server. */
export const real = Layer.build(
  Layer.orDie(Envtest.layerOptions({ controllerManager: false, apiServerFlags }))
).pipe(
  Effect.flatMap((context) => Effect.provide(Envtest.Envtest, context)),
  Effect.map(({ clusterConfig, token, url }) =>
    connect({ url, token: Redacted.value(token), ca: clusterConfig.ca ?? "" })
  )
)
