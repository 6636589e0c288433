/**
 * `OwnerReferences`: the optional admission plugin `OwnerReferencesPermissionEnforcement`.
 *
 * Changing the owner references of an object requires permission to delete it, since garbage collection may now do so.
 * Setting `blockOwnerDeletion` requires permission to update the `finalizers` of that owner. Creating an object
 * requires only the latter. Some clusters (OpenShift) enable it; `ApiServer` does not by default, like kube-apiserver:
 *
 * ```ts
 * ApiServer.layerOptions({ admission: [OwnerReferences.plugin] })
 * ```
 *
 * Source: k8s.io/kubernetes/plugin/pkg/admission/gc/gc_admission.go.
 */
import type { KubeObject, OwnerReference } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import type * as Admission from "../Admission.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import type { Registry, Served } from "../server/Registry.ts"
import { isMaster } from "../../api/UserInfo.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Attributes from "../../api/Attributes.ts"

const ownersOf = (object: KubeObject | undefined): ReadonlyArray<OwnerReference> =>
  object?.metadata.ownerReferences ?? []

const changesOwners = ({ object, oldObject }: Admission.Attributes): boolean =>
  !JsonValue.equals(ownersOf(object), ownersOf(oldObject))

/** References that block the deletion of their owner now, and did not before. */
const newlyBlocking = ({ object, oldObject }: Admission.Attributes): ReadonlyArray<OwnerReference> => {
  const blocking = (owner: OwnerReference) => owner.blockOwnerDeletion === true
  const before = new Set(ownersOf(oldObject).filter(blocking).map(({ uid }) => uid))
  return ownersOf(object).filter((owner) => blocking(owner) && !before.has(owner.uid))
}

/** The name of an object in refusals, also while it has none. */
const nameOf = ({ name, object }: Admission.Attributes): string =>
  name || object?.metadata.name || object?.metadata.generateName || "Unknown"

const resourcesOf = (registry: Registry, { apiVersion, kind }: OwnerReference): ReadonlyArray<Served> => {
  const slash = apiVersion.indexOf("/")
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)]
  return registry.all().filter((resource) =>
    resource.group === group && resource.version === version && resource.kind === kind
  )
}

const anyFinalizers = Attributes.resource({
  verb: "update",
  group: "*",
  resource: "*",
  subresource: "finalizers",
  name: "*"
})

/** Why a write is refused. */
const fault = (server: Admission.Server, attributes: Admission.Attributes): string | undefined => {
  const { namespace, operation, resource, subresource, user } = attributes
  const ask = (question: Attributes.Attributes) => server.authorizer.authorize(user, question)
  if (operation !== "CREATE") {
    const { group, plural, version } = resource
    const { allowed, reason } = ask(Attributes.resource({
      verb: "delete",
      group,
      version,
      resource: plural,
      subresource,
      namespace,
      name: attributes.name
    }))
    if (!allowed) return `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`
  }
  const blocking = newlyBlocking(attributes)
  if (blocking.length === 0 || ask(anyFinalizers).allowed) return undefined
  for (const owner of blocking) {
    const resources = resourcesOf(server.registry, owner)
    if (resources.length === 0) {
      const { apiVersion, kind } = owner
      return `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} ` +
        `Kind ${kind}: no matches for kind ${FieldError.quote(kind)} in version ${FieldError.quote(apiVersion)}`
    }
    for (const { group, plural, scope, version } of resources) {
      const { allowed, reason } = ask(Attributes.resource({
        verb: "update",
        group,
        version,
        resource: plural,
        subresource: "finalizers",
        // The owner of a namespaced object is in the same namespace, if it is namespaced.
        namespace: scope === "Namespaced" ? namespace : "",
        name: owner.name
      }))
      if (!allowed) {
        return "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: " +
          `${reason}, <nil>`
      }
    }
  }
  return undefined
}

/** The plugin, for a server. */
export const plugin = (server: Admission.Server): Admission.Plugin => ({
  name: "OwnerReferencesPermissionEnforcement",
  handles: ({ operation, resource, subresource, user }) =>
    (operation === "CREATE" || operation === "UPDATE") && !isMaster(user) &&
    // A write to a Pod's status cannot change its owners.
    !(resource.collection === "pods" && subresource === "status"),
  validate: (attributes) => {
    if (!changesOwners(attributes)) return Effect.void
    const why = fault(server, attributes)
    return why === undefined
      ? Effect.void
      : Effect.fail(StatusError.forbidden(attributes.resource, nameOf(attributes), why))
  }
})
