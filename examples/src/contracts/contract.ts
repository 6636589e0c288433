/**
 * The contract between a Machine and what it runs on, and how kinds that nobody knows yet are found and followed.
 */
import { Cache, KubeClient, type Source } from "@effect-operator/core"
import { controllerOf, keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import { CustomResourceDefinition } from "@effect-operator/k8s/kinds"
import { Effect, FiberMap, Schema, Stream } from "effect"
import { Machine } from "./resource.ts"

type Reference = Machine["spec"]["infrastructureRef"]

/** The resource of a kind that is defined in the cluster; undefined while it is not. */
export const resourceOf = Effect.fnUntraced(function*({ apiVersion, kind }: Pick<Reference, "apiVersion" | "kind">) {
  const [group = "", version = ""] = apiVersion.split("/")
  const definitions = yield* Cache.list(CustomResourceDefinition, {
    filter: ({ spec }) => spec.group === group && spec.names.kind === kind
  })
  const served = definitions.find(({ spec, status }) =>
    spec.versions.some(({ name, served }) => name === version && served) &&
    status?.conditions?.some(({ status, type }) => type === "Established" && status === "True") === true
  )
  return served === undefined
    ? undefined
    : Resource.make<KubeObject>()({ group, version, kind, plural: served.spec.names.plural, scope: "Namespaced" })
})

const Kept = Schema.Struct({
  spec: Schema.Struct({ providerID: Schema.optionalKey(Schema.NonEmptyString) }),
  status: Schema.optionalKey(Schema.Struct({ ready: Schema.Boolean }))
})

/** What the contract says of an object, or how the object breaks it. */
export const read = (object: KubeObject, machine: Machine):
  | { readonly _tag: "Broken"; readonly message: string }
  | { readonly _tag: "Kept"; readonly ready: boolean; readonly providerID: string | undefined } =>
{
  const name = `${object.kind} ${object.metadata.name}`
  const controller = controllerOf(object)
  if (controller !== undefined && controller.uid !== machine.metadata.uid) {
    return { _tag: "Broken", message: `${name} belongs to ${controller.kind} ${controller.name}` }
  }
  if (!Schema.is(Kept)(object)) {
    return { _tag: "Broken", message: `${name}: spec.providerID must be text, status.ready a boolean` }
  }
  const ready = object.status?.ready === true
  const { providerID } = object.spec
  return ready && providerID === undefined
    ? { _tag: "Broken", message: `${name} is ready and has no spec.providerID` }
    : { _tag: "Kept", ready, providerID }
}

/** How long until a watch that ended begins anew. */
const pause = "1 second"

const idOf = ({ apiVersion, kind }: Reference) => `${kind}.${apiVersion}`

/** Wakes the owners of a kind's objects, as long as it runs; waits while the kind is not there. */
const follow = (reference: Reference, emit: Source.Emit) => {
  // A watch that the server ended goes on where it was; one that failed begins anew.
  let resourceVersion: string | undefined
  return Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const resource = yield* resourceOf(reference)
    if (resource === undefined) return
    yield* Stream.runForEach(client.watch(resource, { resourceVersion }), (event) =>
      Effect.sync(() => {
        resourceVersion = event.object.metadata.resourceVersion
        const owner = event.type === "BOOKMARK" ? undefined : controllerOf(event.object)
        if (event.type === "BOOKMARK" || owner?.kind !== Machine.kind) return
        emit({ namespace: event.object.metadata.namespace, name: owner.name })
      }))
  }).pipe(
    Effect.catchTag("KubeError", (error) => {
      resourceVersion = undefined
      return Effect.logDebug("a watch of infrastructure ended", error)
    }),
    Effect.andThen(Effect.sleep(pause)),
    Effect.forever
  )
}

/** Follows the kinds that Machines refer to: a watch begins with the first reference to a kind, and ends with the last. */
export const infrastructure = {
  name: "infrastructure",
  run: (emit: Source.Emit) =>
    Effect.scoped(Effect.gen(function*() {
      const watches = yield* FiberMap.make<string>()
      const referred = new Map<string, Reference>()
      yield* Stream.runForEach(Cache.changes(Machine), (change) => {
        if (change._tag === "Snapshot") { for (const machine of change.objects) note(referred, machine) }
        else if (change._tag === "Deleted") referred.delete(keyString(change.object))
        else note(referred, change.object)
        const wanted = new Map([...referred.values()].map((reference) => [idOf(reference), reference]))
        return Effect.gen(function*() {
          const ended = Array.from(watches, ([id]) => id).filter((id) => !wanted.has(id))
          for (const id of ended) yield* FiberMap.remove(watches, id)
          for (const [id, reference] of wanted) {
            yield* FiberMap.run(watches, id, follow(reference, emit), { onlyIfMissing: true })
          }
        })
      })
    }))
}

const note = (referred: Map<string, Reference>, machine: Machine) =>
  referred.set(keyString(machine), machine.spec.infrastructureRef)
