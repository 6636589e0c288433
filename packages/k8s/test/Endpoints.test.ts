import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { Endpoints } from "@effect-operator/k8s"
import { TestClient } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, ConfigProvider, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as NodeCrypto from "node:crypto"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Path from "node:path"
import type { TLSSocket } from "node:tls"
import * as Certificates from "../src/Certificates.ts"
import { allow, asking, cluster, everything, Gadget, operate } from "./observability/support.ts"
import { folder } from "./support/folder.ts"
import * as Port from "./support/port.ts"

const idle = (name: string) =>
  Controller.make(name, { for: Gadget, reconcile: () => Effect.succeed(Action.requeueAfter("1 hour")) })

const gadget = (name: string) => ({ metadata: { namespace: "default", name }, spec: { size: 1 } })

describe("Endpoints.parseAddress", () => {
  it("takes what Go's listeners take, and 0 for none", () => {
    assert.deepStrictEqual(
      [":8080", "127.0.0.1:80", "[::1]:443", "localhost:0", "0", ""].map(Endpoints.parseAddress),
      [
        { host: undefined, port: 8080 },
        { host: "127.0.0.1", port: 80 },
        { host: "::1", port: 443 },
        { host: "localhost", port: 0 },
        "off",
        "off"
      ]
    )
    for (const no of ["8080", "host", ":99999", "::1:80", "http://x:1", ":"]) {
      assert.isUndefined(Endpoints.parseAddress(no), no)
    }
  })

  it.effect("configuration that is none is refused by name", () =>
    Effect.gen(function*() {
      const parse = (env: Record<string, string>) => Endpoints.config.parse(ConfigProvider.fromEnvRecord(env))
      const error = yield* Effect.flip(parse({ EFFECT_OPERATOR_METRICS_ADDRESS: "8080" }))
      assert.include(error.message, "must be host:port")
      assert.include(error.message, "EFFECT_OPERATOR_METRICS_ADDRESS")
      const options = yield* parse({
        EFFECT_OPERATOR_PROBES_ADDRESS: "0",
        EFFECT_OPERATOR_METRICS_AUTHENTICATION: "true"
      })
      assert.deepInclude(options, { probes: "0", authentication: true })
    }))

  it.effect("a certificate without its key is refused, not served in plain text, and so is a key alone", () =>
    Effect.gen(function*() {
      const parse = (env: Record<string, string>) => Endpoints.config.parse(ConfigProvider.fromEnvRecord(env))
      const [cert, key] = ["EFFECT_OPERATOR_METRICS_CERT", "EFFECT_OPERATOR_METRICS_KEY"] as const
      for (const [set, missing] of [[cert, key], [key, cert]] as const) {
        const error = yield* Effect.flip(parse({ [set]: "/tls/file.pem" }))
        assert.strictEqual(error._tag, "ConfigError")
        assert.include(
          error.message,
          `${set}: "/tls/file.pem": without ${missing} metrics would be served in plain text: set both, or neither`
        )
      }
      const { tls } = yield* parse({ [cert]: "/tls/tls.crt", [key]: "/tls/tls.key" })
      assert.deepStrictEqual(tls, { cert: "/tls/tls.crt", key: "/tls/tls.key" })
      assert.isUndefined((yield* parse({})).tls)
    }))
})

