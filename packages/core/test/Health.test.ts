import { Health, type Manager } from "@effect-operator/core"
import { NotFound, Unauthorized } from "@effect-operator/core/KubeError"
import { assert, describe, it } from "@effect/vitest"

type Watch = Manager.Report["watches"][number]

const live = { _tag: "Live", since: 0 } as const
const degraded = {
  _tag: "Degraded",
  since: 60_000,
  failures: 3,
  reason: new NotFound({ message: "the server could not find the requested resource", code: 404 })
} as const

const watch = (more: Partial<Watch>): Watch => ({
  resource: "Pod.v1",
  plural: "pods",
  cluster: undefined,
  namespace: undefined,
  selector: "",
  status: live,
  lastEventAt: 0,
  quietFor: 0,
  synced: true,
  objects: 0,
  bytes: 0,
  unconfirmed: 0,
  traffic: { relists: 0, restarts: 0, failures: 0 },
  ...more
})

const report = (more: Partial<Manager.Report>): Manager.Report => ({
  controllers: [],
  watches: [],
  leases: [],
  parts: [],
  stopping: false,
  failed: undefined,
  ...more
})

const queue = { ready: 0, waiting: 0, processing: 0 }

const wrong = (checks: ReadonlyArray<Health.Check>) =>
  checks.filter(({ failure }) => failure !== undefined).map(({ failure, name }) => `${name}: ${failure}`)

describe("Health", () => {
  it("every watch, lease and controller has a check of its own name", () => {
    const checks = Health.readiness(report({
      watches: [
        watch({}),
        watch({ namespace: "a" }),
        watch({ namespace: "a", selector: "app=web" }),
        watch({ resource: "Pod.v1@east", cluster: "east" })
      ],
      leases: [{ lease: "ops/x", status: { _tag: "Standby", leader: "other" }, trouble: undefined }],
      controllers: [{
        name: "c",
        resource: "Pod.v1",
        status: { _tag: "Running", since: 0 },
        waitingFor: [],
        queue
      }]
    }))
    assert.deepStrictEqual(checks.map(({ name }) => name), [
      "ping",
      "shutdown",
      "watch:pods",
      "watch:pods@a",
      "watch:pods@a[app=web]",
      "watch:pods/east",
      "lease:ops/x",
      "controller:c"
    ])
    assert.deepStrictEqual(wrong(checks), [])
  })

  it("a watch without its list, or degraded, is not ready, but no reason for a restart", () => {
    const bad = report({
      watches: [
        watch({ synced: false, status: { _tag: "Listing" } }),
        watch({ status: degraded, plural: "webs.test.io" }),
        watch({ status: degraded, plural: "gateways.gateway.networking.k8s.io" }),
        watch({ status: degraded }),
        watch({ status: { ...degraded, reason: new Unauthorized({ message: "Unauthorized", code: 401 }) } })
      ]
    })
    assert.deepStrictEqual(wrong(Health.readiness(bad)), [
      "watch:pods: the API server has not answered the list request",
      "watch:webs.test.io: NotFound: the server could not find the requested resource " +
      "(is its CustomResourceDefinition installed?), since 1970-01-01T00:01:00.000Z",
      "watch:gateways.gateway.networking.k8s.io: NotFound: the server could not find the requested resource " +
      "(is its CustomResourceDefinition installed?), since 1970-01-01T00:01:00.000Z",
      "watch:pods: NotFound: the server could not find the requested resource " +
      "(is the server address that of an API server, and does it serve this version?), since 1970-01-01T00:01:00.000Z",
      "watch:pods: Unauthorized: Unauthorized " +
      "(have the operator's credentials expired, or are they for another cluster?), since 1970-01-01T00:01:00.000Z"
    ])
    assert.deepStrictEqual(wrong(Health.liveness(bad)), [])
  })

  it("a relist is not a failure: the cache keeps its content", () => {
    assert.deepStrictEqual(wrong(Health.readiness(report({ watches: [watch({ status: { _tag: "Listing" } })] }))), [])
  })

  it("a part that ended is a reason for a restart", () => {
    assert.deepStrictEqual(wrong(Health.liveness(report({ failed: "reflector x ended" }))), [
      "parts: reflector x ended"
    ])
  })

  it("a stopping manager is not ready, nor is a controller that waits for its caches", () => {
    const controller = { resource: "Pod.v1", status: { _tag: "Running", since: 0 }, queue } as const
    const bad = report({
      stopping: true,
      controllers: [{ ...controller, name: "c", waitingFor: ["Pod.v1: Forbidden: no", "Job.v1: Listing"] }]
    })
    assert.deepStrictEqual(wrong(Health.readiness(bad)), [
      "shutdown: the process is stopping",
      "controller:c: waiting for Pod.v1: Forbidden: no; Job.v1: Listing"
    ])
    assert.deepStrictEqual(wrong(Health.liveness(bad)), [])
  })

  const checks = [{ name: "ping", failure: undefined }, { name: "a/b", failure: "line one\nline two" }]

  it("the responses have the kube-apiserver's format, one line per check", () => {
    assert.deepStrictEqual(Health.answer(checks, { endpoint: "readyz" }), {
      status: 500,
      body: "[+]ping ok\n[-]a/b failed: line one line two\nreadyz check failed\n"
    })
    assert.deepStrictEqual(Health.answer(checks, { endpoint: "readyz", exclude: ["a/b"] }), { status: 200, body: "ok" })
    assert.deepStrictEqual(Health.answer(checks.slice(0, 1), { endpoint: "livez", verbose: true }), {
      status: 200,
      body: "[+]ping ok\nlivez check passed\n"
    })
    assert.deepStrictEqual(
      Health.answer(checks, { endpoint: "readyz", verbose: true, only: "", exclude: ["a/b", "c", "d"] }),
      {
        status: 200,
        body: "[+]ping ok\n[+]a/b excluded: ok\n" +
          "warn: some health checks cannot be excluded: no matches for \"c\",\"d\"\nreadyz check passed\n"
      }
    )
    assert.deepStrictEqual(Health.answer(checks, { endpoint: "readyz", only: "ping" }), { status: 200, body: "ok" })
    assert.deepStrictEqual(Health.answer(checks, { endpoint: "readyz", only: "a/b" }).status, 500)
    assert.deepStrictEqual(Health.answer(checks, { endpoint: "readyz", only: "c" }).status, 404)
  })
})
