/**
 * The contract between a Machine and its infrastructure, and how kinds that are not known in advance are found and
 * watched.
 */
import { Cache, Watch } from "@effect-operator/core"
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import { CustomResourceDefinition } from "@effect-operator/k8s/kinds"
import { Effect, Schema, Stream } from "effect"
import { Machine } from "./resource.ts"

type Reference = Machine["spec"]["infrastructureRef"]

/** The resource of a kind that is defined in the cluster; undefined if it is not defined. */
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
    : Resource.make<KubeObject>()({
      group,
      version,
      kind,
      plural: served.spec.names.plural,
      scope: served.spec.scope === "Cluster" ? "Cluster" : "Namespaced"
    })
})

const Kept = Schema.Struct({
  spec: Schema.Struct({ providerID: Schema.optionalKey(Schema.NonEmptyString) }),
  status: Schema.optionalKey(Schema.Struct({ ready: Schema.Boolean }))
})

/** What the contract's fields of an object say, or how the object breaks the contract. */
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

/** The existing kinds that Machines refer to: each is watched from the first reference to the last. */
export const infrastructure = Stream.merge(Cache.changes(Machine), Cache.changes(CustomResourceDefinition)).pipe(
  // Every change reads all Machines, so of pending changes only the last one is needed.
  Stream.buffer({ capacity: 1, strategy: "sliding" }),
  Stream.mapEffect(() => Cache.list(Machine)),
  Stream.mapEffect((machines) => {
    const references = new Map(machines.map(({ spec }) => [idOf(spec.infrastructureRef), spec.infrastructureRef]))
    return Effect.forEach(references.values(), resourceOf)
  }),
  Stream.map((resources) =>
    resources.flatMap((resource) => resource === undefined ? [] : [Watch.owned(resource, Machine)])
  )
)

const idOf = ({ apiVersion, kind }: Reference) => `${kind}.${apiVersion}`
