/**
 * `Triggers`: which owners to sync after a change: of the owner itself, of what it owns or owned, and of objects
 * without a controller that match its selector.
 *
 * Source: the event handlers of k8s.io/kubernetes/pkg/controller/replicaset/replica_set.go.
 */
import { controllerOf, isTerminating, keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import type { Agenda } from "./Agenda.ts"
import { matcher } from "./Claims.ts"
import type { Informer } from "./Informers.ts"

/** The key of the object's controlling owner, if it is of that kind. */
export const ownerKey = (resource: Resource.Any, object: KubeObject | undefined): string | undefined => {
  const owner = object === undefined ? undefined : controllerOf(object)
  return owner?.kind === resource.kind ? `${object!.metadata.namespace}/${owner.name}` : undefined
}

/** Schedules the owners on the agenda. */
export const wakeOwners = <O extends KubeObject, A extends KubeObject>(
  agenda: Agenda,
  resource: Resource.Any,
  owners: Informer<O>,
  owned: Informer<A>,
  selector: (owner: O) => Parameters<typeof matcher>[0]
): void => {
  owners.listen((now, before) => agenda.now(keyString((now ?? before)!)))
  owned.listen((now, before) => {
    const [owner, ownerBefore] = [ownerKey(resource, now), ownerKey(resource, before)]
    if (owner !== undefined) agenda.now(owner)
    if (ownerBefore !== undefined && ownerBefore !== owner) agenda.now(ownerBefore)
    if (now === undefined || controllerOf(now) !== undefined || isTerminating(now)) return
    for (const candidate of owners.inNamespace(now.metadata.namespace ?? "")) {
      if (matcher(selector(candidate))(now)) agenda.now(keyString(candidate))
    }
  })
}
