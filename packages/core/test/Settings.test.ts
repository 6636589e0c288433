import { Action, Controller, Resource, Settings } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Layer, Option, Result } from "effect"
import { Widget } from "./support/Kinds.ts"
import { operate } from "./support/Operating.ts"
import { Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const Lease = Resource.make<any>()({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced"
})

const from = (env: Record<string, string>) => Settings.config.parse(ConfigProvider.fromEnvRecord(env))

describe("Settings.config", () => {
  it.effect("reads every variable", () =>
    Effect.gen(function*() {
      const settings = yield* from({
        EFFECT_OPERATOR_DRAIN: "10s",
        EFFECT_OPERATOR_IDENTITY: "pod-a",
        EFFECT_OPERATOR_CONCURRENCY: "4",
        EFFECT_OPERATOR_TIMEOUT: "1m30s",
        EFFECT_OPERATOR_CACHE_SYNC_TIMEOUT: "30 seconds",
        EFFECT_OPERATOR_RESYNC: "1h",
        EFFECT_OPERATOR_LEADER_ELECTION: "true",
        EFFECT_OPERATOR_LEASE_NAMESPACE: "ops",
        EFFECT_OPERATOR_LEASE_NAME: "widgets",
        EFFECT_OPERATOR_LEASE_PER: "controller",
        EFFECT_OPERATOR_LEASE_DURATION: "30s",
        EFFECT_OPERATOR_RENEW_DEADLINE: "20s",
        EFFECT_OPERATOR_RETRY_PERIOD: "500ms"
      })
      assert.deepStrictEqual(settings, {
        drain: Duration.seconds(10),
        identity: "pod-a",
        controllers: {
          concurrency: 4,
          timeout: Duration.seconds(90),
          cacheSyncTimeout: Duration.seconds(30),
          resync: Duration.hours(1)
        },
        leaderElection: {
          enabled: true,
          per: "controller",
          namespace: "ops",
          name: "widgets",
          leaseDuration: Duration.seconds(30),
          renewDeadline: Duration.seconds(20),
          retryPeriod: Duration.millis(500)
        }
      })
    }))

  it.effect("without variables nothing is set", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* from({})).leaderElection, {})
      const controller = Controller.make("w", { for: Widget, reconcile: () => Effect.succeed(Action.done) })
      assert.strictEqual(Settings.applied(controller, yield* from({})), controller)
      assert.isUndefined(Settings.election(undefined, yield* from({})))
    }))

  for (
    const [name, value, says] of [
      ["EFFECT_OPERATOR_CONCURRENCY", "0", "greater than or equal to 1"],
      ["EFFECT_OPERATOR_CONCURRENCY", "many", "EFFECT_OPERATOR_CONCURRENCY"],
      ["EFFECT_OPERATOR_DRAIN", "soon", "must be a duration, such as 90s"],
      ["EFFECT_OPERATOR_DRAIN", "-5s", "must be a duration"],
      ["EFFECT_OPERATOR_RESYNC", "10ms", "must be at least 1 second"],
      ["EFFECT_OPERATOR_CACHE_SYNC_TIMEOUT", "0", "must be at least 1 second"],
      ["EFFECT_OPERATOR_TIMEOUT", "0", "must be above 0; leave it out for no limit"],
      ["EFFECT_OPERATOR_LEASE_PER", "cluster", "EFFECT_OPERATOR_LEASE_PER"]
    ] as const
  ) {
    it.effect(`${name}=${value} is refused, and the message says what is accepted`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(from({ [name]: value }))
        assert.include(error.message, says)
        assert.include(error.message, name)
      }))
  }

  it("durations are written as in Effect or in Go", () => {
    const millis = (text: string) => Option.getOrUndefined(Option.map(Settings.parseDuration(text), Duration.toMillis))
    assert.deepStrictEqual(
      ["90s", "1m30s", "1.5h", "250ms", "0", "2 minutes", " 3s "].map(millis),
      [90_000, 90_000, 5_400_000, 250, 0, 120_000, 3_000]
    )
    for (const text of ["", "s", "1", "1x", "1s 2", "Infinity", "-1s", "-1 seconds", "1m-3s"]) {
      assert.isUndefined(millis(text), text)
    }
  })
})

