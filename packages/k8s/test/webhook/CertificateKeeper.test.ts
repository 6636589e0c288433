import { Informers, KubeClient, KubeError, Supervisor } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Layer, Logger, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { X509Certificate } from "node:crypto"
import { Namespace, ValidatingWebhookConfiguration } from "../../src/kinds/index.ts"
import { TestCluster } from "../../src/testing/index.ts"
import * as CaBundle from "../../src/webhook/CaBundle.ts"
import * as CertificateKeeper from "../../src/webhook/CertificateKeeper.ts"
import * as Configurations from "../../src/webhook/Configurations.ts"
import { hooks, service } from "./support.ts"

const name = "databases"
const reachable = { service }
const minute = 60_000

/** Certificates are made in real time: nothing of virtual time passes from the line that says so to the write of it. */
class Issuing {
  private isUnderWay = false
  readonly logger = Logger.make<unknown, void>(({ message }) => {
    if (String(message).startsWith("certificates of ")) this.isUnderWay = true
  })
  written(): void {
    this.isUnderWay = false
  }
  readonly done = Effect.promise(async () => {
    while (this.isUnderWay) await new Promise((resolve) => setImmediate(resolve))
  })
}

/** A client whose patches of configurations, but for the first, are refused for eleven minutes since the second. */
const refusing = (client: KubeClient.Client, refused: Array<number>, issuing: Issuing): KubeClient.Client => {
  let isFirst = true
  return {
    ...client,
    create: (...args) => Effect.tap(client.create(...args), () => Effect.sync(() => issuing.written())),
    replace: (...args) => Effect.tap(client.replace(...args), () => Effect.sync(() => issuing.written())),
    patch: (resource, key, patch, options) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (resource.kind !== ValidatingWebhookConfiguration.kind) return client.patch(resource, key, patch, options)
        const isRefused = !isFirst && now < (refused[0] ?? now) + 11 * minute
        isFirst = false
        if (!isRefused) return client.patch(resource, key, patch, options)
        refused.push(now)
        return Effect.fail(KubeError.make(
          { verb: "patch", resource: "validatingwebhookconfigurations.admissionregistration.k8s.io" },
          new KubeError.Forbidden({ message: "no patch for you", code: 403 })
        ))
      })
  }
}

const authoritiesIn = (pem: string) => pem.split(/(?=-----BEGIN)/).map((one) => new X509Certificate(one))

describe("CertificateKeeper", () => {
  it.effect("a new authority signs an overlap after it is seen to be configured, however late that is", () => {
    const issuing = new Issuing()
    return Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* client.create(Namespace, { metadata: { name: service.namespace } })
      yield* Configurations.install(hooks, { name, reachable })
      const refused: Array<number> = []
      const supervisor = yield* Supervisor.make
      const context = yield* Layer.build(Informers.layer(supervisor))
      const keeper = yield* CertificateKeeper.make(
        Context.get(context, Informers.Informers),
        refusing(client, refused, issuing),
        {
          secret: { namespace: service.namespace, name: "tls" },
          policy: {
            hosts: ["webhooks.shop.svc"],
            validity: "1 hour",
            authorityValidity: "1 hour",
            overlap: "5 minutes"
          },
          targets: CaBundle.targets(hooks, name),
          reachable
        }
      )
      yield* Effect.forkScoped(keeper.run)
      /** Since which minute each authority that is configured now has been there. */
      const known = new Map<string, number>()
      const signers: Array<{ readonly at: number; readonly knownFor: number | undefined }> = []
      let serial = ""
      for (let at = 0; at < 180; at++) {
        const configuration = yield* client.get(ValidatingWebhookConfiguration, { name })
        const bundle = configuration.webhooks?.[0]?.clientConfig.caBundle
        const authorities = bundle === undefined ? [] : authoritiesIn(Buffer.from(bundle, "base64").toString())
        const fingerprints = new Set(authorities.map(({ fingerprint256 }) => fingerprint256))
        for (const old of known.keys()) if (!fingerprints.has(old)) known.delete(old)
        for (const fresh of fingerprints) if (!known.has(fresh)) known.set(fresh, at)
        const keyring = yield* SubscriptionRef.get(keeper.current)
        if (keyring !== undefined) {
          const serving = new X509Certificate(keyring.serving.certPem)
          const signer = authorities.find((authority) => serving.verify(authority.publicKey))
          if (serial !== serving.serialNumber) {
            const since = signer === undefined ? undefined : known.get(signer.fingerprint256)
            signers.push({ at, knownFor: since === undefined ? undefined : at - since })
          }
          serial = serving.serialNumber
          assert.isDefined(signer, `minute ${at}: nobody trusts what is served`)
        }
        yield* TestClock.adjust(Duration.minutes(1))
        yield* issuing.done
      }
      assert.isAtLeast(signers.length, 3)
      for (const { at, knownFor } of signers.slice(1)) {
        assert.isAtLeast(knownFor ?? 0, 5, `the signer of minute ${at}`)
      }
      assert.isAtLeast(refused.length, 10)
      assert.isTrue(signers.some(({ at }) => at >= 55 && at <= 58), "the one that was late")
    }).pipe(
      Effect.provide(Layer.merge(TestCluster.layer({ resources: [] }), Logger.layer([issuing.logger]))),
      // Before there is a cluster, which has much to do every second.
      (test) => Effect.andThen(TestClock.setTime(Date.UTC(2026, 0, 1)), test)
    )
  })
})
