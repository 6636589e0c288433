/**
 * `Subresources`: the operations of built-in objects other than reading and writing: binding and evicting a Pod,
 * finalizing a Namespace, issuing a token for a service account.
 *
 * Evictions have a separate module (`Eviction`), and so have subresources that need what an object stands for
 * (`PodConnections`, `Proxying`).
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod/storage/storage.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as TokenRequests from "../../auth/TokenRequests.ts"
import * as Exchange from "../Exchange.ts"
import type { Strategy } from "../Strategy.ts"
import * as SigningRequestRules from "../rules/SigningRequestRules.ts"
import { get } from "../verbs/VerbsRead.ts"
import { patch, replace } from "../verbs/VerbsUpdate.ts"
import * as Connect from "./Connect.ts"
import * as Eviction from "./Eviction.ts"
import * as PodConnections from "./PodConnections.ts"
import * as PodParts from "./PodParts.ts"
import * as Posting from "./Posting.ts"
import * as Proxying from "./Proxying.ts"
import * as Scale from "./Scale.ts"

const boundCondition = (pod: KubeObject, now: number): ReadonlyArray<unknown> => [
  ...arrayAt(pod, "status", "conditions").filter((condition) => stringAt(condition, "type") !== "PodScheduled"),
  { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: Exchange.timestamp(now) }
]

/** Checks the uid and resourceVersion that a Binding requires of the Pod. */
const preconditionFault = (binding: unknown, { metadata }: KubeObject): string | undefined => {
  const [uid, version] = [stringAt(binding, "metadata", "uid"), stringAt(binding, "metadata", "resourceVersion")]
  return uid !== "" && uid !== metadata.uid
    ? `UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    : version !== "" && version !== metadata.resourceVersion
    ? `ResourceVersion in precondition: ${version}, ResourceVersion in object meta: ${metadata.resourceVersion}`
    : undefined
}

/** A Pod's labels or annotations, merged with those of its Binding. */
const withAll = (pod: KubeObject, binding: unknown, key: "annotations" | "labels") => {
  const all = { ...pod.metadata[key], ...objectAt(binding, "metadata", key) }
  return Object.keys(all).length === 0 ? {} : { [key]: all }
}

/** Assigns a Pod to a node, once. The node need not exist. Admission sees the request as it arrived. */
const bindAs = Effect.fnUntraced(function*(exchange: Exchange.Exchange, asked: Exchange.Exchange) {
  const { core, now, resource, route } = exchange
  const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const { attributes, object: body } = yield* Posting.admitted(asked, options)
  if (stringAt(body, "metadata", "name") !== route.name) {
    return yield* Effect.fail(StatusError.badRequest("name in URL does not match name in Binding object"))
  }
  const node = stringAt(body, "target", "name")
  const kind = stringAt(body, "target", "kind")
  if (node === "") return yield* Effect.fail(StatusError.plain("target.name: Required value"))
  if (kind !== "" && kind !== "Node") {
    return yield* Effect.fail(
      StatusError.plain(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`)
    )
  }
  yield* Admission.review(core, attributes)
  if (route.name === "") return yield* Effect.fail(StatusError.badRequest("Name parameter required."))
  const key = Exchange.storageKey(route.namespace, route.name)
  const pod = core.storage.get(resource.collection, key)
  if (pod === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const failed = preconditionFault(body, pod)
  if (failed !== undefined) {
    return yield* Effect.fail(Exchange.storageConflict(exchange, exchange.route, options.dryRun, failed))
  }
  const assigned = stringAt(pod, "spec", "nodeName")
  const why = pod.metadata.deletionTimestamp !== undefined
    ? `pod ${route.name} is being deleted, cannot be assigned to a host`
    : assigned !== ""
    ? `pod ${route.name} is already assigned to node ${JSON.stringify(assigned)}`
    : arrayAt(pod, "spec", "schedulingGates").length > 0
    ? `pod ${route.name} has non-empty .spec.schedulingGates`
    : undefined
  if (why !== undefined) {
    return yield* Effect.fail(StatusError.conflict({ group: "", plural: "pods/binding" }, route.name, why))
  }
  if (!options.dryRun) {
    const bound: JsonValue.JsonObject = {
      ...pod,
      metadata: { ...pod.metadata, ...withAll(pod, body, "annotations"), ...withAll(pod, body, "labels") },
      spec: { ...objectAt(pod, "spec"), nodeName: node },
      status: { ...objectAt(pod, "status"), conditions: boundCondition(pod, now) }
    }
    // Setting the node keeps the kind of the Pod.
    core.storage.put(resource.collection, key, route.namespace, asObject(bound))
  }
  return Posting.created
})