describe("Endpoints.answer", () => {
  it.effect("the paths, and nothing else", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const { endpoints, get } = yield* operate([idle("gadgets")])
      yield* TestClock.adjust("1 second")
      for (const path of ["/readyz", "/livez", "/healthz"]) {
        assert.deepStrictEqual([path, yield* get(path)].slice(1), [
          { status: 200, contentType: "text/plain; charset=utf-8", body: "ok" }
        ])
      }
      assert.strictEqual((yield* get("/readyz/ping")).body, "ok")
      assert.strictEqual((yield* get("/readyz/watch%3Agadgets.observed.example.com")).body, "ok")
      for (const path of ["/", "/metricsx", "/readyz/nobody", "/debug", "/readyz/%zz"]) {
        assert.strictEqual((yield* get(path)).status, 404, path)
      }
      const posted = yield* endpoints.answer({
        method: "POST",
        path: "/readyz",
        query: new URLSearchParams(),
        headers: {}
      })
      assert.strictEqual(posted.status, 405)
    }).pipe(Effect.provide(cluster(Gadget))))

  it.effect("verbose and exclude read as the kube-apiserver's", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const { get } = yield* operate([idle("gadgets")])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(
        (yield* get("/readyz?verbose&exclude=watch:gadgets.observed.example.com&exclude=nobody")).body,
        [
          "[+]ping ok",
          "[+]shutdown ok",
          "[+]watch:gadgets.observed.example.com excluded: ok",
          "[+]controller:gadgets ok",
          `warn: some health checks cannot be excluded: no matches for "nobody"`,
          "readyz check passed\n"
        ].join("\n")
      )
      assert.strictEqual((yield* get("/livez?verbose")).body, "[+]ping ok\n[+]parts ok\nlivez check passed\n")
    }).pipe(Effect.provide(cluster(Gadget))))

  it.effect("several managers of one process are told apart, in checks and in metrics", () =>
    Effect.gen(function*() {
      const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
      const start = (name: string) =>
        Layer.build(
          Manager.layer([idle("same")], { name }).pipe(
            Layer.provide(TestClient.layer),
            Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
          )
        )
      yield* start("one")
      yield* start("two")
      yield* TestClock.adjust("1 second")
      const { get } = asking(endpoints)
      const { body } = yield* get("/readyz?verbose")
      assert.include(body, "[+]one/controller:same ok")
      assert.include(body, "[+]two/watch:gadgets.observed.example.com ok")
      const metrics = (yield* get("/metrics")).body
      for (const manager of ["one", "two"]) {
        assert.include(
          metrics,
          `controller_runtime_max_concurrent_reconciles{controller="same",manager="${manager}"} 1`
        )
      }
      yield* start("one")
      yield* TestClock.adjust("1 second")
      const namesakes = (yield* get("/metrics")).body
      const checks = (yield* get("/readyz?verbose")).body
      for (const manager of ["one-0", "one-1", "two"]) {
        assert.include(
          namesakes,
          `controller_runtime_max_concurrent_reconciles{controller="same",manager="${manager}"} 1`
        )
        assert.include(checks, `[+]${manager}/controller:same ok`)
      }
    }).pipe(Effect.provide(cluster(Gadget))))
})

describe("/debug/operator", () => {
  it.effect("shows queues, reconciles under way, watches, caches and leases", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const { create } = yield* KubeClient.KubeClient
      for (const name of ["a", "b", "c"]) yield* create(Gadget, gadget(name))
      const controller = Controller.make("gadgets", {
        for: Gadget,
        reconcile: ({ metadata }) =>
          metadata.name === "a"
            ? Effect.succeed(Action.requeueAfter("1 hour"))
            : Effect.as(Effect.sleep("10 minutes"), Action.done)
      })
      const { get } = yield* operate([controller], {
        name: "main",
        leaderElection: { namespace: "default", name: "op", identity: "me" }
      })
      yield* TestClock.adjust("1 minute")
      const { body, contentType } = yield* get("/debug/operator")
      assert.strictEqual(contentType, "application/json")
      const [main] = JSON.parse(body).managers
      assert.deepInclude(main, { name: "main", stopping: false, failed: null })
      const [gadgets] = main.controllers
      assert.deepInclude(gadgets, {
        name: "gadgets",
        status: "Running",
        waitingFor: [],
        queue: { ready: 1, waiting: 1, processing: 1, failing: 0 }
      })
      assert.strictEqual(gadgets.inFlight[0].key, "default/b")
      assert.closeTo(gadgets.inFlight[0].ageSeconds, 60, 2)
      assert.deepInclude(gadgets.ready[0], { key: "default/c", failures: 0, reasons: ["Gadget default/c added"] })
      assert.deepInclude(gadgets.waiting[0], { key: "default/a", reasons: ["requeue"] })
      assert.closeTo(gadgets.waiting[0].inSeconds, 3540, 2)
      assert.deepInclude(main.watches[0], {
        resource: "Gadget.v1.observed.example.com",
        status: "Live",
        synced: true,
        relists: 0,
        restarts: 0,
        failures: 0
      })
      assert.deepInclude(main.caches[0], { objects: 3, unconfirmedWrites: 0 })
      assert.isAbove(main.caches[0].bytes, 100)
      assert.deepInclude(main.leases[0], { lease: "default/op", leading: true, trouble: null })
      const few = JSON.parse((yield* get("/debug/operator?limit=0")).body).managers[0].controllers[0]
      assert.deepStrictEqual([few.waiting, few.queue.waiting], [[], 1])
      assert.strictEqual((yield* get("/debug/operator?limit=x")).status, 400)
      yield* TestClock.adjust("1 hour")
    }).pipe(Effect.provide(cluster(Gadget))))

  it.effect("can be switched off", () =>
    Effect.gen(function*() {
      const { get } = yield* operate([], { endpoints: { debug: false } })
      assert.strictEqual((yield* get("/debug/operator")).status, 404)
    }).pipe(Effect.provide(cluster())))
})

