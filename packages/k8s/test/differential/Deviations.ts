/**
 * `Deviations`: wrong servers, to see that the comparison finds them.
 *
 * Each is the in-memory server with one thing wrong that no answer shows by itself: it takes a sequence that leads to it,
 * and a comparison that looks there.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ApiServer } from "../../src/testing/ApiServer.ts"

type Service = ApiServer["Service"]

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** `notin` does not match where the label is missing. */
const notinWantsTheLabel = (server: Service): Service => ({
  ...server,
  receive: (request, arrival) =>
    server.receive({
      ...request,
      query: request.query.map(([name, value]) =>
        name === "labelSelector" ? [name, value.replace(/(\w+) notin/g, "$1,$1 notin")] : [name, value]
      )
    }, arrival)
})

const withoutNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
      Object.entries(value).filter(([, item]) => item !== null).map(([key, item]) => [key, withoutNulls(item)])
    )
    : value

/** A merge patch does not remove anything. */
const mergeKeepsNull = (server: Service): Service => ({
  ...server,
  receive: (request, arrival) => {
    const { body } = arrival
    return request.headers["content-type"] === "application/merge-patch+json" && body !== undefined
      ? server.receive(request, { ...arrival, body: (kind) => Effect.map(body(kind), withoutNulls) })
      : server.receive(request, arrival)
  }
})

/** A patch that changes what is wanted answers with the generation from before. */
const patchKeepsGeneration = (server: Service): Service => ({
  ...server,
  receive: (request, arrival) =>
    Effect.map(server.receive(request, arrival), (response) => {
      const { body } = response
      if (request.method !== "PATCH" || response.status !== 200 || !isObject(body)) return response
      const metadata = body["metadata"] as Json
      const generation = metadata["generation"]
      return typeof generation === "number" && generation > 1
        ? { ...response, body: { ...body, metadata: { ...metadata, generation: generation - 1 } } }
        : response
    })
})

const layer = (deviate: (server: Service) => Service): Layer.Layer<ApiServer> =>
  Layer.effect(ApiServer, Effect.map(ApiServer, deviate)).pipe(Layer.provide(ApiServer.layer))

/** By what is wrong. */
export const deviations: Readonly<Record<string, Layer.Layer<ApiServer>>> = {
  "a label selector with notin does not match a missing label": layer(notinWantsTheLabel),
  "null in a merge patch removes nothing": layer(mergeKeepsNull),
  "a patch does not count the generation": layer(patchKeepsGeneration)
}
