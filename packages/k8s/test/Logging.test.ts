import { Logging } from "@effect-operator/k8s"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Logger, Random, Redacted, References } from "effect"

/** What a program logs, line by line, as JSON values. */
const logged = (program: Effect.Effect<unknown>) =>
  Effect.gen(function*() {
    const lines: Array<Record<string, unknown>> = []
    const collect = Logger.make<unknown, void>((options) => {
      lines.push(JSON.parse(JSON.stringify(Logging.fieldsOf(options))))
    })
    yield* Effect.provide(program, Logger.layer([collect]))
    return lines
  })

describe("Logging", () => {
  it.effect("a line says when, how bad, what, and about what, flat", () =>
    Effect.gen(function*() {
      const lines = yield* logged(
        Effect.logWarning("reconcile failed", Cause.fail(new Error("no such thing"))).pipe(
          Effect.annotateLogs({ controller: "widgets", namespace: "default", name: "a", reconcileID: "1-1" })
        )
      )
      const [{ error, ...line }] = lines as [Record<string, unknown>]
      assert.deepStrictEqual(line, {
        timestamp: "1970-01-01T00:00:00.000Z",
        level: "WARN",
        message: "reconcile failed",
        controller: "widgets",
        namespace: "default",
        name: "a",
        reconcileID: "1-1"
      })
      assert.include(error as string, "no such thing")
    }))

  it("contents of Secrets, credentials by name, and what looks like one in a text, are not logged", () => {
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
    for (
      const [value, shown] of [
        [
          {
            kind: "Secret",
            metadata: { name: "db" },
            data: { password: "aHVudGVyMg==" },
            stringData: { a: "hunter2" }
          },
          {
            kind: "Secret",
            metadata: { name: "db" },
            data: { password: "<redacted>" },
            stringData: { a: "<redacted>" }
          }
        ],
        [{ password: "hunter2", user: "me" }, { password: "<redacted>", user: "me" }],
        [{ clientSecret: "x", "client-key-data": "y", apiKey: "z" }, {
          clientSecret: "<redacted>",
          "client-key-data": "<redacted>",
          apiKey: "<redacted>"
        }],
        [{ headers: { Authorization: "Basic aHVudGVyMg==" } }, { headers: { Authorization: "<redacted>" } }],
        [{ env: [{ name: "DB_PASSWORD", value: "hunter2" }, { name: "MODE", value: "fast" }] }, {
          env: [{ name: "DB_PASSWORD", value: "<redacted>" }, { name: "MODE", value: "fast" }]
        }],
        [Redacted.make("hunter2"), "<redacted>"],
        [`sent Bearer ${token}`, "sent Bearer <redacted>"],
        [`token ${token} expired`, "token <redacted> expired"],
        ["postgres://app:hunter2@db:5432/x", "postgres://<redacted>@db:5432/x"],
        ["GET /?token=hunter2&x=1", "GET /?token=<redacted>&x=1"],
        [`{"password":"hunter2"}`, `{"password":"<redacted>"}`],
        ["-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----", "<redacted>"],
        [{ metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } } }, {
          metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "<redacted>" } }
        }]
      ] as ReadonlyArray<readonly [unknown, unknown]>
    ) assert.deepStrictEqual(Logging.redact(value), shown)
  })

  it("what is no credential stays as it is", () => {
    for (
      const value of [
        "secret default/db not found",
        "tokens: 3 of 5",
        { secretName: "db", tokenExpirationSeconds: 3600, key: "default/a", secretRef: { name: "db" } },
        { automountServiceAccountToken: false, name: "token-controller" },
        "watch:secrets failed: Forbidden: secrets is forbidden",
        null,
        [1, true, "x"]
      ]
    ) assert.deepStrictEqual(Logging.redact(value), value)
  })

  it("total: cycles, throwing getters, depth, dates, bigints, maps, errors", () => {
    const cycle: Record<string, unknown> = { a: 1 }
    cycle["self"] = cycle
    assert.deepStrictEqual(Logging.redact(cycle), { a: 1, self: "…" })
    const throwing = {
      get a(): never {
        throw new Error("no")
      }
    }
    assert.match(Logging.redact(throwing) as string, /cannot be shown/)
    assert.deepStrictEqual(Logging.redact({ a: new Date(0), b: 1n, c: new Map([["k", "v"]]), d: new Date(NaN) }), {
      a: "1970-01-01T00:00:00.000Z",
      b: "1",
      c: [["k", "v"]],
      d: null
    })
    assert.include(Logging.redact(new Error("password=hunter2")) as string, "password=<redacted>")
    assert.isBelow((Logging.redact("x".repeat(1_000_000)) as string).length, 20_000)
    let deep: unknown = "end"
    for (let i = 0; i < 1000; i++) deep = { deep }
    assert.isString(JSON.stringify(Logging.redact(deep)))
  })

  it.effect("no secret in any rendered line, wherever it hides", () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 300; seed++) {
        yield* Effect.gen(function*() {
          const pick = <A>(values: ReadonlyArray<A>) =>
            Effect.map(Random.nextIntBetween(0, values.length - 1), (i) => values[i]!)
          const secret = `S${(yield* Random.nextIntBetween(1e8, 9e8)).toString(36)}x${yield* Random.nextIntBetween(
            1e8,
            9e8
          )}`
          let value: unknown = yield* pick<unknown>([
            { token: secret },
            { db_password: secret },
            { kind: "Secret", data: { any: secret, other: { nested: secret } } },
            { name: "API_KEY", value: secret },
            Redacted.make(secret),
            `https://user:${secret}@host/x`,
            `Authorization: Bearer ${secret}`,
            `password=${secret}`,
            `{"clientSecret":"${secret}"}`,
            new Error(`login failed: token=${secret}`),
            Cause.fail(new Error(`Bearer ${secret}`)),
            `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`
          ])
          const depth = yield* Random.nextIntBetween(0, 6)
          for (let i = 0; i < depth; i++) {
            value = yield* pick<unknown>([{ inner: value }, [value, 1], new Map([["k", value]]), {
              kind: "Pod",
              spec: value
            }])
          }
          const lines = yield* logged(
            Effect.logError("failed", value).pipe(Effect.annotateLogs({ object: value }))
          )
          assert.notInclude(JSON.stringify(lines), secret, `SEED=${seed}`)
        }).pipe(Random.withSeed(seed))
      }
    }))

  it.effect("level and format come from configuration, as one likes to write them", () =>
    Effect.gen(function*() {
      const parse = (env: Record<string, string>) => Logging.config.parse(ConfigProvider.fromEnvRecord(env))
      const named = yield* parse({ EFFECT_OPERATOR_LOG_LEVEL: "debug", EFFECT_OPERATOR_LOG_FORMAT: "logfmt" })
      assert.deepStrictEqual(named, { level: "Debug", format: "logfmt" })
      assert.deepStrictEqual(yield* parse({}), { level: undefined, format: undefined })
      assert.include(
        (yield* Effect.flip(parse({ EFFECT_OPERATOR_LOG_LEVEL: "loud" }))).message,
        "EFFECT_OPERATOR_LOG_LEVEL"
      )
      const level = yield* Effect.provide(References.MinimumLogLevel, Logging.layer({ level: "Error" }))
      assert.strictEqual(level, "Error")
    }))
})
