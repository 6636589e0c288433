/**
 * The condition `Stalled`: it shows on an object that was given up, until that is reconciled again.
 *
 * Only a custom resource whose status Schema has `conditions`, and which is cached whole, can show it. Nothing is lost
 * by it: the conditions are written under the resourceVersion at which they were read, and a lost race with another
 * writer is retried.
 *
 * Several controllers of a kind share this condition. The first to give up writes it, with its name before the message.
 * The others neither replace nor remove it as long as it is for the object's current generation: each write wakes all
 * of them, so they would undo each other's forever.
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
  // Conditions that the cache drops would be lost.
  if (resource.partial === true) return false
  const status: unknown = (resource as Partial<CustomResource>).schemas?.status
  return typeof status === "object" || typeof status === "function"
    ? "conditions" in ((status as { readonly fields?: object }).fields ?? {})
    : false
}

/** The prefix of a message, which says whose it is. */
const signature = (controller: string): string => `${controller}: `

const signed = (signature: string, message: string): string => `${signature}${message}`.slice(0, longest)

/** Whether another controller wrote the condition, for the object's current generation. */
const isOfAnother = (said: Conditions.Condition | undefined, object: KubeObject, controller: string): boolean =>
  said?.status === "True" && said.observedGeneration === object.metadata.generation &&
  !said.message.startsWith(signature(controller))

/** Whether the object shows that it was given up, and this controller may remove that. */
export const says = (object: KubeObject, controller: string): boolean => {
  const said = Conditions.get(conditionsOf(object), type)
  return said?.status === "True" && !isOfAnother(said, object, controller)
}

/** Whether the object shows just this, for its current generation, whichever controller wrote it. */
export const saysSo = (object: KubeObject, reason: Reason, message: string): boolean => {
  const said = Conditions.get(conditionsOf(object), type)
  return said?.status === "True" && said.reason === reason &&
    said.message === signed(/^[-a-z0-9]+: /.exec(said.message)?.[0] ?? "", message) &&
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
export const say = <E>(resource: Resource.Any, find: Find<E>, controller: string, reason: Reason, why: string) =>
  write(resource, find, (object, said) => {
    const message = signed(signature(controller), why)
    return isOfAnother(Conditions.get(said, type), object, controller)
      ? Effect.succeed(said)
      : Conditions.state(object, said, { type, status: true, reason, message })
  })

/** Removes the condition. */
export const takeBack = <E>(resource: Resource.Any, find: Find<E>, controller: string) =>
  write(
    resource,
    find,
    (object, said) =>
      Effect.succeed(said !== undefined && says(object, controller) ? Conditions.remove(said, type) : said)
  )

/** Remedies if the server rejects the condition of every object. */
const remedies: Partial<Record<KubeError["reason"]["_tag"], string>> = {
  Invalid:
    "make every field of the status Schema optional (Schema.optionalKey), since an object may have none of them yet",
  Forbidden: "allow the operator to patch the status: write its manifests again and apply them"
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
        `the condition ${type} of a ${resource.kind} was refused: ${reason._tag}: ${reason.message}: ${remedy}`
      )
    })
}
