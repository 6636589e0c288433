/** `Another`: somebody creates a second custom resource like an existing one, and deletes it again. */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import type { Scenario, Step } from "../Scenario.ts"
import { type Recording, seen } from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import { declaredOf } from "./Others.ts"

/** The name of the second object. */
export const nameOf = ({ metadata }: KubeObject): string => `${metadata.name}-too`

/** The steps that create an object like a custom resource, and delete it when everything has come to rest. */
export const steps = (
  resources: Scenario["resources"],
  object: KubeObject,
  entries: Recording
): ReadonlyArray<Step> => {
  const declared = declaredOf(resources, object)
  if (declared === undefined) return []
  const { group, kind, plural, scope, version } = declared
  const resource = Resource.make<KubeObject>()({ group, version, kind, plural, scope })
  const { metadata: { namespace, uid }, spec } = object as KubeObject & { readonly spec?: unknown }
  // What the operator has written on the object since is not copied.
  const first = seen(entries).find(({ metadata }) => metadata.uid === uid)?.metadata
  const ref = { ...(namespace === undefined ? {} : { namespace }), name: nameOf(object) }
  const metadata = { ...ref, labels: first?.labels, annotations: first?.annotations }
  const like: Resource.Input<KubeObject & { readonly spec?: unknown }> = { metadata, spec }
  return [
    { name: `another one like ${name(object)}`, act: KubeClient.use((client) => client.create(resource, like)) },
    { name: "it goes again", act: Effect.ignore(KubeClient.use((client) => client.delete(resource, ref))) }
  ]
}