const request = (port: number, path: string, method = "GET") =>
  Effect.callback<
    { readonly status: number; readonly body: string; readonly headers: Http.IncomingHttpHeaders },
    Error
  >(
    (resume) => {
      const sent = Http.request({ host: "127.0.0.1", port, path, method, agent: false }, (answer) => {
        let body = ""
        answer.setEncoding("utf8").on("data", (text: string) => {
          body += text
        })
        answer.on("end", () => resume(Effect.succeed({ status: answer.statusCode!, body, headers: answer.headers })))
      })
      sent.on("error", (error) => resume(Effect.fail(error)))
      sent.end()
    }
  )

/** What it answers once the manager is ready. */
const untilReady = (port: number) =>
  Effect.repeat(Effect.delay(request(port, "/readyz"), "5 millis"), { until: ({ status }) => status === 200 })

describe("Endpoints over sockets", () => {
  const served = Effect.fnUntraced(function*(options: Endpoints.Options) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const endpoints = yield* Scope.provide(Endpoints.make(options), scope)
    yield* Layer.build(
      Manager.layer([idle("gadgets")]).pipe(
        Layer.provide(TestClient.layer),
        Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
      )
    )
    return { endpoints, close: Scope.close(scope, Exit.void) }
  })
  const live = cluster(Gadget)

  it.live("are served on two ports from the first manager on, and closed with their scope", () =>
    Effect.gen(function*() {
      const { close, endpoints } = yield* served({ metrics: "127.0.0.1:0", probes: "127.0.0.1:0" })
      const { metrics, probes } = endpoints.addresses()
      const ready = yield* untilReady(probes!.port)
      assert.deepStrictEqual([ready.status, ready.body], [200, "ok"])
      assert.strictEqual(ready.headers["cache-control"], "no-cache, private")
      const scraped = yield* request(metrics!.port, "/metrics")
      assert.strictEqual(scraped.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
      assert.include(scraped.body, `controller_runtime_max_concurrent_reconciles{controller="gadgets"} 1`)
      assert.strictEqual((yield* request(probes!.port, "/metrics")).status, 404, "each on its own port")
      assert.strictEqual((yield* request(metrics!.port, "/readyz")).status, 404)
      const head = yield* request(probes!.port, "/readyz", "HEAD")
      assert.deepStrictEqual([head.status, head.body], [200, ""])
      yield* close
      assert.match((yield* Effect.flip(request(probes!.port, "/readyz"))).message, /ECONNREFUSED/)
    }).pipe(Effect.provide(live)))

  it.live("are served for the next manager where the start of the first is given up, whenever that is", () =>
    Effect.gen(function*() {
      for (let turns = 0; turns < 40; turns++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const [probes, metrics] = yield* Effect.all([Port.free, Port.free])
          const { addresses, board } = yield* Endpoints.make({
            probes: `127.0.0.1:${probes}`,
            metrics: `127.0.0.1:${metrics}`
          })
          const manager = {} as Manager.Manager["Service"]
          const first = yield* Effect.forkChild(Effect.scoped(board.register(manager)), { startImmediately: true })
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(first)
          yield* board.register(manager)
          assert.deepStrictEqual(addresses(), {
            probes: { host: "127.0.0.1", port: probes },
            metrics: { host: "127.0.0.1", port: metrics }
          })
          for (const port of [probes, metrics]) {
            assert.isFalse(yield* Port.isFree(port), `given up after ${turns} turns`)
          }
        }))
      }
    }))

  it.live("on one address both are served together", () =>
    Effect.gen(function*() {
      const { endpoints } = yield* served({ metrics: "127.0.0.1:0", probes: "127.0.0.1:0" })
      assert.notStrictEqual(endpoints.addresses().metrics?.port, endpoints.addresses().probes?.port)
      const port = yield* Port.free
      const both = yield* served({ metrics: `127.0.0.1:${port}`, probes: `127.0.0.1:${port}` })
      assert.strictEqual((yield* untilReady(port)).status, 200)
      assert.strictEqual((yield* request(port, "/metrics")).status, 200)
      yield* both.close
    }).pipe(Effect.provide(live)))

  it.live("with a certificate the metrics address speaks HTTPS, and the probes do not", () =>
    Effect.gen(function*() {
      const { issue, scrape, tls } = yield* keptCertificate
      yield* issue
      const { close, endpoints } = yield* served({ metrics: "127.0.0.1:0", probes: "127.0.0.1:0", tls })
      const { metrics, probes } = endpoints.addresses()
      assert.strictEqual((yield* scrape(metrics!.port)).status, 200)
      assert.strictEqual((yield* request(probes!.port, "/livez")).status, 200)
      yield* close
      const missing = yield* Effect.exit(
        served({ metrics: "127.0.0.1:0", probes: "0", tls: { ...tls, key: "/nowhere" } })
      )
      assert.include(String(Exit.isFailure(missing) ? missing.cause : ""), "/nowhere")
    }).pipe(Effect.provide(live)))

  it.live("a certificate that is renewed in its files is shown from then on, half a change is not", () =>
    Effect.gen(function*() {
      const { issue, issued, scrape, tls } = yield* keptCertificate
      const before = yield* issue
      const { close, endpoints } = yield* served({
        metrics: "127.0.0.1:0",
        probes: "0",
        tls: { ...tls, interval: "20 millis" }
      })
      const { port } = endpoints.addresses().metrics!
      const scraped = yield* scrape(port)
      assert.strictEqual(scraped.serial, before.serial)
      assert.include(scraped.body, "certwatcher_read_certificate_total")

      const again = Effect.delay(scrape(port), "20 millis")
      const next = yield* issued
      Fs.writeFileSync(tls.cert, next.certPem)
      const halfway = yield* Effect.repeat(again, { until: ({ body }) => /_certificate_errors_total [1-9]/.test(body) })
      assert.strictEqual(halfway.serial, before.serial)
      Fs.writeFileSync(tls.key, next.keyPem)
      yield* Effect.repeat(again, { until: ({ serial }) => serial === next.serial })
      yield* close
    }).pipe(Effect.provide(live)))

  it.live("an address that was chosen and is taken is a failure that names it", () =>
    Effect.gen(function*() {
      const taken = yield* Port.free
      const first = yield* served({ metrics: "0", probes: `127.0.0.1:${taken}` })
      const exit = yield* Effect.exit(served({ metrics: "0", probes: `127.0.0.1:${taken}` }))
      assert.include(String(Exit.isFailure(exit) ? exit.cause : ""), `port ${taken} is in use`)
      yield* first.close
    }).pipe(Effect.provide(live)))

  it.live("a server that is interrupted while it begins to listen leaves no port open", () =>
    Effect.gen(function*() {
      const port = yield* Port.free
      const scope = yield* Scope.make()
      const beginning = Effect.flatMap(
        Endpoints.make({ metrics: "0", probes: `127.0.0.1:${port}` }),
        ({ board }) => board.register({} as Manager.Manager["Service"])
      )
      const fiber = yield* Effect.forkChild(Scope.provide(beginning, scope), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(yield* Port.isFree(port))
    }))
})

