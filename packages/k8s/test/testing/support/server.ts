import type { Request } from "@effect-operator/core/Transport"
import { Effect, Layer, Stream } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"

export const layer = TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer))

type Body = Record<string, any>

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: any
}

const contentTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml"
}

/** One raw request; the path may carry a query, as a URL does. */
export const call = (
  method: Request["method"],
  url: string,
  body?: unknown,
  headers: Record<string, string> = {}
): Effect.Effect<Answer, never, ApiServer> =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    const [path, query = ""] = url.split("?")
    const response = yield* server.handle({
      method,
      path: path!,
      query: [...new URLSearchParams(query)],
      headers: { accept: "application/json", "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body })
    })
    return { status: response.status, headers: response.headers, body: response.body }
  })

export const get = (url: string, headers?: Record<string, string>) => call("GET", url, undefined, headers)
export const post = (url: string, body: Body) => call("POST", url, body)
export const put = (url: string, body: Body) => call("PUT", url, body)
export const del = (url: string, body?: Body) => call("DELETE", url, body)
export const patch = (url: string, kind: keyof typeof contentTypes, body: unknown) =>
  call("PATCH", url, body, { "content-type": contentTypes[kind] })

/** The events of a watch; the URL carries its options. */
export const watch = (url: string, headers: Record<string, string> = {}) =>
  Stream.unwrap(Effect.gen(function*() {
    const server = yield* ApiServer
    const [path, query = ""] = url.split("?")
    const response = yield* server.handle({
      method: "GET",
      path: path!,
      query: [["watch", "true"], ...new URLSearchParams(query)],
      headers: { accept: "application/json", ...headers }
    })
    return response.events ?? Stream.die(response.body)
  }))

export const configMaps = "/api/v1/namespaces/default/configmaps"
export const pods = "/api/v1/namespaces/default/pods"
export const widgets = "/apis/example.com/v1/namespaces/default/widgets"
export const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

export const configMap = (name: string, rest: Body = {}): Body => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  ...rest,
  metadata: { name, ...rest["metadata"] }
})

export const pod = (name: string, rest: Body = {}): Body => ({
  apiVersion: "v1",
  kind: "Pod",
  ...rest,
  metadata: { name, ...rest["metadata"] },
  spec: { containers: [{ name: "main", image: "app:1" }], ...rest["spec"] }
})

export const widget = (name: string, rest: Body = {}): Body => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  ...rest,
  metadata: { name, ...rest["metadata"] }
})

/** A definition of Widgets with status and scale. */
export const widgetDefinition = (rest: Body = {}): Body => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      subresources: {
        status: {},
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector"
        }
      },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: {
                replicas: { type: "integer", minimum: 0, default: 1 },
                color: { type: "string", enum: ["red", "blue"] }
              }
            },
            status: {
              type: "object",
              properties: { replicas: { type: "integer" }, phase: { type: "string" }, selector: { type: "string" } }
            }
          }
        }
      }
    }],
    ...rest
  }
})
