/**
 * `VolumeProtection`: keeps deleted claims, volumes and attributes classes while they are in use.
 *
 * Admission gives every new one of them a finalizer. This controller removes it from an object that is being deleted
 * once nothing uses it: no scheduled Pod uses the claim, no claim is bound to the volume, and neither uses the class.
 * An object that lost the finalizer gets it back.
 *
 * Source: k8s.io/kubernetes/pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, type KubeObject, parseKey } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { PersistentVolume, PersistentVolumeClaim, Pod } from "../kinds/core.v1.ts"
import { VolumeAttributesClass } from "../kinds/storage.v1.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"

/** Protects volumes, claims and classes until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const informers = yield* Informers.Informers
  const pods = yield* informers.of(Pod)
  const claims = yield* informers.of(PersistentVolumeClaim)
  const volumes = yield* informers.of(PersistentVolume)
  const classes = yield* informers.of(VolumeAttributesClass)

  /** Keeps the finalizer on the objects of a kind that are in use or not being deleted. */
  const protect = Effect.fnUntraced(function*<A extends KubeObject>(
    resource: Resource.Resource<A>,
    objects: Informers.Informer<A>,
    finalizer: string,
    isUsed: (object: A) => Effect.Effect<boolean, KubeError>
  ) {
    const agenda = yield* Loop.make({
      reads: [objects, pods, claims, volumes],
      sync: Effect.fnUntraced(function*(key) {
        const object = objects.get(parseKey(key))
        if (object === undefined) return
        const { deletionTimestamp, finalizers = [], resourceVersion } = object.metadata
        const has = finalizers.includes(finalizer)
        const going = deletionTimestamp !== undefined
        if (has !== going || (going && (yield* isUsed(object)))) return
        const next = has ? finalizers.filter((name) => name !== finalizer) : [...finalizers, finalizer]
        yield* client.patch(resource, object, Patch.merge({ metadata: { resourceVersion, finalizers: next } }))
      })
    })
    objects.listen((object, before) => {
      if (object === undefined) agenda.forget(keyString(before!))
      else agenda.now(keyString(object))
    })
    return agenda
  })

  const claimsOf = ({ metadata, spec }: Pod): ReadonlyArray<string> =>
    (spec.volumes ?? []).flatMap(({ ephemeral, name, persistentVolumeClaim }) =>
      persistentVolumeClaim !== undefined
        ? [persistentVolumeClaim.claimName]
        : ephemeral === undefined
        ? []
        : [`${metadata.name}-${name}`]
    )
  // A Pod that is not scheduled yet will not be started with a claim that is being deleted.
  const usesClaim = (pod: Pod, name: string): boolean => pod.spec.nodeName !== undefined && claimsOf(pod).includes(name)

  const ofClaims = yield* protect(
    PersistentVolumeClaim,
    claims,
    "kubernetes.io/pvc-protection",
    ({ metadata: { name, namespace } }) =>
      [...pods.inNamespace(namespace)].some((pod) => usesClaim(pod, name))
        ? Effect.succeed(true)
        // A Pod that the watch has not reported yet would lose the volume it is about to use.
        : client.list(Pod, { namespace }).pipe(
          Stream.runCollect,
          Effect.map((now) => now.some((pod) => usesClaim(pod, name)))
        )
  )
  yield* protect(
    PersistentVolume,
    volumes,
    "kubernetes.io/pv-protection",
    ({ status }) => Effect.succeed(status?.phase === "Bound")
  )
  const ofClasses = yield* protect(
    VolumeAttributesClass,
    classes,
    "kubernetes.io/vac-protection",
    ({ metadata: { name } }) =>
      Effect.sync(() =>
        [...claims.all()].some(({ spec, status }) =>
          [spec?.volumeAttributesClassName, status?.currentVolumeAttributesClassName].includes(name)
        ) || [...volumes.all()].some(({ spec }) => spec?.volumeAttributesClassName === name)
      )
  )

  pods.listen((pod, before) => {
    for (const name of claimsOf((pod ?? before)!)) {
      const key = `${(pod ?? before)!.metadata.namespace}/${name}`
      if (claims.get(parseKey(key))?.metadata.deletionTimestamp !== undefined) ofClaims.now(key)
    }
  })
  const freed = () => {
    for (const { metadata } of classes.all()) if (metadata.deletionTimestamp !== undefined) ofClasses.now(metadata.name)
  }
  claims.listen(freed)
  volumes.listen(freed)
})
