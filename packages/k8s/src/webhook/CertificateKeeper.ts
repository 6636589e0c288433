/**
 * `CertificateKeeper`: the certificates of all replicas of a webhook server, kept in one Secret by any of them.
 *
 * All replicas do the same: they serve the certificate in the Secret, and take the next step of the `Keyring` when it
 * is due. If two take it at once, they write the same resourceVersion or create the same Secret; one is refused, reads
 * what the other wrote, and serves that. A step that relies on every client's trust is taken only once the bundle has
 * been in all existing webhook configurations for the `overlap`, as seen by the replica that takes it: API servers learn
 * of it after that.
 *
 * It never ends and never gives up: failures are logged, counted and retried. Nothing is served until there is a
 * certificate; an existing one stays in use while the API server is unreachable.
 */
import type * as Informers from "@effect-operator/core/Informers"
import type * as KubeClient from "@effect-operator/core/KubeClient"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as CertificateMetrics from "../CertificateMetrics.ts"
import { Secret } from "../kinds/core.v1.ts"
import * as CaBundle from "./CaBundle.ts"
import * as Keyring from "./Keyring.ts"
import * as Metrics from "./WebhookMetrics.ts"

export const defaults = {
  /** The delay after a failure. */
  retry: "2 seconds",
  /** The longest interval between two checks. */
  recheck: "1 hour"
} as const

export interface Options {
  readonly secret: { readonly namespace: string; readonly name: string }
  readonly policy: Keyring.Policy
  readonly targets: ReadonlyArray<CaBundle.Target>
  readonly reachable: CaBundle.Reachable
}

export interface Keeper {
  /** The keyring in use; undefined until there is one. */
  readonly current: SubscriptionRef.SubscriptionRef<Keyring.Keyring | undefined>
  /** Never ends. */
  readonly run: Effect.Effect<never>
  /** The error of the last check, or what cannot be read; undefined if all is well. */
  readonly trouble: () => string | undefined
}

export const make = Effect.fnUntraced(function*(
  informers: Informers.Informers["Service"],
  client: KubeClient.Client,
  { policy, reachable, secret, targets }: Options
) {
  const current = yield* SubscriptionRef.make<Keyring.Keyring | undefined>(undefined)
  const stirred = yield* Latch.make(true)
  const stir = (): void => void stirred.openUnsafe()
  const informer = yield* informers.get({
    resource: Secret,
    namespace: secret.namespace,
    fields: `metadata.name=${secret.name}`
  })
  yield* informer.subscribe(stir)
  const injector = yield* CaBundle.make(informers, client, targets, reachable, stir)
  const key = `${secret.namespace}/${secret.name}`
  let trouble: string | undefined
  /** The bundle that is in all configurations, and since when it has been seen there, in milliseconds. */
  let trusted: { readonly bundle: string; readonly since: number } | undefined

  /** Puts the bundle into all configurations. Returns since when it has been in all of them, if it is. */
  const inject = Effect.fnUntraced(function*(bundle: string) {
    const isEverywhere = yield* injector.inject(bundle)
    const now = yield* Clock.currentTimeMillis
    if (!isEverywhere) trusted = undefined
    else if (trusted?.bundle !== bundle) trusted = { bundle, since: now }
    return trusted?.since
  })

  /** Reads the keyring in the Secret, and uses it from now on. */
  const load = Effect.gen(function*() {
    yield* informer.synced
    const stored = informer.store.get(key) as Secret | undefined
    const keyring = stored === undefined ? undefined : Keyring.fromSecret(stored)
    if (stored !== undefined && keyring === undefined) {
      yield* CertificateMetrics.unreadable
      yield* Effect.logWarning(`Secret ${key} does not contain matching certificates: issuing new ones`)
    }
    const shown = yield* SubscriptionRef.get(current)
    if (keyring !== undefined && shown?.serving.certPem !== keyring.serving.certPem) {
      yield* CertificateMetrics.read
      yield* Metrics.certificateShown(key, Keyring.expiry(keyring))
      yield* Effect.logInfo(`serving with a certificate valid until ${new Date(Keyring.expiry(keyring)).toISOString()}`)
    }
    if (keyring !== undefined) yield* SubscriptionRef.set(current, keyring)
    return { stored, keyring }
  })

  const store = Effect.fnUntraced(function*(stored: Secret | undefined, keyring: Keyring.Keyring) {
    const { annotations, data, type } = Keyring.toSecret(keyring)
    yield* stored === undefined
      ? client.create(Secret, { metadata: { ...secret, annotations }, type, data })
      : client.replace(Secret, {
        ...stored,
        metadata: { ...stored.metadata, annotations: { ...stored.metadata.annotations, ...annotations } },
        data: { ...stored.data, ...data }
      })
  })

  /** Checks everything once. Returns the time until the next check, in milliseconds. */
  const look = Effect.gen(function*() {
    const { keyring, stored } = yield* load
    const since = keyring === undefined ? undefined : yield* inject(Keyring.bundle(keyring))
    const now = yield* Clock.currentTimeMillis
    const step = Keyring.plan(keyring, now, policy, since)
    trouble = undefined
    if (step._tag === "Keep") {
      return Math.max(0, Math.min(step.until - now, since === undefined ? Duration.toMillis(defaults.retry) : Infinity))
    }
    yield* Effect.logInfo(`certificates of ${key}: ${Keyring.deed[step._tag]}: ${step.why}`)
    yield* store(stored, yield* Keyring.perform(step, keyring, now, policy))
    return 0
  }).pipe(Effect.catch((error) =>
    Effect.gen(function*() {
      const lost = error.reason._tag === "Conflict" || error.reason._tag === "AlreadyExists"
      if (!lost) trouble = error.message
      yield* lost
        ? Effect.logDebug(`certificates of ${key}: another replica was first`)
        : Effect.logError(`certificates of ${key}: ${error.message}`)
      return Duration.toMillis(defaults.retry)
    })
  ))

  const run = Effect.forever(Effect.gen(function*() {
    stirred.closeUnsafe()
    const wait = Math.min(yield* look, Duration.toMillis(defaults.recheck))
    if (wait > 0) yield* Effect.timeoutOption(stirred.await, wait)
  }))

  return {
    current,
    run,
    trouble: () => trouble ?? CaBundle.unseen(informer, key) ?? injector.trouble()
  } satisfies Keeper
})
