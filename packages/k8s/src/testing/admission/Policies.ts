/**
 * `Policies`: which policies apply to a request, with which bindings and parameters.
 *
 * A policy takes effect through bindings, each of which may restrict the requests further and add parameters, which are
 * objects of any kind. If something cannot be resolved (a kind of parameters that is not served, required parameters
 * that do not exist), that is a configuration fault, and the failure policy decides about the request.
 *
 * Policies and bindings are compiled when they change. A server without bindings spends one comparison per request.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/policy/{generic,matching}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { StatusError } from "../../api/StatusError.ts"
import * as Cel from "../../cel/Cel.ts"
import type * as Admission from "../Admission.ts"
import { apiVersionOf, type Served } from "../server/Registry.ts"
import * as Versions from "../server/verbs/Versions.ts"
import type { Seen } from "./AdmissionReview.ts"
import * as CelVariables from "./CelVariables.ts"
import * as Derived from "./Derived.ts"
import * as Matching from "./Matching.ts"

/** Compiled `MatchResources`. */
interface Constraints {
  readonly rules: ReadonlyArray<Matching.Rule>
  readonly excluded: ReadonlyArray<Matching.Rule>
  readonly equivalent: boolean
  readonly namespaces: ReturnType<typeof Matching.selector>
  readonly objects: ReturnType<typeof Matching.selector>
}

const constraints = (value: unknown): Constraints => ({
  rules: arrayAt(value, "resourceRules").map(Matching.rule),
  excluded: arrayAt(value, "excludeResourceRules").map(Matching.rule),
  equivalent: stringAt(value, "matchPolicy") !== "Exact",
  namespaces: Matching.selector(at(value, "namespaceSelector")),
  objects: Matching.selector(at(value, "objectSelector"))
})

/** A policy, compiled by the plugin that applies it. */
export interface Policy<A> {
  readonly name: string
  readonly object: KubeObject
  readonly ignoresFailure: boolean
  readonly constraints: Constraints
  readonly compiled: A
}

export interface Binding {
  readonly name: string
  readonly object: KubeObject
  readonly policy: string
  /** Undefined if the binding applies to everything that the policy matches. */
  readonly constraints: Constraints | undefined
  readonly paramRef: unknown
}

/** A policy with its bindings. */
export interface Hook<A> {
  readonly policy: Policy<A>
  readonly bindings: ReadonlyArray<Binding>
}

const policyOf = <A>(compile: (object: KubeObject) => A) => (object: KubeObject): Policy<A> => ({
  name: object.metadata.name,
  object,
  ignoresFailure: stringAt(object, "spec", "failurePolicy") === "Ignore",
  constraints: constraints(at(object, "spec", "matchConstraints")),
  compiled: compile(object)
})

const bindingOf = (object: KubeObject): Binding => {
  const resources = at(object, "spec", "matchResources")
  return {
    name: object.metadata.name,
    object,
    policy: stringAt(object, "spec", "policyName"),
    constraints: resources === undefined ? undefined : constraints(resources),
    paramRef: at(object, "spec", "paramRef")
  }
}

const group = "admissionregistration.k8s.io"

/** The policies of one kind that have bindings, by name. */
export const hooks = <A>(
  { storage }: Pick<Admission.Server, "storage">,
  plural: "validatingadmissionpolicies" | "mutatingadmissionpolicies",
  compile: (object: KubeObject) => A
): () => ReadonlyArray<Hook<A>> => {
  const policies = Derived.collection(storage, `${plural}.${group}`, policyOf(compile))
  const bindings = Derived.collection(storage, `${plural.replace(/ies$/, "ybindings")}.${group}`, bindingOf)
  let from: readonly [unknown, unknown] | undefined
  let known: ReadonlyArray<Hook<A>> = []
  return () => {
    const bound = bindings()
    if (bound.length === 0) return []
    const all = policies()
    if (from?.[0] !== all || from[1] !== bound) {
      from = [all, bound]
      known = all.map((policy) => ({ policy, bindings: bound.filter((binding) => binding.policy === policy.name) }))
        .filter((hook) => hook.bindings.length > 0)
    }
    return known
  }
}