const bind: Exchange.Verb = (exchange) => bindAs(exchange, exchange)

/** Writes the status with the rules for approval. */
const decided = (verb: Exchange.Verb): Exchange.Verb => (exchange) =>
  verb({
    ...exchange,
    resource: { ...exchange.resource, strategy: { ...exchange.resource.strategy, ...SigningRequestRules.approval } }
  })

type Verbs = Partial<Record<Exchange.Exchange["route"]["verb"], Exchange.Verb>>

/** Writes a part of the spec that the object's own endpoint cannot change. */
const partly = (part: Partial<Strategy>): Verbs => {
  const write: Exchange.Verb = (exchange) =>
    (exchange.route.verb === "patch" ? patch("object") : replace("object"))({
      ...exchange,
      resource: { ...exchange.resource, strategy: { ...exchange.resource.strategy, ...part } }
    })
  return { get, update: write, patch: write }
}

const streamed = (verb: Exchange.Verb): Verbs => ({ get: verb, create: verb })

const { proxy } = Proxying
const proxied: Verbs = { get: proxy, create: proxy, update: proxy, patch: proxy, delete: proxy }

const builtin: Readonly<Record<string, Verbs>> = {
  "namespaces/finalize": { update: replace("finalize") },
  "pods/binding": { create: bind },
  "pods/eviction": { create: Eviction.evict },
  "pods/ephemeralcontainers": partly(PodParts.ephemeralContainers),
  "pods/resize": partly(PodParts.resize),
  "pods/log": { get: PodConnections.log },
  "pods/exec": streamed(PodConnections.exec),
  "pods/attach": streamed(PodConnections.attach),
  "pods/portforward": streamed(PodConnections.portForward),
  "pods/proxy": proxied,
  "services/proxy": proxied,
  "nodes/proxy": proxied,
  "serviceaccounts/token": { create: TokenRequests.create },
  "certificatesigningrequests.certificates.k8s.io/approval": {
    get,
    update: decided(replace("status")),
    patch: decided(patch("status"))
  }
}

/** The verb of a subresource other than status; undefined if there is none. */
export const find = ({ resource, route }: Exchange.Exchange): Exchange.Verb | undefined => {
  if (route.subresource === "scale") return (Scale.verbs as Verbs)[route.verb]
  const head = Connect.headOf(route)
  // A proxied request may use a method that is no verb of the API.
  const verb = route.verb === "" && head === "proxy" ? "get" : route.verb
  return verb === "" ? undefined : builtin[`${resource.collection}/${head}`]?.[verb]
}

const withoutUid = (body: unknown): JsonValue.JsonObject | undefined => {
  if (!JsonValue.isObject(body) || at(body, "metadata", "uid") === undefined) return undefined
  const { uid: _, ...metadata } = objectAt(body, "metadata")
  return { ...body, metadata }
}

/** The old way to bind a Pod: creating a Binding with the name of the Pod in its namespace. */
export const ofCollection = ({ resource }: Exchange.Exchange): Exchange.Verb | undefined =>
  resource.collection === "bindings"
    ? Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
      const name = stringAt(exchange.request.body, "metadata", "name")
      const route = { ...exchange.route, name }
      const resource = { ...exchange.resource, collection: "pods", plural: "pods", kind: "Pod" }
      // A Binding that is created has no uid yet.
      const body = withoutUid(exchange.request.body)
      const request = body === undefined ? exchange.request : { ...exchange.request, body }
      return yield* bindAs({ ...exchange, request, resource, route }, { ...exchange, request, route })
    })
    : undefined
