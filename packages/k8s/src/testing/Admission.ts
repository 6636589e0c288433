/**
 * `Admission`: the plugins between an authorized write request and the store, which may change or refuse it.
 *
 * First every `mutate` is called in order, on what the client sent (defaulted, but without the fields that the server
 * itself sets). Then every `validate` is called, on the final and valid object. Plugins see the object in the version
 * of the request. A plugin that changes the object late may request a reinvocation, in which every mutating plugin is
 * called once more. Namespace lifecycle always comes first; `admission/Plugins` lists the other built-in plugins.
 *
 * Source: k8s.io/apiserver/pkg/admission, pkg/endpoints/handlers.
 */
import { type KubeObject, withoutManagedFields } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { JsonObject } from "../schema/JsonValue.ts"
import * as Deadline from "./server/Deadline.ts"
import * as Exchange from "./server/Exchange.ts"
import { stringAt } from "../api/Plain.ts"
import { parameter } from "../api/Routing.ts"
import { kindOf } from "./admission/Matching.ts"
import type { Attributes, Operation, Plugin, Rounds } from "./admission/Plugin.ts"
import * as Managers from "./apply/Managers.ts"
import * as StatusError from "../api/StatusError.ts"

export type { Attributes, Kind, Operation, Plugin, Rounds } from "./admission/Plugin.ts"

/** The parts of the server that plugins may use. */
export type Server = Pick<Exchange.Core, "storage" | "registry" | "backends" | "authorizer">

/** The parts of the server that admission needs. */
export type Chain = Pick<Exchange.Core, "storage" | "admission">

const noRounds: Rounds = { number: 0, repeat: () => undefined, notes: new Map() }

/** The options of a create or update, from the query. */
const writeOptions = ({ request }: Exchange.Exchange, operation: Operation, dryRun: boolean): JsonObject => {
  const fieldManager = parameter(request, "fieldManager") ?? ""
  const fieldValidation = parameter(request, "fieldValidation") ?? ""
  return {
    kind: operation === "CREATE" ? "CreateOptions" : "UpdateOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(fieldManager === "" ? {} : { fieldManager }),
    ...(fieldValidation === "" ? {} : { fieldValidation })
  }
}

/** The attributes of a request as admission sees them. What is not given is taken from the request. */
export const attributes = (
  exchange: Exchange.Exchange,
  operation: Operation,
  given:
    & { readonly dryRun: boolean }
    & Partial<Pick<Attributes, "name" | "namespace" | "kind" | "subresource" | "object" | "oldObject" | "options">>
): Attributes => {
  const { resource, route } = exchange
  const {
    dryRun,
    kind = kindOf(resource, given.subresource ?? route.subresource),
    name = route.name,
    namespace = route.namespace,
    object,
    oldObject
  } = given
  return {
    operation,
    resource,
    kind,
    subresource: given.subresource ?? route.subresource,
    namespace: resource.collection === "namespaces" ? name : namespace,
    name,
    object,
    oldObject,
    options: given.options ?? (() => writeOptions(exchange, operation, dryRun)),
    user: exchange.user,
    dryRun,
    rounds: noRounds,
    deadline: () => Deadline.of(exchange),
    warn: (text) => exchange.warnings.push(text),
    annotate: (key, value) => exchange.annotations.set(key, value),
    uuid: () => Exchange.uuid(exchange.random)
  }
}

/** The name of an object, or its `generateName` while it has no name. */
const nameOf = ({ name, object }: Attributes): string =>
  name || object?.metadata?.name || object?.metadata?.generateName || "Unknown"

/** The 403 of a plugin: `pods "x" is forbidden: why`. */
export const forbidden = (attributes: Attributes, why: string): StatusError.StatusError =>
  StatusError.forbidden(attributes.resource, nameOf(attributes), why)

/** A LocalSubjectAccessReview is accepted in any namespace, even one that does not exist. */
const localReviews = "localsubjectaccessreviews.authorization.k8s.io"

/** Namespaces that cannot be deleted. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

/** The refusal of a create in a namespace that does not exist or is being deleted. */
export const namespaceFault = (
  core: Pick<Chain, "storage">,
  attributes: Attributes
): StatusError.StatusError | undefined => {
  const { name, namespace, operation, resource } = attributes
  if (resource.collection === "namespaces") {
    return operation === "DELETE" && immortal.has(name)
      ? StatusError.forbidden(resource, name, "this namespace may not be deleted")
      : undefined
  }
  if (namespace === "" || operation !== "CREATE" || resource.collection === localReviews) return undefined
  const found = core.storage.get("namespaces", namespace)
  if (found === undefined) return StatusError.notFound({ group: "", plural: "namespaces" }, namespace)
  return stringAt(found, "status", "phase") === "Terminating" || found.metadata.deletionTimestamp !== undefined
    ? StatusError.namespaceTerminating(resource, nameOf(attributes), namespace)
    : undefined
}

