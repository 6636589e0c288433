/**
 * The condition `Stalled`: it shows on an object that was given up, until that is reconciled again.
 *
 * Only a custom resource whose status Schema has `conditions` can show it. Nothing is lost by it: the conditions are
 * written under the resourceVersion at which they were read, and a lost race with another writer is retried.
 *
 * Source: sigs.k8s.io/cli-utils, pkg/kstatus, "The conditions".
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Conditions from "../Conditions.ts"
import type { CustomResource } from "../CustomResource.ts"
import { KubeClient, Patch } from "../KubeClient.ts"
import { KubeError } from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"

const type = "Stalled"

/** Maximum length of the message, in characters; the API's own limit is 32,768. */
const longest = 1024

/** Why an object was given up, in one word. */
export type Reason = "RetriesExhausted" | "Terminal" | "Invalid"

/** Retries after a lost race, with delays: a watch has to show what it lost to. */
const races = { times: 5, schedule: Schedule.exponential("20 millis") } as const

type Said = ReadonlyArray<Conditions.Condition> | undefined

const found = (object: KubeObject): unknown =>
  (object as { readonly status?: { readonly conditions?: unknown } | null }).status?.conditions

const isCondition = (value: unknown): value is Conditions.Condition => typeof value === "object" && value !== null

/** The conditions of an object, if it has a list of them: the object may be one that does not decode. */
const conditionsOf = (object: KubeObject): Said => {
  const conditions = found(object)
  return Array.isArray(conditions) && conditions.every(isCondition) ? conditions : undefined
}

/** Whether objects of the resource have conditions. */
export const canSay = (resource: Resource.Any): boolean => {
  const status: unknown = (resource as Partial<CustomResource>).schemas?.status
  return typeof status === "object" || typeof status === "function"
    ? "conditions" in ((status as { readonly fields?: object }).fields ?? {})
    : false
}

/** Whether the object shows that it was given up. */
export const says = (object: KubeObject): boolean => Conditions.isTrue(conditionsOf(object), type)

/** Whether the object shows just this, for its current generation. */
export const saysSo = (object: KubeObject, reason: Reason, message: string): boolean => {
  const said = Conditions.get(conditionsOf(object), type)
  return said?.status === "True" && said.reason === reason && said.message === message.slice(0, longest) &&
    said.observedGeneration === object.metadata.generation
}

/** The current object, no older than own writes; undefined if it is gone. */
type Find<E> = Effect.Effect<KubeObject | undefined, E>

const write = <E>(
  resource: Resource.Any,
  find: Find<E>,
  change: (object: KubeObject, said: Said) => Effect.Effect<Said>
): Effect.Effect<void, E | KubeError, KubeClient> =>
  Effect.gen(function*() {
    const object = yield* find
    if (object === undefined) return
    const said = conditionsOf(object)
    // Something other than conditions is in their place.
    if (said === undefined && found(object) !== undefined) return
    const conditions = yield* change(object, said)
    if (conditions === said) return
    const { resourceVersion } = object.metadata
    const patch = Patch.merge({ metadata: { resourceVersion }, status: { conditions } })
    yield* KubeClient.use((client) => client.patch(resource, object, patch, { subresource: "status" }))
  }).pipe(Effect.retry({ ...races, while: isRace }))

const isRace = (error: unknown): boolean =>
  (error as { readonly reason?: { readonly _tag?: string } }).reason?._tag === "Conflict"

/** Shows on the object that it was given up, and why. */
export const say = <E>(resource: Resource.Any, find: Find<E>, reason: Reason, message: string) =>
  write(
    resource,
    find,
    (object, said) => Conditions.state(object, said, { type, status: true, reason, message: message.slice(0, longest) })
  )

/** Removes the condition. */
export const takeBack = <E>(resource: Resource.Any, find: Find<E>) =>
  write(resource, find, (_, said) => Effect.succeed(said === undefined ? said : Conditions.remove(said, type)))

/** Remedies if the server rejects the condition of every object. */
const remedies: Partial<Record<KubeError["reason"]["_tag"], string>> = {
  Invalid:
    "make every field of the status Schema optional (Schema.optionalKey), since an object may have none of them yet",
  Forbidden: "let the operator patch the status: its manifests do, once they are written and applied again"
}

/**
 * Reports that a condition could not be written. A rejection that all objects will get is reported once, with a remedy.
 */
export const teller = (resource: Resource.Any) => {
  const told = new Set<string>()
  return (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      const reason = error instanceof KubeError ? error.reason : undefined
      const remedy = reason === undefined ? undefined : remedies[reason._tag]
      if (reason === undefined || remedy === undefined || told.has(reason._tag)) {
        return Effect.logDebug(`the condition ${type} could not be written`, cause)
      }
      told.add(reason._tag)
      return Effect.logWarning(
        `the condition ${type} of a ${resource.kind} is refused: ${reason._tag}: ${reason.message}: ${remedy}`
      )
    })
}
