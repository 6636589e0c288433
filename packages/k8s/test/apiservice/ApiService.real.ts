/** kubectl against an API of an operator's own, behind the aggregator of a real kube-apiserver and of the in-memory one. */
import { KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import * as ChildProcess from "node:child_process"
import * as Https from "node:https"
import * as Path from "node:path"
import { parse } from "yaml"
import * as ApiService from "../../src/ApiService.ts"
import { Namespace, Pod } from "../../src/kinds/core.v1.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import { ApiServer, HttpFacade } from "../../src/testing/index.ts"
import { folder } from "../support/folder.ts"
import { farmPods, Llama } from "./support.ts"

const service = { namespace: "farm", name: "api" }

const api = ApiService.make({
  group: "farm.example.com",
  version: "v1alpha",
  kinds: [
    ApiService.stored(Llama, {
      initial: [{
        metadata: { name: "dolly", namespace: "farm" },
        spec: { weight: 130.5, height: 1.8, color: "brown" }
      }],
      delete: ({ metadata: { name } }) =>
        name === "dolly" ? Effect.fail(new ApiService.Refused({ message: "dolly stays" })) : Effect.void
    }),
    farmPods
  ]
})

interface Output {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const kubectlOf = (kubeconfig: string, home: string) =>
(
  line: string,
  input = "",
  /** Is told what it has written so far. */
  onOutput: (stdout: string) => void = () => {}
) =>
  Effect.callback<Output>((resume) => {
    const child = ChildProcess.spawn(
      Path.join(process.env["KUBEBUILDER_ASSETS"]!, "kubectl"),
      [`--kubeconfig=${kubeconfig}`, "-n", "farm", ...line.split(" ")],
      { env: { HOME: home } }
    )
    let [stdout, stderr] = ["", ""]
    child.stdout.on("data", (chunk: Buffer) => onOutput(stdout += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => stderr += chunk.toString())
    child.on("close", (code) => resume(Effect.succeed({ code, stdout, stderr })))
    child.stdin.end(input)
    return Effect.sync(() => void child.kill("SIGTERM"))
  })

const eventually = <A, E, R>(what: string, look: Effect.Effect<A, E, R>, is: (value: A) => boolean) =>
  Effect.gen(function*() {
    let last: A | undefined
    for (let n = 0; n < 300; n++) {
      last = yield* look
      if (is(last)) return last
      yield* Effect.sleep("200 millis")
    }
    return yield* Effect.die(new Error(`never: ${what}; last: ${JSON.stringify(last)}`))
  })

const columns = (text: string) => text.trim().split("\n").map((line) => line.trim().split(/\s+/))

const llama = (name: string, spec: object, more: object = {}) =>
  JSON.stringify({ apiVersion: Llama.apiVersion, kind: "Llama", metadata: { name }, spec, ...more })

/** The story, by kubectl and by the client. */
const story = Effect.fnUntraced(function*(kubeconfig: string) {
  const client = yield* KubeClient.KubeClient
  const home = yield* folder({})
  const kubectl = kubectlOf(kubeconfig, home)
  yield* client.create(Namespace, { metadata: { name: "farm" } })
  yield* client.create(Pod, {
    metadata: { namespace: "farm", name: "web" },
    spec: { containers: [{ name: "a", image: "a" }, { name: "b", image: "b" }] }
  }).pipe(Effect.retry({ times: 100, schedule: Schedule.spaced("100 millis") }))
  const server = Context.get(
    yield* Layer.build(
      ApiService.layer(api, { name: "farm", service, address: "127.0.0.1:0", closeGrace: "1 second" })
    ),
    ApiService.ApiServiceServer
  )
  const { port } = yield* server.ready
  yield* ApiService.install(api, { service: { ...service, port }, localhost: true })
  yield* eventually("the API is served", kubectl("get llamas"), ({ code }) => code === 0)

  const first = yield* kubectl("get llamas")
  assert.deepStrictEqual(columns(first.stdout), [["NAME", "WEIGHT"], ["dolly", "130.5"]])
  assert.strictEqual((yield* server.status).trouble, undefined)
  const wide = columns((yield* kubectl("get llamas -o wide")).stdout)
  assert.deepStrictEqual(wide, [["NAME", "WEIGHT", "COLOR"], ["dolly", "130.5", "brown"]])
  const pods = yield* eventually(
    "the Pod is shown",
    Effect.map(kubectl("get farmpods -o wide"), ({ stdout }) => columns(stdout)),
    (rows) => rows.length === 2
  )
  assert.deepStrictEqual(pods, [["NAME", "CONTAINERS"], ["farm-web", "2"]])

  const yaml = parse((yield* kubectl("get llama dolly -o yaml")).stdout)
  assert.deepInclude(yaml, { apiVersion: "farm.example.com/v1alpha", kind: "Llama" })
  assert.deepStrictEqual(yaml.spec, { weight: 130.5, height: 1.8, color: "brown" })
  assert.strictEqual(yaml.metadata.generation, 1)

  const resources = columns((yield* kubectl("api-resources --api-group farm.example.com --no-headers")).stdout)
  assert.deepStrictEqual(resources.map(([name]) => name), ["farmpods", "llamas"])

  // Documents of aggregated servers are fetched in the background.
  const explained = yield* eventually("explained", kubectl("explain llama.spec"), ({ code }) => code === 0)
  assert.match(explained.stdout, /weight\t?\s*<number>/)

  const followed = new Set<string>()
  const follows = (row: string) =>
    eventually(`a row ${row}`, Effect.sync(() => [...followed]), (rows) => rows.includes(row))
  yield* Effect.forkScoped(kubectl("get llamas -w --no-headers", "", (output) => {
    const lines = output.slice(0, output.lastIndexOf("\n") + 1)
    for (const [name, weight] of columns(lines)) if (weight !== undefined) followed.add(`${name} ${weight}`)
  }))
  yield* follows("dolly 130.5")

  const created = yield* kubectl("create -f -", llama("fred", { weight: 90, height: 1.5 }))
  assert.strictEqual(created.stdout, "llama.farm.example.com/fred created\n", created.stderr)
  assert.include((yield* kubectl("create -f -", llama("fred", { weight: 90, height: 1.5 }))).stderr, "AlreadyExists")
  const invalid = yield* kubectl("create --validate=false -f -", llama("ned", { weight: -1, height: 1 }))
  assert.include(invalid.stderr, `The Llama "ned" is invalid: spec.weight: Invalid value: -1`)
  const unknown = yield* kubectl("create -f -", llama("ned", { weight: 1, height: 1, wings: 2 }))
  assert.include(unknown.stderr, "wings")
  const applied = yield* kubectl("apply -f -", llama("fred", { weight: 91, height: 1.5, color: "white" }))
  assert.include(applied.stdout, "llama.farm.example.com/fred configured", applied.stderr)
  const again = yield* kubectl("apply -f -", llama("fred", { weight: 91, height: 1.5, color: "white" }))
  assert.include(again.stdout, "unchanged")
  const patched = yield* kubectl(`patch llama fred --type json -p [{"op":"replace","path":"/spec/weight","value":92}]`)
  assert.include(patched.stdout, "fred patched")
  assert.include(
    (yield* kubectl("apply --server-side -f -", llama("fred", { weight: 1, height: 1 }))).stderr,
    "media type"
  )
  assert.include((yield* kubectl("label llama fred herd=north")).stdout, "labeled")
  const selected = yield* kubectl("get llamas -l herd=north -o name --field-selector spec.color=white")
  assert.strictEqual(selected.stdout, "llama.farm.example.com/fred\n")
  const described = yield* kubectl("describe llama fred")
  assert.match(described.stdout, /Weight:\s+92/)

  // Who may do what is the cluster's to say.
  const nobody = yield* kubectl("get llamas --as jane")
  assert.include(nobody.stderr, `User "jane" cannot list resource "llamas" in API group "farm.example.com"`)

  assert.include((yield* kubectl("delete llama dolly")).stderr, "dolly stays")
  assert.include((yield* kubectl("delete llama fred")).stdout, `"fred" deleted`)
  assert.include((yield* kubectl("get llama fred")).stderr, `llamas.farm.example.com "fred" not found`)
  assert.include((yield* kubectl("delete farmpod farm-web")).stderr, "MethodNotAllowed")

  yield* client.delete(Pod, { namespace: "farm", name: "web" }, { gracePeriodSeconds: 0 })
  yield* eventually("the Pod is gone", kubectl("get farmpods"), ({ stdout }) => stdout === "")
  yield* follows("fred 92")
  assert.deepStrictEqual([...followed], ["dolly 130.5", "fred 90", "fred 91", "fred 92"])

  // The client of the operator's own package sees no difference to a custom resource.
  const own = yield* client.get(Llama, { namespace: "farm", name: "dolly" })
  assert.strictEqual(own.spec.color, "brown")

  const direct = yield* Effect.promise(() => anonymously(port))
  assert.strictEqual(direct, 401)
}, Effect.scoped)

/** What somebody is answered who comes past the aggregator and says he is an administrator. */
const anonymously = (port: number) =>
  new Promise<number | undefined>((resolve, reject) => {
    Https.get({
      port,
      host: "127.0.0.1",
      path: "/apis/farm.example.com/v1alpha/llamas",
      rejectUnauthorized: false,
      headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" }
    }, ({ statusCode }) => resolve(statusCode)).on("error", reject)
  })

const memory = HttpFacade.layer().pipe(Layer.provide(ApiServer.ApiServer.layer))

it.live("in memory", () =>
  Effect.gen(function*() {
    const facade = yield* HttpFacade.HttpFacade
    const home = yield* folder({ kubeconfig: facade.kubeconfig })
    yield* story(Path.join(home, "kubeconfig")).pipe(
      Effect.provide(LiveClient.layerOptions({ kubeconfig: facade.kubeconfig }))
    )
  }).pipe(Effect.provide(memory)))

it.live("on a real kube-apiserver", () =>
  Effect.gen(function*() {
    const { kubeconfigPath } = yield* Envtest.Envtest
    yield* story(kubeconfigPath)
  }).pipe(Effect.provide(Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer)))), 180_000)
