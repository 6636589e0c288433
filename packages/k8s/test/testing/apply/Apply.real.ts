import { Transport } from "@effect-operator/core/Transport"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as LiveClient from "../../../src/LiveClient.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as Envtest from "../../../src/testing/Envtest.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"
import { beginsApart, goesApart, leavesNull, mask } from "../support/ApplyMask.ts"
import { draw, type Json, type Kind, type Step, widgetDefinition } from "../support/ApplyScenario.ts"
import { RandomJson } from "../support/RandomJson.ts"

type Connection = Context.Service.Shape<typeof Transport>

const real = Layer.unwrap(
  Effect.map(Envtest.Envtest, ({ clusterConfig }) => LiveClient.transportLayerCluster(clusterConfig))
).pipe(Layer.provide(Envtest.layerOptions({ controllerManager: false })))

const memory = TestClient.transportLayer.pipe(Layer.provide(ApiServer.layer))

const send = (to: Connection, step: Omit<Step, "body">, body: unknown) =>
  Effect.map(
    Effect.orDie(to.request({
      method: step.method,
      path: step.path,
      query: step.query,
      headers: {
        accept: "application/json",
        "user-agent": step.userAgent,
        ...(body === undefined ? {} : { "content-type": step.contentType })
      },
      ...(body === undefined ? {} : { body })
    })),
    ({ body, status }) => ({ status, body: body as Json })
  )

const post = (to: Connection, path: string, body: Json) =>
  send(to, { method: "POST", path, query: [], contentType: "application/json", userAgent: "test/1" }, body)

const take = Effect.fnUntraced(function*(to: Connection, kind: Kind, namespace: string, step: Step) {
  const collection = kind.collection(namespace)
  const whole = { ...step, path: collection + step.path }
  if (typeof step.body !== "function") return yield* send(to, whole, step.body)
  const found = yield* send(to, { ...step, method: "GET", path: `${collection}/a`, query: [] }, undefined)
  if (found.status !== 200) return undefined
  const { managedFields: _, ...metadata } = found.body["metadata"]
  return yield* send(to, whole, JSON.parse(JSON.stringify(step.body({ ...found.body, metadata }))))
})

const group = "apply.example.com"

/** Runs the sequence of a seed on both; the result is how many steps were compared. */
const compare = Effect.fnUntraced(function*(servers: readonly [Connection, Connection], seed: number) {
  const namespace = `seed-${seed}`
  const { kind, steps } = draw(new RandomJson(seed), group)
  for (const to of servers) {
    yield* post(to, "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  }
  let compared = 0
  for (const [index, step] of steps.entries()) {
    // Old servers do not track writes through Scale.
    if (step.path.endsWith("/scale")) continue
    const mine = yield* take(servers[0], kind, namespace, step)
    const theirs = yield* take(servers[1], kind, namespace, step)
    if (mine === undefined || theirs === undefined) continue
    if (beginsApart(theirs.body, step.path) || leavesNull(theirs.body)) break
    assert.deepStrictEqual(
      mask(mine.status, mine.body),
      mask(theirs.status, theirs.body),
      `seed ${seed}, step ${index}: ${step.method} ${step.path} ${JSON.stringify(step.body)}`
    )
    compared++
    if (goesApart(mine.body) || goesApart(theirs.body)) break
  }
  return compared
})

it.live("keeps managedFields as a real server does, through random writes", () =>
  Effect.gen(function*() {
    const servers = [
      Context.get(yield* Layer.build(memory), Transport),
      Context.get(yield* Layer.build(real), Transport)
    ] as const
    const minor = Number(
      (yield* send(
        servers[1],
        { method: "GET", path: "/version", query: [], contentType: "", userAgent: "test/1" },
        undefined
      )).body["minor"]
    )
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for (const to of servers) {
      yield* post(to, definitions, widgetDefinition(group, minor < 22 ? { type: "string" } : undefined))
    }
    // Where nobody writes.
    const served = (to: Connection) =>
      send(
        to,
        { method: "GET", path: `/apis/${group}/v1/namespaces/none/widgets`, query: [], contentType: "", userAgent: "" },
        undefined
      )
    for (const to of servers) {
      yield* Effect.repeat(Effect.delay(served(to), "50 millis"), { until: ({ status }) => status === 200 })
    }
    const first = Number(process.env["APPLY_SEED"] ?? 1)
    const until = performance.now() + Number(process.env["APPLY_SECONDS"] ?? 5) * 1000
    let steps = 0
    let seed = first
    for (; performance.now() < until || steps <= 20; seed++) {
      steps += yield* compare(servers, seed)
    }
    console.log(`seeds ${first} to ${seed - 1}: ${steps} steps compared`)
    assert.isAbove(steps, 20)
  }))
