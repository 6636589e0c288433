import { KubeClient, KubeError, Manager } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Ref, Scope } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Certificates from "../../src/Certificates.ts"
import * as Crd from "../../src/Crd.ts"
import * as Endpoints from "../../src/Endpoints.ts"
import * as Environment from "../../src/Environment.ts"
import {
  CustomResourceDefinition,
  MutatingWebhookConfiguration,
  Secret,
  ValidatingWebhookConfiguration
} from "../../src/kinds/index.ts"
import * as Termination from "../../src/Termination.ts"
import { ApiServer, LiveBackends, TestClient } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import { folder } from "../support/folder.ts"
import { post } from "./https.ts"
import { Database, hooks, service } from "./support.ts"

const name = "databases"
const secretKey = { namespace: "shop", name: "databases-webhook-tls" }
const all = [
  ...hooks,
  Webhook.conversion(Database, { convert: (object, apiVersion) => Effect.succeed({ ...object, apiVersion }) })
]

/** A cluster in this process whose webhooks are called over TLS, wherever `services` says. */
const cluster = (services: Record<string, string>) =>
  TestClient.layer.pipe(
    Layer.provideMerge(ApiServer.ApiServer.layer),
    Layer.provide(LiveBackends.layerOptions({ services })),
    Layer.fresh
  )

const prepare = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  const Namespace = (yield* Effect.promise(() => import("../../src/kinds/core.v1.ts"))).Namespace
  yield* client.create(Namespace, { metadata: { name: "shop" } })
  yield* Crd.install(Database)
  yield* Webhook.install(all, { name, reachable: { service } })
  return client
})

const replica = Effect.fnUntraced(function*(options: Partial<Webhook.ServerOptions> = {}) {
  const context = yield* Layer.build(
    Layer.fresh(Webhook.layer(all, { name, service, address: "127.0.0.1:0", closeGrace: "1 second", ...options }))
  )
  const server = Context.get(context, Webhook.WebhookServer)
  return { server, port: (yield* server.ready).port }
})

const bundles = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  const validating = yield* client.get(ValidatingWebhookConfiguration, { name })
  const mutating = yield* client.get(MutatingWebhookConfiguration, { name })
  const definition = yield* client.get(CustomResourceDefinition, { name: "databases.shop.example.com" })
  return [
    ...[...(validating.webhooks ?? []), ...(mutating.webhooks ?? [])].map(({ clientConfig }) => clientConfig.caBundle),
    definition.spec.conversion?.webhook?.clientConfig?.caBundle
  ]
})

const eventually = <A, E, R>(what: string, look: Effect.Effect<A, E, R>, is: (value: A) => boolean) =>
  Effect.gen(function*() {
    for (let n = 0; n < 800; n++) {
      const value = yield* look
      if (is(value)) return value
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.die(new Error(`never: ${what}`))
  })

const injected = eventually("every caBundle is there", bundles, (all) => all.every((text) => text !== undefined))

const review = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "u", operation: "DELETE", oldObject: null, userInfo: {} }
})
const path = "/validate-shop-example-com-v1-database"

