/**
 * kubectl, the program itself, against the in-memory server over HTTPS: what people type first, and what they get.
 *
 * Takes the kubectl of `KUBEBUILDER_ASSETS`; any release from 1.20 on is expected to work. Every command gets a home of
 * its own run, so that nobody's cached discovery hides what the server says.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const assets = process.env["KUBEBUILDER_ASSETS"]
if (assets === undefined) throw new Error("KUBEBUILDER_ASSETS must name a directory with kubectl")

const cluster = Layer.mergeAll(HttpFacade.layer(), SimControllers.layer({ namespaces: { delay: "100 millis" } })).pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.layer)
)

interface Output {
  readonly code: number
  readonly text: string
}

/** A shell for one test: a directory with the kubeconfig and the files given, and kubectl in it. */
const shell = Effect.fnUntraced(function*(files: Readonly<Record<string, string>> = {}) {
  const { kubeconfig } = yield* HttpFacade.HttpFacade
  const home = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "kubectl-test-"))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
  )
  Fs.writeFileSync(Path.join(home, "kubeconfig"), kubeconfig, { mode: 0o600 })
  for (const [name, content] of Object.entries(files)) Fs.writeFileSync(Path.join(home, name), content, { mode: 0o755 })

  const start = (args: ReadonlyArray<string>) =>
    ChildProcess.spawn(Path.join(assets, "kubectl"), args, {
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home, KUBECONFIG: Path.join(home, "kubeconfig"), EDITOR: "./edit" }
    })

  /** Standard output and error of a command, without kubectl's opinion of the server's version. */
  const run = (args: ReadonlyArray<string>): Effect.Effect<Output> =>
    Effect.callback((resume) => {
      const child = start(args)
      let text = ""
      const onData = (data: Buffer) => {
        text += data.toString()
      }
      child.stdout.on("data", onData)
      child.stderr.on("data", onData)
      child.on("close", (code) =>
        resume(Effect.succeed({ code: code ?? -1, text: text.replace(/^WARNING: version.*\n/gm, "").trim() })))
      return Effect.sync(() =>
        child.kill()
      )
    })

  /** The output of a command that must succeed; the words are separated by spaces, quotes keep some together. */
  const kubectl = (line: string) =>
    Effect.map(run(words(line)), ({ code, text }) => {
      assert.strictEqual(code, 0, `kubectl ${line}: ${text}`)
      return text
    })

  /** The output of a command that must fail. */
  const refused = (line: string) =>
    Effect.map(run(words(line)), ({ code, text }) => {
      assert.notStrictEqual(code, 0, `kubectl ${line}: ${text}`)
      return text
    })

  return { kubectl, refused, start }
})

const words = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "")

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: autoscalers.test.skuber.io }
spec:
  group: test.skuber.io
  scope: Namespaced
  names: { plural: autoscalers, singular: autoscaler, kind: Autoscaler, shortNames: [as] }
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: { specReplicasPath: .spec.desiredReplicas, statusReplicasPath: .status.availableReplicas }
    additionalPrinterColumns: [{ name: Desired, type: integer, jsonPath: .spec.desiredReplicas }]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [desiredReplicas]
            properties:
              desiredReplicas: { type: integer, minimum: 0, description: how many Pods there shall be }
              image: { type: string }
          status: { type: object, properties: { availableReplicas: { type: integer } } }
