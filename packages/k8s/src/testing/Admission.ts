/**
 * `Admission`: the plugins between an accepted request and the store, which may change or refuse it.
 *
 * Plugins are called in order: first all `mutate`, on what the client sent (defaulted, but without the fields that the
 * server itself fills in), then, on the final and valid object, all `validate`. They see the object in the version of
 * the request. A plugin that changes the object late may ask for a second round, in which every plugin is called once
 * more. The namespace lifecycle is always first; `admission/Plugins` lists the other plugins of a server.
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

/** What plugins may use of the server they belong to. */
export type Server = Pick<Exchange.Core, "storage" | "registry" | "backends" | "authorizer">

/** What admission needs of a server. */
export type Chain = Pick<Exchange.Core, "storage" | "admission">

const noRounds: Rounds = { number: 0, repeat: () => undefined, notes: new Map() }

/** The options of a create or update as its query has them. */
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

/** A request as admission sees it. What is not given is the request's own. */
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

/** The name of an object, or what stands for it before it has one. */
const nameOf = ({ name, object }: Attributes): string =>
  name || object?.metadata?.name || object?.metadata?.generateName || "Unknown"

/** 403 of a plugin: `pods "x" is forbidden: why`. */
export const forbidden = (attributes: Attributes, why: string): StatusError.StatusError =>
  StatusError.forbidden(attributes.resource, nameOf(attributes), why)

/** Whether somebody may do something can be asked of any namespace. */
const localReviews = "localsubjectaccessreviews.authorization.k8s.io"

/** Namespaces that cannot be deleted. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

/** Nothing is created in a namespace that is not there, or going. */
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

/** Plugins by what they are asked, in order; worked out once per chain. */
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

/** Whether a plugin is to be asked. */
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

/** An object that plugins have made, with the managers it had before where they left nothing that can be read. */
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

/** Asks every mutating plugin; the result is the object to go on with. */
export const admit = (
  core: Chain,
  attributes: Attributes,
  object: KubeObject
): Effect.Effect<KubeObject, Refused> =>
  Effect.suspend(() => {
    const fault = namespaceFault(core, attributes)
    if (fault !== undefined) return Effect.fail(fault)
    const { mutating } = rolesOf(core)
    // Where no plugin has anything to say, none changes the object so that another would have.
    return someAsked(mutating, attributes)
      ? Effect.map(rounds(mutating, attributes, object), (made) => withReadableManagers(object, made, attributes))
      : Effect.succeed(object)
  })

/** Asks plugins one after the other, until one refuses. */
const ask = Effect.fnUntraced(function*(
  plugins: ReadonlyArray<Plugin>,
  role: "consult" | "validate",
  attributes: Attributes
): Effect.fn.Return<void, Refused> {
  for (const plugin of plugins) if (asked(plugin, attributes)) yield* plugin[role]!(attributes)
})

/** Asks every plugin about the final object, or about a deletion. */
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