/** The resource and kind under which a request matches; undefined if it does not match. */
const matched = (
  server: Admission.Server,
  { equivalent, excluded, namespaces, objects, rules }: Constraints,
  attributes: Admission.Attributes
): Result.Result<Matching.Invocation | undefined, StatusError> => {
  const inNamespace = Matching.namespaceMatches(namespaces, attributes, server)
  if (Result.isSuccess(inNamespace) && !inNamespace.success) return Result.succeed(undefined)
  if (!Matching.objectMatches(objects, attributes)) return Result.succeed(undefined)
  if (Matching.invocation(excluded, equivalent, attributes, server) !== undefined) return Result.succeed(undefined)
  const invocation = rules.length === 0
    ? { resource: attributes.resource, kind: attributes.kind }
    : Matching.invocation(rules, equivalent, attributes, server)
  return invocation !== undefined && Result.isFailure(inNamespace)
    ? Result.fail(inNamespace.failure)
    : Result.succeed(invocation)
}

/** An object of a request, converted to the resource of a rule. */
const converted = (
  from: Served,
  to: Served,
  subresource: string,
  object: KubeObject | undefined
): Effect.Effect<KubeObject | undefined, StatusError> =>
  object === undefined || from === to || !Matching.bringsObjects(to, subresource)
    ? Effect.succeed(object)
    : Versions.between(from, to, object)

/** The request in the view of a rule. */
export const seen = (attributes: Admission.Attributes, { kind, resource }: Matching.Invocation) =>
  Effect.map(
    Effect.forEach(
      [attributes.object, attributes.oldObject],
      (object) => converted(attributes.resource, resource, attributes.subresource, object)
    ),
    ([object, oldObject]): Seen => ({ attributes, kind, resource, object, oldObject })
  )

/** Converts an object that a policy changed back to the version of the request. */
export const back = ({ attributes, resource }: Seen, object: KubeObject) =>
  converted(resource, attributes.resource, attributes.subresource, object)

const kindText = (kind: unknown): string => {
  const apiVersion = stringAt(kind, "apiVersion")
  const slash = apiVersion.indexOf("/")
  const gv = slash < 0 ? `/${apiVersion}` : apiVersion
  return `${gv}, Kind=${stringAt(kind, "kind")}`
}

const paramResource = ({ registry }: Admission.Server, kind: unknown): Served | undefined =>
  registry.all().find((served) =>
    served.kind === stringAt(kind, "kind") && apiVersionOf(served) === stringAt(kind, "apiVersion")
  )

