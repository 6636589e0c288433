/**
 * `Webhooks`: the admission plugins that call webhooks.
 *
 * Mutating webhooks are called one after the other, each with the result of the previous one. The reinvocation calls
 * only those that were called before, have the reinvocation policy `IfNeeded`, and after which the object was changed.
 * Validating webhooks are called concurrently; if several refuse, the first in order is reported.
 *
 * A patched object gets defaults again. Of built-in kinds, unknown fields are dropped; custom objects keep them until
 * they are read from the store, so later webhooks see them.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/webhook/{generic,mutating,validating}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Negotiation from "../../api/Negotiation.ts"
import { asObject, objectAt, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as JsonPatch from "../../api/patch/JsonPatch.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import type * as Admission from "../Admission.ts"
import { apiVersionOf, type Served } from "../server/Registry.ts"
import * as Versions from "../server/verbs/Versions.ts"
import * as AdmissionReview from "./AdmissionReview.ts"
import * as CelVariables from "./CelVariables.ts"
import * as Matching from "./Matching.ts"
import * as WebhookCall from "./WebhookCall.ts"
import * as WebhookHooks from "./WebhookHooks.ts"

const group = "admissionregistration.k8s.io"

/** An object of a request, converted to the resource of a rule. A Scale and the like are the same in every version. */
const converted = (
  from: Served,
  to: Served,
  subresource: string,
  object: KubeObject | undefined
): Effect.Effect<KubeObject | undefined, StatusError.StatusError> =>
  object === undefined || from === to || !Matching.bringsObjects(to, subresource)
    ? Effect.succeed(object)
    : Versions.between(from, to, object)

/** The error for an object that cannot be converted for a hook, whatever its failure policy. */
type Unconverted = (error: StatusError.StatusError) => StatusError.StatusError

const internal: Unconverted = ({ body }) => StatusError.internal(body.message ?? "")

/** The request in the view of a hook; undefined if it does not match. */
const seenBy = Effect.fnUntraced(function*(
  server: Admission.Server,
  hook: WebhookHooks.Hook,
  attributes: Admission.Attributes,
  unconverted: Unconverted
) {
  const inNamespace = Matching.namespaceMatches(hook.namespaces, attributes, server)
  if (Result.isSuccess(inNamespace) && !inNamespace.success) return undefined
  if (!Matching.objectMatches(hook.objects, attributes)) return undefined
  const invocation = Matching.invocation(hook.rules, hook.equivalent, attributes, server)
  if (invocation === undefined) return undefined
  if (Result.isFailure(inNamespace)) return yield* Effect.fail(inNamespace.failure)
  const { kind, resource } = invocation
  const { resource: own, subresource } = attributes
  const shown = (object: KubeObject | undefined) =>
    Effect.mapError(converted(own, resource, subresource, object), unconverted)
  const seen: AdmissionReview.Seen = {
    attributes,
    kind,
    resource,
    // The old object is converted first.
    oldObject: yield* shown(attributes.oldObject),
    object: yield* shown(attributes.object)
  }
  const match = hook.conditions?.(CelVariables.make(server, seen))
  if (match?._tag === "Failed") {
    return yield* Effect.fail(StatusError.forbidden(own, attributes.name, match.message))
  }
  return match?._tag === "Differs" ? undefined : seen
})

const wrongType = (value: unknown, type: string): string =>
  `json: cannot unmarshal ${Negotiation.jsonType(value)} into Go value of type jsonpatch.${type}`

/** The operations of a JSON patch, or why it is invalid. */
const operations = (text: string): Result.Result<ReadonlyArray<unknown>, string> =>
  Result.flatMap(Negotiation.decode("json", text), (value) => {
    const list = value ?? []
    if (!JsonValue.isArray(list)) return Result.fail(wrongType(list, "Patch"))
    const strange = list.find((item) => item !== null && !JsonValue.isObject(item))
    return strange === undefined ? Result.succeed(list) : Result.fail(wrongType(strange, "Operation"))
  })

