/**
 * `NamespaceController`: empties a Namespace that is being deleted, then finalizes it.
 *
 * `delay` after the deletion request, the Pods of the Namespace are deleted. When the last Pod is gone, everything else
 * follows, so that no Pod runs without the objects that protect it (a NetworkPolicy). Once there are no Pods, the
 * Namespace's conditions report what is left and what holds it. When nothing is left, the finalizer `kubernetes` is
 * removed from its spec, which ends it. While objects wait for finalizers or grace periods, the conditions are updated
 * at most once a second.
 *
 * Objects of aggregated API servers are deleted, too. While one of those servers cannot be discovered, the Namespace
 * stays.
 *
 * Not simulated: the second check that a real controller makes before it considers a namespace empty.
 *
 * Source: k8s.io/kubernetes/pkg/controller/namespace/deletion (`OrderedNamespaceDeletion`, on since 1.33); texts
 * compared with a kube-controller-manager 1.20.2.
 */
import { FieldManager, KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Namespace, type NamespaceCondition, Pod } from "../kinds/core.v1.ts"
import * as Agenda from "./sim/Agenda.ts"
import { ApiServer } from "./ApiServer.ts"
import { timestamp } from "./server/Exchange.ts"
import * as Inventory from "./sim/Inventory.ts"
import * as RemoteContent from "./sim/RemoteContent.ts"

export const defaults = {
  /** How long a real controller waits, so that every API server has noticed the deletion. */
  delay: "5 seconds",
  /** The minimum time between two updates of the conditions, in milliseconds. */
  refreshMillis: 1000,
  /** The time before aggregated API servers are asked again what is left, in milliseconds. */
  retryMillis: 2000
} as const

export interface Options {
  readonly delay?: Duration.Input | undefined
}

/** Drains the namespaces of the server until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<never, never, ApiServer | KubeClient> =>
  Layer.effectDiscard(run(options))

const finalizer = "kubernetes"

interface Item {
  readonly resource: Resource.Any
  readonly object: KubeObject
}

/** The objects in a namespace. */
type Content = ReadonlyArray<Item>

const isPod = ({ resource }: Item): boolean => resource.id === Pod.id

/** True if a deleted object waits for finalizers or its grace period. */
const isHeld = ({ metadata: { deletionGracePeriodSeconds, finalizers } }: KubeObject): boolean =>
  (finalizers ?? []).length > 0 || (deletionGracePeriodSeconds ?? 0) > 0

const run = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<void, never, ApiServer | KubeClient | Scope.Scope> {
  const client = yield* KubeClient
  const server = yield* ApiServer
  const clock = yield* Clock.Clock
  const delay = Duration.toMillis(Duration.fromInputUnsafe(options.delay ?? defaults.delay))
  const namespaces = new Map<string, Namespace>()
  /** Content by namespace, then by uid. */
  const contents = new Map<string, Map<string, Item>>()
  /** When each terminating namespace is synced next. */
  const due = new Map<string, number>()

  const now = () => clock.currentTimeMillisUnsafe()

  const setConditions = (
    namespace: Namespace,
    content: Content,
    remote: RemoteContent.RemoteContent
  ): Effect.Effect<Namespace, KubeError> => {
    const conditions = conditionsOf(namespace, content, remote, timestamp(now()))
    if (conditions === namespace.status?.conditions) return Effect.succeed(namespace)
    const { resourceVersion, uid } = namespace.metadata
    const patch = Patch.merge({ metadata: { resourceVersion, uid }, status: { conditions } })
    return client.patch(Namespace, namespace, patch, { subresource: "status" })
  }

  const finalize = (namespace: Namespace) =>
    client.replace(Namespace, {
      ...namespace,
      spec: { ...namespace.spec, finalizers: namespace.spec?.finalizers?.filter((name) => name !== finalizer) ?? [] }
    }, { subresource: "finalize" })

  /** Deletes an object; returns what is left of it. The event of the deletion may still be on its way. */
  const remove = ({ object, resource }: Item): Effect.Effect<ReadonlyArray<Item>, KubeError> =>
    client.delete(resource, object, { propagationPolicy: "Background" }).pipe(
      Effect.map((deletion) =>
        deletion._tag === "Deleted" || !isHeld(deletion.object) ? [] : [{ resource, object: deletion.object }]
      ),
      Effect.catchReason("KubeError", "NotFound", () => Effect.succeed([]))
    )

  /** Deletes what is not being deleted yet; returns what is left. */
  const clear = (items: Content): Effect.Effect<Content, KubeError> =>
    Effect.map(
      Effect.forEach(items, (item) => isTerminating(item.object) ? Effect.succeed([item]) : remove(item), {
        concurrency: Agenda.defaults.concurrency
      }),
      (left) => left.flat()
    )

  const work = Effect.fnUntraced(function*(name: string): Effect.fn.Return<void, KubeError> {
    const namespace = namespaces.get(name)
    const time = due.get(name)
    if (namespace === undefined || time === undefined) return
    if (time > now()) return agenda.at(name, time)
    const items = [...(contents.get(name) ?? new Map<string, Item>()).values()]
    const pods = yield* clear(items.filter(isPod))
    // A real controller counts what is left only once there are no Pods.
    if (pods.length > 0) return yield* Effect.asVoid(setConditions(namespace, [], RemoteContent.nothing))
    const content = yield* clear(items.filter((item) => !isPod(item)))
    // What stays for now is synced again at its last event.
    const remote = yield* Effect.provideService(RemoteContent.drain(name), ApiServer, server)
    const updated = yield* setConditions(namespace, content, remote)
    if (remote.failing.length > 0 || remote.resources.length > 0) return agenda.soon(name, now() + defaults.retryMillis)
    if (content.length === 0) yield* Effect.asVoid(finalize(updated))
  }, (effect) =>
    effect.pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.void),
      Effect.provideService(FieldManager, "kube-controller-manager")
    ))

  const agenda = yield* Agenda.make(work)

  /** The content of a namespace changed: syncs it at once if it is now empty. */
  const changed = (name: string): void => {
    const time = due.get(name)
    if (time === undefined || time > now()) return
    if ((contents.get(name)?.size ?? 0) === 0) agenda.now(name)
    else agenda.soon(name, now() + defaults.refreshMillis)
  }

  const onNamespace = (namespace: Namespace): void => {
    const { name } = namespace.metadata
    const drains = isTerminating(namespace) && namespace.spec?.finalizers?.includes(finalizer) === true
    if (!drains) return
    const known = namespaces.get(name)?.metadata.uid === namespace.metadata.uid
    namespaces.set(name, namespace)
    if (known) return
    due.set(name, now() + delay)
    agenda.at(name, now() + delay)
  }

  yield* Inventory.follow({
    onPresent: (resource, object) => {
      const { namespace, uid } = object.metadata
      if (namespace === undefined) {
        if (resource.id === Namespace.id) onNamespace(object as Namespace)
        return
      }
      let content = contents.get(namespace)
      if (content === undefined) contents.set(namespace, content = new Map())
      content.set(uid, { resource, object })
      changed(namespace)
    },
    onGone: (resource, object) => {
      const { name, namespace, uid } = object.metadata
      if (namespace === undefined) {
        if (resource.id !== Namespace.id) return
        namespaces.delete(name)
        due.delete(name)
        agenda.forget(name)
        return
      }
      const content = contents.get(namespace)
      content?.delete(uid)
      if (content?.size === 0) contents.delete(namespace)
      changed(namespace)
    }
  })
})

