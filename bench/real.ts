/**
 * On the real kube-apiserver of `KUBEBUILDER_ASSETS`: what status patches cost a client, and how long an object waits
 * for its status. Two operators run all the time, each in its own namespace, and take turns. Without the assets nothing
 * is measured.
 */
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Readline from "node:readline"
import * as Undici from "undici"
import { type Benchmark, median, result } from "./Benchmark.ts"
import { type Access, type Burst, path } from "./real/Contestant.ts"
import { definition } from "./Widget.ts"

const api = ({ caFile, token, url }: Access) => {
  const agent = new Undici.Agent({ bodyTimeout: 0, connect: { ca: Fs.readFileSync(caFile) } })
  return (method: "GET" | "POST", target: string, body?: unknown) =>
    agent.request({
      origin: url,
      path: target,
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
}

type Send = ReturnType<typeof api>

const create = async (send: Send, collection: string, object: unknown): Promise<void> => {
  for (let attempt = 0;; attempt++) {
    const { body, statusCode } = await send("POST", collection, object)
    const text = await body.text()
    if (statusCode === 201) return
    // A new kind is served a moment after its definition.
    if (statusCode !== 404 || attempt === 100) throw new Error(`${collection}: ${statusCode} ${text}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const widget = (name: string) => ({
  apiVersion: "bench.example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec: { size: 1 }
})

/** A contestant, which responds to each line of input with one line. */
const operator = (
  name: string,
  access: Access
): Effect.Effect<(question: string) => Promise<unknown>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        ChildProcess.spawn(
          process.execPath,
          ["--conditions=op-source", Path.join(import.meta.dirname, `real/${name}.ts`), JSON.stringify(access), name],
          { stdio: ["pipe", "pipe", "inherit"] }
        )
      ),
      (child) => Effect.sync(() => child.kill())
    ),
    (child) => {
      const lines = Readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = async (): Promise<unknown> => {
        const { done, value } = await lines.next()
        if (done === true) throw new Error(`${name} has ended`)
        return JSON.parse(value)
      }
      const ready = next()
      return async (question) => {
        await ready
        child.stdin.write(`${question}\n`)
        return await next()
      }
    }
  )

/**
 * Milliseconds from the creation of each object to its status, as seen by a third party, with ten objects a second per
 * namespace. Order and intervals are random: every ten seconds the server is slow for a moment while it writes its own
 * data, and a fixed rhythm could meet that each time.
 */
const latencies = async (send: Send, namespaces: ReadonlyArray<string>, each: number) => {
  // Watch from now on: a third party that first has to read existing objects would see the first status late.
  const { metadata } = await (await send("GET", `${path}/widgets?limit=1`)).body.json() as {
    readonly metadata: { readonly resourceVersion: string }
  }
  const { body } = await send("GET", `${path}/widgets?watch=true&resourceVersion=${metadata.resourceVersion}`)
  const sent = new Map<string, number>()
  const found = new Map(namespaces.map((namespace) => [namespace, [] as Array<number>]))
  let missing = namespaces.length * each
  const seen = (async () => {
    let rest = ""
    for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop()!
      for (const line of lines) {
        const { object } = JSON.parse(line) as {
          readonly object: {
            readonly metadata: { readonly name: string; readonly namespace: string }
            readonly status?: unknown
          }
        }
        const { name, namespace } = object.metadata
        const at = sent.get(`${namespace}/${name}`)
        if (at === undefined || object.status === undefined) continue
        sent.delete(`${namespace}/${name}`)
        found.get(namespace)!.push(performance.now() - at)
        missing -= 1
        if (missing === 0) return
      }
    }
  })()
  for (let n = 0; n < each; n++) {
    for (const namespace of Math.random() < 0.5 ? namespaces : namespaces.toReversed()) {
      sent.set(`${namespace}/late-${n}`, performance.now())
      await create(send, `${path}/namespaces/${namespace}/widgets`, widget(`late-${n}`))
      await new Promise((resolve) => setTimeout(resolve, 25 + 50 * Math.random()))
    }
  }
  await seen
  body.destroy()
  return found
}

const quantile = (values: ReadonlyArray<number>, part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!

const names = ["ours", "plain"] as const

const patches: Benchmark = {
  name: "real server",
  long: true,
  run: ({ quick }) =>
    process.env["KUBEBUILDER_ASSETS"] === undefined
      ? Effect.succeed([])
      : Effect.scoped(Effect.gen(function*() {
        const { caFile, token, url } = Context.get(
          yield* Effect.orDie(Layer.build(Envtest.layer)),
          Envtest.Envtest
        )
        const access: Access = { caFile, url, token: Redacted.value(token) }
        const send = api(access)
        const objects = quick ? 200 : 1_000
        yield* Effect.promise(() => create(send, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition))
        const operators = yield* Effect.promise(async () => {
          for (const name of names) {
            await create(send, "/api/v1/namespaces", { metadata: { name } })
            for (let n = 0; n < objects; n++) {
              await create(send, `${path}/namespaces/${name}/widgets`, widget(`widget-${n}`))
            }
          }
        }).pipe(Effect.andThen(Effect.all({ ours: operator("ours", access), plain: operator("plain", access) })))
        const bursts = { ours: [] as Array<Burst>, plain: [] as Array<Burst> }
        yield* Effect.promise(async () => {
          for (const name of names) {
            while (await operators[name]("known") !== objects) await new Promise((resolve) => setTimeout(resolve, 100))
          }
          for (let round = 1; round <= (quick ? 5 : 15) + 1; round++) {
            for (const name of names) {
              const burst = await operators[name](`burst ${round}`) as Burst
              // The first round is a warm-up.
              if (round > 1) bursts[name].push(burst)
            }
          }
        })
        const late = yield* Effect.promise(() => latencies(send, names, quick ? 30 : 2_000))
        const of = (name: typeof names[number], field: keyof Burst) => median(bursts[name].map((burst) => burst[field]))
        const wait = (name: typeof names[number], part: number) => quantile(late.get(name)!, part)
        const count = objects.toLocaleString("en")
        return [
          result({
            name: `7 ${count} status patches on a real kube-apiserver against undici loops: CPU`,
            unit: "ms",
            value: of("ours", "cpu"),
            baseline: of("plain", "cpu"),
            goal: { atMost: 1.15 },
            usual: 2
          }),
          result({
            name: `7 ${count} status patches on a real kube-apiserver against undici loops: real time`,
            unit: "ms",
            value: of("ours", "wall"),
            baseline: of("plain", "wall"),
            goal: { atMost: 1.1 },
            usual: 1.5
          }),
          result({
            name: "8 creation to status patched, at 10 per second, against an undici loop: p50 above it",
            unit: "ms",
            value: wait("ours", 0.5) - wait("plain", 0.5),
            baseline: wait("plain", 0.5),
            goal: { atMost: 0.5, of: "value" },
            usual: 0.5
          }),
          result({
            name: "8 creation to status patched, at 10 per second, against an undici loop: p99",
            unit: "ms",
            value: wait("ours", 0.99),
            baseline: wait("plain", 0.99),
            goal: { atMost: 1.1 },
            usual: quick ? 6 : 2
          })
        ]
      }))
}

export const real: ReadonlyArray<Benchmark> = [patches]
