/** Calls the in-memory API server directly. */
import type { ApiServer } from "@effect-operator/k8s/testing"

export type Server = ApiServer.ApiServer["Service"]

export const json = { "content-type": "application/json", accept: "application/json" }

/** Sends a request to the server, without a client. */
export const send = (server: Server, method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: unknown) =>
  server.handle({
    method,
    path,
    query: [],
    headers: method === "PATCH" ? { ...json, "content-type": "application/merge-patch+json" } : json,
    ...(body === undefined ? {} : { body })
  })

export const collection = (namespace: string): string => `/apis/bench.example.com/v1/namespaces/${namespace}/widgets`

export const widget = (name: string) => ({
  apiVersion: "bench.example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec: { size: 1, colour: "red" }
})