/** A certificate in files, as a volume has them, and what somebody gets who trusts its authority. */
const keptCertificate = Effect.gen(function*() {
  const at = yield* folder({})
  const tls = { cert: Path.join(at, "tls.crt"), key: Path.join(at, "tls.key") }
  const now = yield* Clock.currentTimeMillis
  const authority = yield* Certificates.authority({ now })
  const issued = Effect.map(
    Certificates.issue(authority, { now, commonName: "operator", hosts: ["127.0.0.1"] }),
    ({ certPem, keyPem }) => ({ certPem, keyPem, serial: new NodeCrypto.X509Certificate(certPem).serialNumber })
  )
  const issue = Effect.tap(issued, ({ certPem, keyPem }) =>
    Effect.sync(() => {
      Fs.writeFileSync(tls.cert, certPem)
      Fs.writeFileSync(tls.key, keyPem)
    }))
  const scrape = (port: number) =>
    Effect.callback<{ readonly status: number | undefined; readonly body: string; readonly serial: string }, Error>(
      (resume) => {
        Https.get({ host: "127.0.0.1", port, path: "/metrics", ca: authority.certPem, agent: false }, (answer) => {
          const serial = (answer.socket as TLSSocket).getPeerCertificate().serialNumber
          let body = ""
          answer.setEncoding("utf8").on("data", (text: string) => {
            body += text
          })
          answer.on("end", () => resume(Effect.succeed({ status: answer.statusCode, body, serial })))
        }).on("error", (error) => resume(Effect.fail(error)))
      }
    )
  return { issue, issued, scrape, tls }
})