describe("Settings", () => {
  it("fill in what the code leaves out, and do not override it", () => {
    const reconcile = () => Effect.succeed(Action.done)
    const settings = { controllers: { concurrency: 8, resync: Duration.hours(1) } }
    const silent = Settings.applied(Controller.make("a", { for: Widget, reconcile }), settings)
    const stating = Settings.applied(Controller.make("b", { for: Widget, reconcile, concurrency: 2 }), settings)
    assert.deepStrictEqual([silent.concurrency, stating.concurrency], [8, 2])
    assert.deepStrictEqual([silent.resync, stating.resync], [Duration.hours(1), Duration.hours(1)])
  })

  it("a lease in the code is kept, completed, or switched off", () => {
    const options = { namespace: "ops", name: "mine" }
    const given = Settings.election(options, { leaderElection: { name: "theirs", retryPeriod: "1 second" } })
    assert.deepStrictEqual(given, { namespace: "ops", name: "mine", retryPeriod: "1 second" })
    assert.isUndefined(Settings.election(options, { leaderElection: { enabled: false } }))
    assert.deepStrictEqual(
      Settings.election(undefined, { identity: "a", leaderElection: { enabled: true, ...options } }),
      {
        ...options,
        identity: "a"
      }
    )
  })

  it.effect("reach the workers: concurrency, and the lease from the environment", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      for (const name of ["a", "b", "c"]) server.put(Widget, name, { spec: { size: 1 } })
      let most = 0
      let now = 0
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () =>
          Effect.gen(function*() {
            most = Math.max(most, ++now)
            yield* Effect.sleep("1 second")
            now -= 1
            return Action.done
          })
      })
      const env = {
        EFFECT_OPERATOR_CONCURRENCY: "3",
        EFFECT_OPERATOR_LEADER_ELECTION: "true",
        EFFECT_OPERATOR_LEASE_NAMESPACE: "default",
        EFFECT_OPERATOR_LEASE_NAME: "op",
        EFFECT_OPERATOR_IDENTITY: "me"
      }
      const settings = yield* Layer.build(
        Layer.provide(Settings.layer, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
      )
      const manager = yield* Effect.provide(operate(server, [controller]), settings)
      yield* pass("10 seconds")
      assert.strictEqual(most, 3)
      const { leases } = yield* manager.report
      assert.deepStrictEqual(leases.map(({ lease, status }) => [lease, status._tag]), [["default/op", "Leading"]])
      yield* settle
    }))

  it.effect("a controller that is added later gets those of its manager", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (let i = 0; i < 3; i++) server.put(Widget, `w${i}`, { spec: { size: 1 } })
      const settings = Context.make(Settings.Settings, { controllers: { concurrency: 3 } })
      const manager = yield* Effect.provide(operate(server, []), settings)
      let now = 0
      yield* manager.run(Controller.make("widgets", {
        for: Widget,
        reconcile: () =>
          Effect.suspend(() => {
            now += 1
            return Effect.as(Effect.sleep("1 second"), Action.done)
          })
      }))
      yield* settle
      const atOnce = now
      yield* pass("3 seconds")
      assert.strictEqual(atOnce, 3)
    }))

  it.effect("a lease without a name is an error that says what to set", () =>
    Effect.gen(function*() {
      const settings = Context.make(Settings.Settings, { leaderElection: { enabled: true } })
      const exit = yield* Effect.exit(Effect.provide(operate(new Server(Widget), []), settings))
      assert.include(String(exit), "EFFECT_OPERATOR_LEASE_NAME")
    }))
})

describe("Settings.fromFlags", () => {
  it.effect("knows each variable by its flag, with the value as the next argument, after =, or none for true", () =>
    Effect.gen(function*() {
      const args = ["--drain", "5s", "--lease-name=x", "--leader-election", "--concurrency", "2"]
      const provider = Result.getOrThrow(Settings.fromFlags(args))
      const settings = yield* Settings.config.parse(provider)
      assert.deepStrictEqual(settings.drain, Duration.seconds(5))
      assert.strictEqual(settings.controllers?.concurrency, 2)
      assert.deepStrictEqual(settings.leaderElection, { enabled: true, name: "x" })
    }))

  it("refuses unknown flags, and lists the known ones", () => {
    const refused = Result.getOrThrow(Result.flip(Settings.fromFlags(["--drian=5s"])))
    assert.include(refused.message, "unknown flag --drian")
    assert.include(refused.message, "--drain")
  })

  it("flags override the environment", () => {
    const provider = ConfigProvider.orElse(
      Result.getOrThrow(Settings.fromFlags(["--drain=5s"])),
      ConfigProvider.fromEnvRecord({ EFFECT_OPERATOR_DRAIN: "9s", EFFECT_OPERATOR_IDENTITY: "env" })
    )
    const { drain, identity } = Effect.runSync(Settings.config.parse(provider))
    assert.deepStrictEqual([drain, identity], [Duration.seconds(5), "env"])
  })
})