/** The parameters of a binding; a single `undefined` if it has none. */
const params = (
  server: Admission.Server,
  policy: Pick<Policy<unknown>, "object">,
  { paramRef }: Binding,
  namespace: string
): Effect.Effect<ReadonlyArray<KubeObject | undefined>, string | StatusError> => {
  const kind = at(policy.object, "spec", "paramKind")
  const resource = kind === undefined ? undefined : paramResource(server, kind)
  if (resource === undefined || paramRef === undefined) return Effect.succeed([undefined])
  const given = stringAt(paramRef, "namespace")
  if (given !== "" && resource.scope === "Cluster") {
    return Effect.fail("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
  }
  const inside = resource.scope === "Cluster" ? "" : given || namespace
  if (resource.scope !== "Cluster" && inside === "") {
    return Effect.fail("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
  }
  const found = stored(server, resource, inside, paramRef)
  if (found.length === 0 && stringAt(paramRef, "parameterNotFoundAction") === "Deny") {
    return Effect.fail("no params found for policy binding with `Deny` parameterNotFoundAction")
  }
  return Effect.forEach(found, (object) => Versions.show(resource, object))
}

const stored = (
  { storage }: Admission.Server,
  { collection }: Served,
  namespace: string,
  paramRef: unknown
): ReadonlyArray<KubeObject> => {
  const name = stringAt(paramRef, "name")
  if (name !== "") {
    const found = storage.get(collection, namespace === "" ? name : `${namespace}/${name}`)
    return found === undefined ? [] : [found]
  }
  const selector = Matching.selector(at(paramRef, "selector"))
  const { get, keys } = storage.list(collection)
  return keys.map(get).filter((object) =>
    (object.metadata.namespace ?? "") === namespace &&
    (selector === undefined || Selector.matchesLabels(selector, object.metadata.labels))
  )
}

/** A policy with one binding and one parameter, and its view of the request. */
export interface Invocation<A> {
  readonly policy: Policy<A>
  readonly binding: Binding
  readonly param: KubeObject | undefined
  readonly seen: Seen
}

/** A configuration fault of a policy or binding. */
export interface ConfigurationFault {
  readonly policy: Policy<unknown>
  readonly binding: Binding | undefined
  readonly message: string
}

const why = (fault: string | StatusError): string => typeof fault === "string" ? fault : fault.body.message ?? ""

/**
 * All invocations of a hook for a request, or configuration faults. A request that cannot be converted to the version
 * that the policy matches is a fault of a mutating policy, or of the binding of a validating one.
 */
export const invocations = Effect.fnUntraced(function*<A>(
  server: Admission.Server,
  { bindings, policy }: Hook<A>,
  attributes: Admission.Attributes,
  flavour: "mutating" | "validating"
) {
  const found: Array<Invocation<A> | ConfigurationFault> = []
  const fault = (message: string, binding?: Binding): void => {
    found.push({
      policy,
      binding,
      message: `failed to configure ${binding === undefined ? "policy" : "binding"}: ${message}`
    })
  }
  const matches = matched(server, policy.constraints, attributes)
  if (Result.isFailure(matches)) {
    fault(why(matches.failure))
    return found
  }
  if (matches.success === undefined) return found
  const paramKind = at(policy.object, "spec", "paramKind")
  if (paramKind !== undefined && paramResource(server, paramKind) === undefined) {
    fault(`failed to find resource referenced by paramKind: '${kindText(paramKind)}'`)
    return found
  }
  const shown = yield* Effect.result(seen(attributes, matches.success))
  for (const binding of bindings) {
    const bound = binding.constraints === undefined
      ? Result.succeed(matches.success)
      : matched(server, binding.constraints, attributes)
    if (Result.isFailure(bound)) {
      fault(why(bound.failure), binding)
      continue
    }
    if (bound.success === undefined) continue
    if (flavour === "mutating" && Result.isFailure(shown)) {
      fault(why(shown.failure))
      continue
    }
    const collected = yield* Effect.result(params(server, policy, binding, attributes.namespace))
    if (Result.isFailure(collected)) fault(why(collected.failure), binding)
    else if (Result.isSuccess(shown)) {
      found.push(...collected.success.map((param) => ({ policy, binding, param, seen: shown.success })))
    } else if (collected.success.length > 0) {
      fault(`failed to convert object version: ${why(shown.failure)}`, binding)
    }
  }
  return found
})

/** The metadata of a Namespace that policies see. */
const namespaceMetadata = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "finalizers"
]

const namespaceObject = ({ storage }: Admission.Server, { kind, namespace }: Admission.Attributes): unknown => {
  const isNamespace = kind.kind === "Namespace" && kind.version === "v1" && kind.group === ""
  const found = isNamespace || namespace === "" ? undefined : storage.get("namespaces", namespace)
  if (found === undefined) return null
  const metadata = Object.entries(found.metadata).filter(([name]) => namespaceMetadata.includes(name))
  return { metadata: Object.fromEntries(metadata), spec: objectAt(found, "spec"), status: objectAt(found, "status") }
}

/** The CEL variables of an invocation. */
export const variables = (
  server: Admission.Server,
  { param, seen }: Pick<Invocation<unknown>, "param" | "seen">
): CelVariables.Variables => ({
  ...CelVariables.make(server, seen),
  params: Cel.fromJson(param),
  namespaceObject: Cel.fromJson(namespaceObject(server, seen.attributes))
})