/** The object after the patch in a response. */
const patched = (
  server: Admission.Server,
  hook: WebhookHooks.Hook,
  seen: AdmissionReview.Seen,
  { patch, patchType }: AdmissionReview.Response
): Effect.Effect<KubeObject | undefined, WebhookCall.Failure> => {
  if (patch === "") return Effect.succeed(seen.object)
  const fail = (why: string) => Effect.fail(new WebhookCall.CallFailed({ hook: hook.name, why }))
  const refuse = (why: string) => Effect.fail(new WebhookCall.Refused({ error: StatusError.internal(why) }))
  const parsed = operations(patch)
  if (Result.isFailure(parsed)) return fail(`received undecodable patch in webhook response: ${parsed.failure}`)
  if (parsed.success.length === 0) return Effect.succeed(seen.object)
  if (seen.object === undefined) {
    return refuse(
      `admission webhook ${FieldError.quote(hook.name)} attempted to modify the object, which is not supported for ` +
        "this operation"
    )
  }
  if (patchType !== "JSONPatch") return fail(`unsupported patch type ${FieldError.quote(patchType)}`)
  const applied = JsonPatch.apply(seen.object, parsed.success)
  if (Result.isFailure(applied)) return refuse(applied.failure.message)
  return read(server, seen, applied.success)
}

const scheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"

/** Why a custom object whose apiVersion changed cannot be converted back. */
const unconvertible = (kind: Admission.Kind, apiVersion: string, name: string): string =>
  apiVersion.startsWith(`${kind.group}/`)
    ? `request to convert CR from an invalid group/version: ${apiVersion}`
    : `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${name} is unstructured and is not suitable for ` +
      `converting to ${FieldError.quote(apiVersionOf(kind))}`

/** The fault of a patched object whose kind or version changed. */
const kindFault = (
  { kind, resource }: AdmissionReview.Seen,
  { registry }: Admission.Server,
  value: JsonValue.JsonObject
): StatusError.StatusError | undefined => {
  const own = apiVersionOf(kind)
  const apiVersion = stringAt(value, "apiVersion") || own
  const name = stringAt(value, "kind") || kind.kind
  if (apiVersion === own && name === kind.kind) return undefined
  if (resource.custom !== undefined) {
    if (apiVersion !== own) return StatusError.plain(unconvertible(kind, apiVersion, name))
    // Any object can be decoded as a custom one; validation checks its kind.
    return StatusError.invalid(name, kind.group, stringAt(value, "metadata", "name"), [
      FieldError.invalid("kind", name, `must be ${kind.kind}`)
    ])
  }
  const known = registry.all().some((served) => served.kind === name && apiVersionOf(served) === apiVersion)
  const group = kind.group === "" ? "core" : kind.group.split(".")[0]
  return known
    ? StatusError.plain(
      `converting (${apiVersion.split("/").at(-1)}.${name}) to (${group}.${kind.kind}): unknown conversion`
    )
    : StatusError.internal(
      `no kind ${FieldError.quote(name)} is registered for version ${FieldError.quote(apiVersion)} in scheme ` +
        FieldError.quote(scheme)
    )
}

/** Decodes a patched object as its kind. */
const read = (
  server: Admission.Server,
  seen: AdmissionReview.Seen,
  value: unknown
): Effect.Effect<KubeObject, WebhookCall.Failure> => {
  const { kind, resource } = seen
  const refuse = (error: StatusError.StatusError) => Effect.fail(new WebhookCall.Refused({ error }))
  if (!JsonValue.isObject(value)) {
    return refuse(StatusError.internal(`couldn't get version/kind; json parse error: ${Negotiation.noObject(value)}`))
  }
  const fault = kindFault(seen, server, value)
  if (fault !== undefined) return refuse(fault)
  const typed = { ...value, apiVersion: apiVersionOf(kind), kind: kind.kind }
  if (!Matching.bringsObjects(resource, seen.attributes.subresource)) return Effect.succeed(asObject(typed))
  const decoded = resource.adopt({ ...typed, metadata: objectAt(value, "metadata") })
  if (Result.isSuccess(decoded)) return Effect.succeed(asObject(decoded.success))
  const { message = "" } = decoded.failure.body
  const said = `cannot be handled as a ${kind.kind}: `
  return refuse(StatusError.internal(message.slice(Math.max(0, message.indexOf(said) + said.length))))
}

const callers = Effect.fnUntraced(function*(
  server: Admission.Server,
  hooks: ReadonlyArray<WebhookHooks.Hook>,
  attributes: Admission.Attributes
) {
  const called: Array<readonly [WebhookHooks.Hook, AdmissionReview.Seen]> = []
  for (const hook of hooks) {
    const seen = yield* seenBy(server, hook, attributes, internal)
    if (seen !== undefined) called.push([hook, seen])
  }
  return called
})