type Condition = Omit<NamespaceCondition, "lastTransitionTime">

/** The number of each, as `x has N y`, in alphabetical order. */
const count = (names: ReadonlyArray<string>, phrase: (name: string, count: number) => string): string => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, number]) => phrase(name, number)).sort().join(", ")
}

const wanted = (content: Content, remote: RemoteContent.RemoteContent): ReadonlyArray<Condition> => {
  const resources = count(
    [...content.map(({ resource }) => `${resource.plural}.${resource.group}`), ...remote.resources],
    (name, number) => `${name} has ${number} resource instances`
  )
  const finalizers = count(
    [...content.flatMap(({ object }) => object.metadata.finalizers ?? []), ...remote.finalizers],
    (name, number) => `${name} in ${number} resource instances`
  )
  const fine = (type: string, reason: string, message: string): Condition => ({
    type,
    status: "False",
    reason,
    message
  })
  const held = (type: string, reason: string, message: string): Condition => ({ type, status: "True", reason, message })
  return [
    remote.failing.length === 0
      ? fine("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered")
      : held(
        "NamespaceDeletionDiscoveryFailure",
        "DiscoveryFailed",
        `Discovery failed for some groups, ${remote.failing.length} failing: unable to retrieve the complete list of ` +
          `server APIs: ${remote.failing.join(", ")}`
      ),
    fine(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed"
    ),
    fine(
      "NamespaceDeletionContentFailure",
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization"
    ),
    resources === ""
      ? fine("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : held("NamespaceContentRemaining", "SomeResourcesRemain", `Some resources are remaining: ${resources}`),
    finalizers === ""
      ? fine("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : held(
        "NamespaceFinalizersRemaining",
        "SomeFinalizersRemain",
        `Some content in the namespace has finalizers remaining: ${finalizers}`
      )
  ]
}

/** The conditions of a namespace with this content; the same value if they are up to date. */
const conditionsOf = (
  namespace: Namespace,
  content: Content,
  remote: RemoteContent.RemoteContent,
  now: string
): ReadonlyArray<NamespaceCondition> | undefined => {
  const before = namespace.status?.conditions ?? []
  let same = true
  const next = wanted(content, remote).map((condition) => {
    const old = before.find(({ type }) => type === condition.type)
    if (old?.status === condition.status && old.reason === condition.reason && old.message === condition.message) {
      return old
    }
    same = false
    return { ...condition, lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime ?? now : now }
  })
  return same ? namespace.status?.conditions : next
}