describe("WebhookServer", () => {
  it.live(
    "makes its certificates, tells the server whom to trust, and does so again when somebody takes it out",
    () => {
      const services: Record<string, string> = {}
      const lines: Array<string> = []
      const logged = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      return Effect.gen(function*() {
        const client = yield* prepare
        const { port, server } = yield* replica()
        services["shop/webhooks"] = `https://127.0.0.1:${port}`
        const before = yield* injected
        assert.lengthOf(new Set(before), 1, "one bundle for all")
        const stored = yield* client.get(Secret, secretKey)
        assert.strictEqual(stored.type, "kubernetes.io/tls")
        assert.strictEqual(stored.data?.["ca.crt"], before[0])
        assert.deepStrictEqual((yield* server.status).trouble, undefined)
        const told = "making an authority and a certificate: there are no certificates"
        assert.include(lines, `certificates of shop/databases-webhook-tls: ${told}`)

        const key = { namespace: "shop", name: "a" }
        const made = yield* client.create(Database, { metadata: key, spec: { size: 5 } })
        assert.strictEqual(made.spec.engine, "pg")
        const denied = yield* Effect.flip(client.patch(Database, key, KubeClient.Patch.merge({ spec: { size: 4 } })))
        assert.include(denied.message, "a database may not shrink")

        yield* client.patch(
          ValidatingWebhookConfiguration,
          { name },
          KubeClient.Patch.json([
            { op: "remove", path: "/webhooks/0/clientConfig/caBundle" }
          ])
        )
        yield* client.patch(
          CustomResourceDefinition,
          { name: "databases.shop.example.com" },
          KubeClient.Patch.merge({ spec: { conversion: { webhook: { clientConfig: { caBundle: null } } } } })
        )
        assert.deepStrictEqual(yield* injected, before)
      }).pipe(Effect.provide(Layer.merge(cluster(services), logged)))
    }
  )

  it.live(
    "a second replica shares what the first made, and two that start at once agree",
    () =>
      Effect.gen(function*() {
        const client = yield* prepare
        const ports = yield* Effect.forEach([1, 2, 3], () => replica(), { concurrency: "unbounded" })
        const ca = Buffer.from((yield* client.get(Secret, secretKey)).data!["ca.crt"]!, "base64").toString()
        const serials = new Set<string>()
        for (const { port } of ports) serials.add((yield* post(port, path, review, { ca })).serial)
        assert.strictEqual(serials.size, 1)
        const later = yield* replica()
        assert.isTrue(serials.has((yield* post(later.port, path, review, { ca })).serial))
      }).pipe(Effect.provide(cluster({})))
  )

  it.live("certificates and authorities rotate under load, and no call fails", () => {
    const services: Record<string, string> = {}
    return Effect.gen(function*() {
      const client = yield* prepare
      const certificates = { validity: "6 seconds", authorityValidity: "12 seconds", overlap: "1 second" } as const
      const replicas = yield* Effect.forEach([1, 2], () => replica({ certificates }), { concurrency: "unbounded" })
      services["shop/webhooks"] = `https://127.0.0.1:${replicas[0]!.port}`
      yield* injected
      const calls = yield* Ref.make(0)
      const serials = new Set<string>()
      const bundlesSeen = new Set<string>()
      const stop = yield* Deferred.make<void>()

      // Through the API server, and with a handshake for every call, trusting what was configured half a second ago. A
      // client that has not read the configuration for a whole overlap, because this machine is busy, is promised nothing.
      const admitted = client.create(Database, {
        metadata: { namespace: "shop", generateName: "a-" },
        spec: { size: 5 }
      }, {
        dryRun: true
      })
      const read = Effect.gen(function*() {
        const until = Date.now() + 1000
        return { bundle: (yield* injected)[0]!, until }
      })
      let known = yield* read
      const follow = Effect.gen(function*() {
        const next = yield* read
        bundlesSeen.add(next.bundle)
        yield* Effect.sleep("500 millis")
        known = next
      })
      const direct = ({ port }: { readonly port: number }) =>
        Effect.suspend(() => {
          const { bundle, until } = known
          const isOutdated = () => Date.now() > until
          if (isOutdated()) return Effect.void
          return Effect.matchEffect(post(port, path, review, { ca: Buffer.from(bundle, "base64").toString() }), {
            onSuccess: ({ serial }) => Effect.as(Ref.update(calls, (n) => n + 1), void serials.add(serial)),
            onFailure: (error) => isOutdated() ? Effect.void : Effect.fail(error)
          })
        })
      const load = (call: Effect.Effect<unknown, unknown>) =>
        Effect.forever(Effect.andThen(call, Effect.sleep("20 millis")))
      const enough = until(Effect.sync(() => serials.size >= 4 && bundlesSeen.size >= 3))
      yield* Effect.raceAllFirst([
        Effect.forever(follow),
        load(Effect.andThen(admitted, Ref.update(calls, (n) => n + 1))),
        load(direct(replicas[0]!)),
        load(direct(replicas[1]!)),
        Effect.andThen(enough, Deferred.succeed(stop, undefined))
      ])
      assert.isAbove(yield* Ref.get(calls), 200)
      const { data } = yield* client.get(Secret, secretKey)
      assert.isAtMost(Buffer.from(data!["ca.crt"]!, "base64").toString().split("BEGIN").length - 1, 2)
    }).pipe(Effect.provide(cluster(services)))
  })

  it.live(
    "certificates are replaced in time also where a configuration cannot be seen, which is told",
    () =>
      Effect.gen(function*() {
        const client = yield* prepare
        let isForbidden = true
        const forbidding: KubeClient.Client = {
          ...client,
          listPage: (resource, options) =>
            isForbidden && resource.kind === "MutatingWebhookConfiguration"
              ? Effect.fail(
                KubeError.make(
                  { verb: "list", resource: "mutatingwebhookconfigurations.admissionregistration.k8s.io" },
                  new KubeError.Forbidden({ message: "no list for you", code: 403 })
                )
              )
              : client.listPage(resource, options)
        }
        const certificates = { validity: "3 seconds" } as const
        const { server } = yield* Effect.provideService(
          replica({ certificates }),
          KubeClient.KubeClient,
          KubeClient.KubeClient.of(forbidding)
        )
        const shown = Effect.map(client.get(Secret, secretKey), ({ data }) => data!["tls.crt"]!)
        const seen = new Set<string>()
        yield* eventually("three certificates", shown, (text) => seen.add(text).size > 2)
        assert.include(
          (yield* server.status).trouble,
          "MutatingWebhookConfiguration databases: no list for you (does the operator's role allow list and watch?)"
        )
        isForbidden = false
        yield* injected
        yield* eventually("no trouble", server.status, ({ trouble }) => trouble === undefined)
      }).pipe(Effect.provide(cluster({})))
  )

  it.live("a Secret that somebody spoilt is made anew", () =>
    Effect.gen(function*() {
      const client = yield* prepare
      yield* client.create(Secret, { metadata: secretKey, data: { "tls.crt": "bm9uc2Vuc2U=" } })
      const { port } = yield* replica()
      const ca = Buffer.from((yield* client.get(Secret, secretKey)).data!["ca.crt"]!, "base64").toString()
      assert.strictEqual((yield* post(port, path, review, { ca })).status, 200)
    }).pipe(Effect.provide(cluster({}))))

  it.live("certificates may come from files, and are read again", () =>
    Effect.gen(function*() {
      const now = Date.now()
      const ca = yield* Certificates.authority({ now })
      const at = yield* folder({})
      const files = { cert: Path.join(at, "tls.crt"), key: Path.join(at, "tls.key") }
      const issued = yield* Certificates.issue(ca, { now, commonName: "x", hosts: ["webhooks.shop.svc"] })
      Fs.writeFileSync(files.cert, issued.certPem)
      Fs.writeFileSync(files.key, issued.keyPem)
      const { port, server } = yield* replica({ certificates: { ...files, interval: "50 millis" } })
      const call = post(port, path, review, { ca: ca.certPem })
      const { serial, status } = yield* call
      assert.strictEqual(status, 200)
      const next = yield* Certificates.issue(ca, { now, commonName: "x", hosts: ["webhooks.shop.svc"] })
      Fs.writeFileSync(files.cert, next.certPem)
      yield* eventually("half a change is told", server.status, ({ trouble }) =>
        trouble?.includes("does not match") === true)
      assert.strictEqual((yield* call).serial, serial, "and not taken into use")
      Fs.writeFileSync(files.key, next.keyPem)
      const other = yield* eventually("the other is shown", call, (reply) =>
        reply.serial !== serial)
      // A chain whose second certificate is none.
      Fs.writeFileSync(files.cert, `${next.certPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`)
      yield* eventually("what TLS does not take is told", server.status, ({ trouble }) =>
        trouble !== undefined)
      assert.strictEqual((yield* call).serial, other.serial)
      Fs.writeFileSync(files.cert, issued.certPem)
      Fs.writeFileSync(files.key, issued.keyPem)
      yield* eventually("it ended nothing", call, (reply) => reply.serial === serial)
    }).pipe(Effect.provide(cluster({}))))

  it.live("after SIGTERM whoever still comes is answered, until it has lingered", () =>
    Effect.gen(function*() {
      const client = yield* prepare
      const termination = Termination.make()
      const scope = yield* Scope.make()
      const { port } = yield* replica({ linger: "1 second" }).pipe(
        Scope.provide(scope),
        Effect.provideService(Termination.Termination, termination)
      )
      const ca = Buffer.from((yield* client.get(Secret, secretKey)).data!["ca.crt"]!, "base64").toString()
      const call = post(port, path, review, { ca })
      termination.request()
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      assert.strictEqual((yield* call).status, 200)
      yield* Fiber.join(closing)
      assert.include((yield* Effect.flip(call)).message, "ECONNREFUSED")
    }).pipe(Effect.provide(cluster({}))))

  it.live("an address in use ends the operator, which says what to do", () =>
    Effect.gen(function*() {
      yield* prepare
      const { port } = yield* replica()
      const launched = (options: Partial<Webhook.ServerOptions>) =>
        Manager.layer([]).pipe(
          Layer.provide(Layer.fresh(Webhook.layer(all, { name, service, ...options }))),
          Manager.launch,
          Effect.flip
        )
      const taken = `webhooks ended: webhooks: port ${port} is in use: `
      assert.strictEqual(
        (yield* launched({ address: `127.0.0.1:${port}` })).message,
        `${taken}give \`Webhook.layer\` another \`address\``
      )
      const environment = ConfigProvider.fromEnvRecord({
        EFFECT_OPERATOR_WEBHOOKS_ADDRESS: `127.0.0.1:${port}`,
        EFFECT_OPERATOR_METRICS_ADDRESS: "0",
        EFFECT_OPERATOR_PROBES_ADDRESS: "0"
      })
      const configured = Environment.around(launched({})).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, environment)
      )
      assert.strictEqual(
        (yield* configured).message,
        `${taken}set EFFECT_OPERATOR_WEBHOOKS_ADDRESS to another address, or give \`Webhook.layer\` an \`address\``
      )
    }).pipe(Effect.provide(cluster({}))))

  it.live("readiness has a check of it; an address in use is told", () =>
    Effect.gen(function*() {
      yield* prepare
      const { answer, board } = yield* Endpoints.make({ metrics: "0", probes: "0" })
      const ask = (path: string) => answer({ method: "GET", path, query: new URLSearchParams("verbose"), headers: {} })
      const { port } = yield* Effect.provideService(replica(), Manager.Board, board)
      assert.include((yield* ask("/readyz")).body, "[+]webhooks ok")
      const taken = yield* Layer.build(Layer.fresh(Webhook.layer(all, { name, service, address: `127.0.0.1:${port}` })))
      const server = Context.get(taken, Webhook.WebhookServer)
      assert.include((yield* Effect.flip(server.ready)).message, `port ${port} is in use`)
      const { message } = yield* Effect.flip(server.failure)
      assert.notInclude(message, "\n", "without a stack")
      assert.strictEqual((yield* server.status).trouble, message)
    }).pipe(Effect.provide(cluster({}))))
})

const until = (look: Effect.Effect<boolean>) =>
  Effect.gen(function*() {
    while (!(yield* look)) yield* Effect.sleep("100 millis")
  })