const refusal = (failure: WebhookCall.Failure): StatusError.StatusError =>
  failure._tag === "CallFailed" ? failure.refusal : failure.error

const forgiven = (hook: WebhookHooks.Hook, failure: WebhookCall.Failure): boolean =>
  failure._tag === "CallFailed" && hook.ignoresFailure

/** The state of mutating webhooks between the two rounds. */
interface Notes {
  /** Webhooks that were called, and will be called again if the object changes after them. */
  waiting: Set<string>
  /** Webhooks that are called in the second round. */
  readonly again: Set<string>
  /** The object after the first round. */
  last: KubeObject | undefined
}

const wake = (notes: Notes): void => {
  for (const id of notes.waiting) notes.again.add(id)
  notes.waiting = new Set()
}

/** `MutatingAdmissionWebhook`. */
export const mutating = (server: Admission.Server): Admission.Plugin => {
  const name = "MutatingAdmissionWebhook"
  const hooks = WebhookHooks.make(server.storage, `mutatingwebhookconfigurations.${group}`)

  const notesOf = ({ rounds }: Admission.Attributes): Notes => {
    let notes = rounds.notes.get(name) as Notes | undefined
    if (notes === undefined) {
      notes = { waiting: new Set(), again: new Set(), last: undefined }
      rounds.notes.set(name, notes)
    }
    return notes
  }

  const run = Effect.fnUntraced(function*(attributes: Admission.Attributes) {
    const notes = notesOf(attributes)
    const second = attributes.rounds.number === 1
    if (second && !JsonValue.equals(notes.last, attributes.object)) wake(notes)
    let current = attributes.object
    for (const hook of hooks()) {
      // A real server wraps this error twice.
      const seen = yield* seenBy(server, hook, { ...attributes, object: current }, (error) => internal(internal(error)))
      if (seen === undefined || (second && !notes.again.has(hook.id))) continue
      const asked = WebhookCall.ask(server.backends, hook, true, seen).pipe(
        Effect.tap((response) => WebhookCall.settle(hook, attributes, response)),
        Effect.flatMap((response) => patched(server, hook, seen, response))
      )
      const result = yield* Effect.result(asked)
      if (Result.isFailure(result)) {
        if (!forgiven(hook, result.failure)) return yield* Effect.fail(refusal(result.failure))
      } else if (!JsonValue.equals(result.success, seen.object)) {
        current = yield* converted(seen.resource, attributes.resource, attributes.subresource, result.success)
        wake(notes)
        attributes.rounds.repeat()
      }
      if (hook.reinvocable) notes.waiting.add(hook.id)
    }
    notes.last = current
    return current
  })

  return {
    name,
    handles: (attributes) => hooks().length > 0 && !Matching.isExempt(attributes),
    mutate: (attributes, object) => Effect.map(run(attributes), (changed) => changed ?? object),
    consult: (attributes) => Effect.asVoid(run(attributes))
  }
}

/** `ValidatingAdmissionWebhook`. */
export const validating = (server: Admission.Server): Admission.Plugin => {
  const hooks = WebhookHooks.make(server.storage, `validatingwebhookconfigurations.${group}`)
  return {
    name: "ValidatingAdmissionWebhook",
    handles: (attributes) => hooks().length > 0 && !Matching.isExempt(attributes),
    validate: Effect.fnUntraced(function*(attributes) {
      const called = yield* callers(server, hooks(), attributes)
      const answers = yield* Effect.forEach(
        called,
        ([hook, seen]) =>
          Effect.map(
            Effect.result(WebhookCall.ask(server.backends, hook, false, seen)),
            (answer) => ({ hook, answer })
          ),
        { concurrency: "unbounded" }
      )
      // Warnings are in the order of the webhooks, whichever answered first.
      const failures = yield* Effect.forEach(answers, ({ answer, hook }) =>
        Effect.fromResult(answer).pipe(
          Effect.flatMap((response) => WebhookCall.settle(hook, attributes, response)),
          Effect.as(undefined),
          Effect.catch((failure) => Effect.succeed(forgiven(hook, failure) ? undefined : refusal(failure)))
        ))
      const first = failures.find((failure) => failure !== undefined)
      if (first !== undefined) return yield* Effect.fail(first)
    })
  }
}
