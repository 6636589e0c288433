/**
 * `Subresources`: what a built-in object can do besides being read and written: a Pod is bound or evicted, a Namespace
 * finalized, a service account issued a token.
 *
 * What needs somebody behind an object has modules of its own (`PodConnections`, `Proxying`).
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod/storage/{storage,eviction}.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import type * as Deletion from "../../../api/Deletion.ts"
import * as DeletionOptions from "../../../api/DeletionOptions.ts"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as TokenRequests from "../../auth/TokenRequests.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf, subresource } from "../Registry.ts"
import type { Strategy } from "../Strategy.ts"
import * as SigningRequestRules from "../rules/SigningRequestRules.ts"
import * as Ownership from "../verbs/Ownership.ts"
import { deleteObject } from "../verbs/VerbsDelete.ts"
import { get } from "../verbs/VerbsRead.ts"
import { patch, replace } from "../verbs/VerbsUpdate.ts"
import * as Connect from "./Connect.ts"
import * as PodConnections from "./PodConnections.ts"
import * as PodParts from "./PodParts.ts"
import * as Proxying from "./Proxying.ts"
import * as Scale from "./Scale.ts"

const budgets = "poddisruptionbudgets.policy"

const success: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

const created: Exchange.Answer = { _tag: "Plain", status: 201, body: success }

/**
 * What a POST to a subresource sent, after the mutating plugins, and what the others are asked about it: an object of
 * the subresource's own type in the namespace of the request, with an owner as everything that is created.
 */
const admitted = Effect.fnUntraced(function*(exchange: Exchange.Exchange, options: Exchange.WriteOptions) {
  const { core, resource, route } = exchange
  const sent = yield* Exchange.bodyObject(exchange)
  const { group, kind, version } = subresource(resource, route.subresource) ?? resource
  const typed = asObject({
    ...sent,
    kind,
    apiVersion: apiVersionOf({ group, version }),
    metadata: { ...objectAt(sent, "metadata"), namespace: route.namespace }
  })
  const asked = yield* Ownership.created(
    { ...exchange, resource: { ...resource, group, kind, version } },
    options,
    typed
  )
  const attributes = Admission.attributes(exchange, "CREATE", { object: asked, dryRun: options.dryRun })
  const object = yield* Admission.admit(core, attributes, asked)
  return { attributes: { ...attributes, object }, object }
})

const boundCondition = (pod: KubeObject, now: number): ReadonlyArray<unknown> => [
  ...arrayAt(pod, "status", "conditions").filter((condition) => stringAt(condition, "type") !== "PodScheduled"),
  { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: Exchange.timestamp(now) }
]