`

const autoscaler = (spec: string) => `
apiVersion: test.skuber.io/v1
kind: Autoscaler
metadata: { name: a }
spec: { ${spec} }
`

const builtins = `
apiVersion: v1
kind: ConfigMap
metadata: { name: cm }
data: { a: "1" }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: nginx, ports: [{ containerPort: 80 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`

const names = (text: string) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "")

describe("kubectl", () => {
  it.live("discovers what is served, from the first command on", () =>
    Effect.gen(function*() {
      const { kubectl } = yield* shell()
      assert.include(names(yield* kubectl("get ns -o name")), "namespace/default")
      assert.include(yield* kubectl("version"), "Server Version")
      const resources = yield* kubectl("api-resources --no-headers")
      assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m)
      assert.include(names(yield* kubectl("api-versions")), "batch/v1")
      assert.strictEqual(yield* kubectl("get --raw /healthz"), "ok")
    }).pipe(Effect.provide(cluster)), 60_000)

  it.live("applies a definition and its objects, with validation", () =>
    Effect.gen(function*() {
      const { kubectl, refused } = yield* shell({
        "crd.yaml": definition,
        "a.yaml": autoscaler("desiredReplicas: 2, image: nginx"),
        "wrong.yaml": autoscaler("desiredReplicas: two"),
        "unknown.yaml": autoscaler("desiredReplicas: 2, imag: nginx")
      })
      assert.match(yield* kubectl("apply -f crd.yaml"), /autoscalers.test.skuber.io created$/)
      yield* kubectl("wait --for=condition=Established crd/autoscalers.test.skuber.io --timeout=10s")
      assert.strictEqual(yield* kubectl("apply -f a.yaml"), "autoscaler.test.skuber.io/a created")
      assert.strictEqual(yield* kubectl("apply -f a.yaml"), "autoscaler.test.skuber.io/a unchanged")
      assert.match(yield* refused("apply -f wrong.yaml"), /desiredReplicas/)
      assert.match(yield* refused("apply -f unknown.yaml"), /unknown field "?(spec\.)?imag"?/)
      assert.match(yield* kubectl("get as"), /^NAME +DESIRED.*\na +2/)
      assert.match(yield* kubectl("explain autoscaler.spec"), /how many Pods there shall be/)
      assert.match(yield* kubectl("scale as/a --replicas=5"), /scaled$/)
      assert.strictEqual(yield* kubectl("get as a -o jsonpath={.spec.desiredReplicas}"), "5")
      assert.match(yield* kubectl("replace -f a.yaml"), /replaced$/)
      assert.match(yield* refused("create -f a.yaml"), /already exists/)
      assert.match(yield* kubectl("apply --dry-run=server -f a.yaml"), /\(server dry run\)$/)
      yield* kubectl("delete crd autoscalers.test.skuber.io")
      yield* refused("get as a")
    }).pipe(Effect.provide(cluster)), 60_000)

  it.live("applies, reads and deletes built-in kinds", () =>
    Effect.gen(function*() {
      const { kubectl, refused } = yield* shell({ "all.yaml": builtins })
      const created = "configmap/cm created\ndeployment.apps/web created\nservice/web created"
      assert.strictEqual(yield* kubectl("apply -f all.yaml"), created)
      assert.strictEqual(yield* kubectl("apply -f all.yaml"), created.replaceAll("created", "unchanged"))
      assert.strictEqual(
        yield* kubectl("get -f all.yaml -o name"),
        "configmap/cm\ndeployment.apps/web\nservice/web"
      )
      assert.match(yield* kubectl("get deploy web -o wide"), /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS/)
      assert.match(yield* kubectl("get cm cm -o yaml"), /^apiVersion: v1\ndata:\n {2}a: "1"\nkind: ConfigMap\n/)
      assert.strictEqual(JSON.parse(yield* kubectl("get cm cm -o json")).data.a, "1")
      assert.match(yield* kubectl("explain deployment.spec.replicas"), /integer/)
      yield* kubectl("set image deploy/web main=nginx:2")
      yield* kubectl("scale deploy/web --replicas=3")
      assert.strictEqual(
        yield* kubectl("get deploy web -o jsonpath={.spec.replicas}/{.spec.template.spec.containers[0].image}"),
        "3/nginx:2"
      )
      yield* kubectl("delete -f all.yaml")
      assert.match(yield* refused("get cm cm"), /configmaps "cm" not found/)
    }).pipe(Effect.provide(cluster)), 60_000)

  it.live("creates, edits, patches, labels and annotates", () =>
    Effect.gen(function*() {
      const { kubectl } = yield* shell({ edit: "#!/bin/sh\nsed -i 's/a: \"1\"/a: edited/' \"$1\"\n" })
      yield* kubectl("create configmap cm --from-literal=a=1")
      yield* kubectl("create namespace team")
      yield* kubectl("create secret generic s --from-literal=key=value -n team")
      assert.strictEqual(yield* kubectl("get secret s -n team -o jsonpath={.data.key}"), "dmFsdWU=")
      assert.strictEqual(yield* kubectl("auth can-i create pods"), "yes")
      assert.match(yield* kubectl("edit configmap cm"), /edited$/)
      yield* kubectl("patch cm cm --type=merge -p '{\"data\":{\"b\":\"2\"}}'")
      yield* kubectl("patch cm cm --type=json -p '[{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"3\"}]'")
      yield* kubectl("patch cm cm -p '{\"data\":{\"d\":\"4\"}}'")
      yield* kubectl("label cm cm color=blue")
      yield* kubectl("annotate cm cm note=x")
      const { data, metadata } = JSON.parse(yield* kubectl("get cm cm -o json"))
      assert.deepStrictEqual(data, { a: "edited", b: "2", c: "3", d: "4" })
      assert.deepStrictEqual([metadata.labels.color, metadata.annotations.note], ["blue", "x"])
      assert.strictEqual(yield* kubectl("get cm -l color=blue -o name"), "configmap/cm")
      assert.strictEqual(yield* kubectl("get cm -A --field-selector metadata.name=cm -o name"), "configmap/cm")
      yield* kubectl("delete namespace team")
      assert.notInclude(yield* kubectl("get ns"), "team")
    }).pipe(Effect.provide(cluster)), 60_000)

  it.live("runs Pods, waits for them and watches them go", () =>
    Effect.gen(function*() {
      const { kubectl, refused, start } = yield* shell()
      const watch = start(["get", "pods", "--watch", "--no-headers"])
      let seen = ""
      watch.stdout.on("data", (data: Buffer) => {
        seen += data.toString()
      })
      const ended = new Promise((resolve) => watch.on("close", resolve))
      yield* kubectl("run web --image=nginx")
      assert.strictEqual(yield* kubectl("wait --for=condition=Ready pod/web --timeout=10s"), "pod/web condition met")
      assert.match(yield* kubectl("get pods"), /^NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running +0 /)
      assert.match(yield* kubectl("get pod web -o wide --no-headers"), /10\.\d+\.\d+\.\d+ +sim-node-\d/)
      assert.match(yield* kubectl("describe pod web"), /Status: +Running/)
      yield* kubectl("delete pod web")
      assert.match(yield* refused("get pod web"), /pods "web" not found/)
      watch.kill()
      yield* Effect.promise(() => ended)
      for (const state of [/^web +0\/1 +Pending/m, /^web +1\/1 +Running/m, /^web +1\/1 +Terminating/m]) {
        assert.match(seen, state)
      }
    }).pipe(Effect.provide(cluster)), 60_000)
})