type Refused = StatusError.StatusError

/** Plugins by role, in order, computed once per chain. */
interface Roles {
  readonly mutating: ReadonlyArray<Plugin>
  readonly consulted: ReadonlyArray<Plugin>
  readonly validating: ReadonlyArray<Plugin>
}

const known = new WeakMap<ReadonlyArray<Plugin>, Roles>()

const rolesOf = ({ admission }: Chain): Roles => {
  let roles = known.get(admission)
  if (roles === undefined) {
    const having = (key: "mutate" | "consult" | "validate") => admission.filter((plugin) => plugin[key] !== undefined)
    roles = { mutating: having("mutate"), consulted: having("consult"), validating: having("validate") }
    known.set(admission, roles)
  }
  return roles
}

/** Whether a plugin handles a request. */
const asked = ({ handles }: Plugin, attributes: Attributes): boolean => handles === undefined || handles(attributes)

const someAsked = (plugins: ReadonlyArray<Plugin>, attributes: Attributes): boolean => {
  for (const plugin of plugins) if (asked(plugin, attributes)) return true
  return false
}

const round = Effect.fnUntraced(function*(
  plugins: ReadonlyArray<Plugin>,
  attributes: Attributes,
  object: KubeObject
): Effect.fn.Return<KubeObject, Refused> {
  let current = object
  for (const plugin of plugins) {
    const now = current === attributes.object ? attributes : { ...attributes, object: current }
    if (asked(plugin, now)) current = yield* plugin.mutate!(now, current)
  }
  return current
})

const rounds = Effect.fnUntraced(function*(
  plugins: ReadonlyArray<Plugin>,
  attributes: Attributes,
  object: KubeObject
): Effect.fn.Return<KubeObject, Refused> {
  let again = false
  const notes = new Map<string, unknown>()
  const repeat = () => {
    again = true
  }
  const first = yield* round(plugins, { ...attributes, object, rounds: { number: 0, repeat, notes } }, object)
  return again
    ? yield* round(plugins, { ...attributes, object: first, rounds: { number: 1, repeat, notes } }, first)
    : first
})

/** The object after mutation, with its previous managedFields if plugins left some that cannot be read. */
const withReadableManagers = (before: KubeObject, after: KubeObject, { warn }: Attributes): KubeObject => {
  const entries = after.metadata?.managedFields
  if (entries === before.metadata?.managedFields) return after
  const read = Managers.decode(entries)
  if (Result.isSuccess(read)) return after
  warn(
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating " +
      `admission controller; please fix your requests: ${read.failure}`
  )
  const { managedFields } = before.metadata
  const own = withoutManagedFields(after)
  return managedFields === undefined ? own : { ...own, metadata: { ...own.metadata, managedFields } }
}

/** Calls every mutating plugin; the result is the mutated object. */
export const admit = (
  core: Chain,
  attributes: Attributes,
  object: KubeObject
): Effect.Effect<KubeObject, Refused> =>
  Effect.suspend(() => {
    const fault = namespaceFault(core, attributes)
    if (fault !== undefined) return Effect.fail(fault)
    const { mutating } = rolesOf(core)
    // If no plugin handles the request, none changes the object in a way that another would handle.
    return someAsked(mutating, attributes)
      ? Effect.map(rounds(mutating, attributes, object), (made) => withReadableManagers(object, made, attributes))
      : Effect.succeed(object)
  })

/** Calls plugins in order until one refuses. */
const ask = Effect.fnUntraced(function*(
  plugins: ReadonlyArray<Plugin>,
  role: "consult" | "validate",
  attributes: Attributes
): Effect.fn.Return<void, Refused> {
  for (const plugin of plugins) if (asked(plugin, attributes)) yield* plugin[role]!(attributes)
})

/** Calls every validating plugin, on the final object or for a deletion. */
export const review = (core: Chain, attributes: Attributes): Effect.Effect<void, Refused> =>
  Effect.suspend(() => {
    const { consulted, validating } = rolesOf(core)
    const validated = someAsked(validating, attributes) ? ask(validating, "validate", attributes) : Effect.void
    if (attributes.operation !== "DELETE") return validated
    const fault = namespaceFault(core, attributes)
    if (fault !== undefined) return Effect.fail(fault)
    return someAsked(consulted, attributes)
      ? Effect.andThen(ask(consulted, "consult", attributes), validated)
      : validated
  })