/** The uid and the version that a Binding wants the Pod to have. */
const preconditionFault = (binding: unknown, { metadata }: KubeObject): string | undefined => {
  const [uid, version] = [stringAt(binding, "metadata", "uid"), stringAt(binding, "metadata", "resourceVersion")]
  return uid !== "" && uid !== metadata.uid
    ? `UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    : version !== "" && version !== metadata.resourceVersion
    ? `ResourceVersion in precondition: ${version}, ResourceVersion in object meta: ${metadata.resourceVersion}`
    : undefined
}

/** A Pod's labels or annotations with those of its Binding. */
const withAll = (pod: KubeObject, binding: unknown, key: "annotations" | "labels") => {
  const all = { ...pod.metadata[key], ...objectAt(binding, "metadata", key) }
  return Object.keys(all).length === 0 ? {} : { [key]: all }
}

/** Assigns a Pod to a node, once. The node need not exist. Admission sees the request as it came. */
const bindAs = Effect.fnUntraced(function*(exchange: Exchange.Exchange, asked: Exchange.Exchange) {
  const { core, now, resource, route } = exchange
  const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const { attributes, object: body } = yield* admitted(asked, options)
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
    // The same Pod with a node.
    core.storage.put(resource.collection, key, route.namespace, asObject(bound))
  }
  return created
})

const bind: Exchange.Verb = (exchange) => bindAs(exchange, exchange)

/** The budgets that cover a Pod. */
const budgetsOf = ({ core, route }: Exchange.Exchange, pod: KubeObject): ReadonlyArray<KubeObject> => {
  const { get, keys } = core.storage.list(budgets, route.namespace)
  return keys.map(get).filter((budget) => {
    const selector = Selector.fromObject(at(budget, "spec", "selector") as Selector.LabelSelectorObject | undefined)
    return selector !== undefined && Selector.matchesLabels(selector, pod.metadata.labels)
  })
}

/** A Pod that is over or has never run disrupts nothing when it goes. */
const harmless = (pod: KubeObject): boolean =>
  ["Succeeded", "Failed", "Pending"].includes(stringAt(pod, "status", "phase")) ||
  pod.metadata.deletionTimestamp !== undefined

const amount = (budget: KubeObject, key: string): number => {
  const value = at(budget, "status", key)
  return typeof value === "number" ? value : 0
}

/** Takes one disruption off the budget, or says why not. */
const spend = (
  exchange: Exchange.Exchange,
  budget: KubeObject,
  dryRun: boolean
): StatusError.StatusError | undefined => {
  const { core, now, route } = exchange
  const { name } = budget.metadata
  if (amount(budget, "observedGeneration") < (budget.metadata.generation ?? 0)) {
    return StatusError.tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
  }
  if (amount(budget, "disruptionsAllowed") <= 0) {
    const message = `The disruption budget ${name} needs ${amount(budget, "desiredHealthy")} healthy pods and has ` +
      `${amount(budget, "currentHealthy")} currently`
    return StatusError.evictionRefused([{ reason: "DisruptionBudget", message }])
  }
  if (dryRun) return undefined
  const status = objectAt(budget, "status")
  const spent = asObject({
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: amount(budget, "disruptionsAllowed") - 1,
      disruptedPods: { ...objectAt(status, "disruptedPods"), [route.name]: Exchange.timestamp(now) }
    }
  })
  const of = { collection: budgets, definition: "io.k8s.api.policy.v1.PodDisruptionBudget", now }
  const owned = Ownership.statusTouched(of, budget, spent)
  core.storage.put(budgets, Exchange.storageKey(route.namespace, name), route.namespace, owned)
  return undefined
}

/** Deletes a Pod if its disruption budget allows it. */
const evict: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource, route } = exchange
  const written = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const { dryRun } = written
  const { attributes, object: body } = yield* admitted(exchange, written)
  if (stringAt(body, "metadata", "name") !== route.name) {
    return yield* Effect.fail(StatusError.badRequest("name in URL does not match name in Eviction object"))
  }
  const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential"
  if (at(body, "deleteOptions", unsafe) === true) {
    const why = "can not be set for pod eviction, try after removing the option"
    return yield* Effect.fail(
      StatusError.invalid("Eviction", "policy", route.name, [FieldError.invalid(`deleteOptions.${unsafe}`, true, why)])
    )
  }
  yield* Admission.review(core, attributes)
  const said = DeletionOptions.of(objectAt(body, "deleteOptions"))
  const options: Deletion.DeleteOptions = dryRun && said.dryRun.length === 0 ? { ...said, dryRun: ["All"] } : said
  const pod = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (pod === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const covering = harmless(pod) ? [] : budgetsOf(exchange, pod)
  if (covering.length > 1) {
    return yield* Effect.fail(StatusError.internal(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    ))
  }
  const fault = covering[0] === undefined ? undefined : spend(exchange, covering[0], options.dryRun.length > 0)
  if (fault !== undefined) return yield* Effect.fail(fault)
  // What is asked of the deletion is judged once it may be.
  yield* Effect.fromResult(DeletionOptions.judged(options))
  yield* deleteObject(exchange, route.name, route.namespace, options, "none")
  return created
})

/** A write of the status by the rules of who approves. */
const decided = (verb: Exchange.Verb): Exchange.Verb => (exchange) =>
  verb({
    ...exchange,
    resource: { ...exchange.resource, strategy: { ...exchange.resource.strategy, ...SigningRequestRules.approval } }
  })

type Verbs = Partial<Record<Exchange.Exchange["route"]["verb"], Exchange.Verb>>

/** Writes of a part of the spec that the object's own endpoint refuses. */
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
  "pods/eviction": { create: evict },
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

/** The verb of a subresource other than status; undefined where there is none. */
export const find = ({ resource, route }: Exchange.Exchange): Exchange.Verb | undefined => {
  if (route.subresource === "scale") return (Scale.verbs as Verbs)[route.verb]
  const head = Connect.headOf(route)
  // What is passed on may come by a method that is no verb.
  const verb = route.verb === "" && head === "proxy" ? "get" : route.verb
  return verb === "" ? undefined : builtin[`${resource.collection}/${head}`]?.[verb]
}

const withoutUid = (body: unknown): JsonValue.JsonObject | undefined => {
  if (!JsonValue.isObject(body) || at(body, "metadata", "uid") === undefined) return undefined
  const { uid: _, ...metadata } = objectAt(body, "metadata")
  return { ...body, metadata }
}

/** The old way to bind a Pod: a Binding of the Pod's name, created in the namespace. */
export const ofCollection = ({ resource }: Exchange.Exchange): Exchange.Verb | undefined =>
  resource.collection === "bindings"
    ? Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
      const name = stringAt(exchange.request.body, "metadata", "name")
      const route = { ...exchange.route, name }
      const resource = { ...exchange.resource, collection: "pods", plural: "pods", kind: "Pod" }
      // A Binding that is created as one has no uid of its own to begin with.
      const body = withoutUid(exchange.request.body)
      const request = body === undefined ? exchange.request : { ...exchange.request, body }
      return yield* bindAs({ ...exchange, request, resource, route }, { ...exchange, request, route })
    })
    : undefined
