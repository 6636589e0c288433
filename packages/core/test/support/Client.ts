/**
 * A few kinds, answers in a server's form, and the client over a script.
 */
import { CustomResource, KubeClient, type KubeError, type KubeObject, Resource } from "@effect-operator/core"
import { assert } from "@effect/vitest"
import { Effect, Schema, Scope } from "effect"
import { type Script, scripted } from "./Scripted.ts"

export interface Pod extends KubeObject.KubeObject {
  readonly apiVersion: "v1"
  readonly kind: "Pod"
  readonly metadata: KubeObject.NamespacedObjectMeta
  readonly spec?: { readonly nodeName?: string }
}
export const Pod = Resource.make<Pod>()({ group: "", version: "v1", kind: "Pod", plural: "pods", scope: "Namespaced" })
export interface Node extends KubeObject.KubeObject {
  readonly apiVersion: "v1"
  readonly kind: "Node"
}
export const Node = Resource.make<Node>()({ group: "", version: "v1", kind: "Node", plural: "nodes", scope: "Cluster" })
export const Web = CustomResource.make({
  group: "test.io",
  version: "v1",
  kind: "Web",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean }),
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
})

export const meta = (
  name: string,
  more: Partial<KubeObject.NamespacedObjectMeta> = {}
): KubeObject.NamespacedObjectMeta => ({
  name,
  namespace: "d",
  uid: `uid-${name}`,
  resourceVersion: "5",
  creationTimestamp: "2026-01-01T00:00:00Z",
  ...more
})
export const pod = (name: string, more: Partial<KubeObject.NamespacedObjectMeta> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: meta(name, more)
})
export const node: Node = { apiVersion: "v1", kind: "Node", metadata: { ...meta("n"), namespace: "" } }
export const web = {
  apiVersion: "test.io/v1",
  kind: "Web",
  metadata: meta("w"),
  spec: { size: 3, extra: true }
} as const
export const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: meta("w"), spec: { replicas: 3 } }
export const gone = { name: "a", namespace: "d" }

/** The client over a script, with what was sent and which writes were seen. */
export const over = (script: Script) => {
  const { requests, transport } = scripted(script)
  const writes: Array<KubeClient.Write> = []
  const client = KubeClient.make(transport)
  Effect.runSync(Scope.provide(client.observe((write) => writes.push(write)), Scope.makeUnsafe()))
  return { client, requests, writes }
}
/** What is sent by the one call made. */
export const sent = <A, E>(script: Script, call: (client: KubeClient.Client) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const { client, requests, writes } = over(script)
    const result = yield* call(client)
    assert.strictEqual(requests.length, 1)
    const { body, headers, method, path, query } = requests[0]!
    const text = query.map(([name, value]) => `${name}=${value}`).join("&")
    return { line: `${method} ${path}${text === "" ? "" : `?${text}`}`, body, headers, result, writes }
  })
export const failureOf = <A>(effect: Effect.Effect<A, KubeError.KubeError>) => Effect.flip(effect)
export const status = (code: number, reason: string, message = "no") => ({
  status: code,
  body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message }
})
export const success = (details: object) => ({
  body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details }
})
export const podList = (items: ReadonlyArray<unknown> | null, metadata: object = { resourceVersion: "9" }) => ({
  body: { kind: "PodList", apiVersion: "v1", metadata, items }
})
