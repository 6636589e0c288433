/**
 * kubectl, the program itself, against the in-memory server over HTTPS and against a real control plane: the same
 * commands, and the same output.
 *
 * Takes the kubectl of `KUBEBUILDER_ASSETS`; any release from 1.20 on is expected to work.
 */
import type { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import { compare, type Difference } from "./kubectl/compare.ts"
import { scripts } from "./kubectl/scripts/index.ts"
import { running } from "./kubectl/scripts/running.ts"
import * as Shell from "./kubectl/Shell.ts"

const assets = process.env["KUBEBUILDER_ASSETS"]
if (assets === undefined) throw new Error("KUBEBUILDER_ASSETS must name a directory with kubectl")
const program = Path.join(assets, "kubectl")

type Controllers = Layer.Layer<never, never, ApiServer | KubeClient.KubeClient>

const serve = (controllers: Controllers) =>
  Layer.merge(controllers, HttpFacade.layer()).pipe(
    Layer.provideMerge(TestClient.layer),
    Layer.provideMerge(ApiServer.layer)
  )

const nodes = Layer.effectDiscard(Effect.void).pipe(
  Layer.provide(SimControllers.layer({ kubelet: { registerNodes: true } }))
)

const tell = (differences: ReadonlyArray<Difference>): string =>
  differences.map(({ line, memory, real }) => `kubectl ${line}\n--- in memory\n${memory}\n--- real\n${real}`).join("\n")

const minutes = (n: number) => n * 60_000

describe("kubectl says the same of both servers", () => {
  it.live("all scripts", () =>
    Effect.gen(function*() {
      const { kubeconfig } = yield* HttpFacade.HttpFacade
      const real = Fs.readFileSync((yield* Envtest.Envtest).kubeconfigPath, "utf8")
      const [ours, theirs] = [yield* Shell.cacheDirectory, yield* Shell.cacheDirectory]
      const found = yield* Effect.forEach(scripts, (script) =>
        Effect.scoped(Effect.gen(function*() {
          const memory = yield* Shell.open(program, kubeconfig, ours, script)
          return yield* compare({ memory, real: yield* Shell.open(program, real, theirs, script) }, script)
        })), { concurrency: 2 }).pipe(Effect.map((differences) => differences.flat()))
      assert.lengthOf(found, 0, tell(found))
    }).pipe(Effect.provide(Layer.merge(serve(SimControllers.controlPlane()), Envtest.layer))), minutes(15))
})

describe("kubectl and the in-memory cluster", () => {
  it.live("Pods run, are watched and go", () =>
    Effect.gen(function*() {
      const { kubeconfig } = yield* HttpFacade.HttpFacade
      const memory = yield* Shell.open(program, kubeconfig, yield* Shell.cacheDirectory, running)
      const found = yield* compare({ memory, real: undefined }, running)
      assert.lengthOf(found, 0, tell(found))
    }).pipe(Effect.provide(serve(nodes))), minutes(3))

  it.live("asks for nothing that is not there", () =>
    Effect.gen(function*() {
      const { kubeconfig } = yield* HttpFacade.HttpFacade
      const { run } = yield* Shell.open(program, kubeconfig, yield* Shell.cacheDirectory, {
        name: "default",
        files: {}
      })
      const first = yield* run("get pods -v=8")
      assert.deepStrictEqual(unexpected(first.stderr), [])
      const again = yield* run("get deployments -v=8")
      assert.deepStrictEqual(unexpected(again.stderr), [])
      // What a server serves is asked once.
      assert.deepStrictEqual(requests(again.stderr), ["/apis/apps/v1/namespaces/default/deployments?limit=500"])
    }).pipe(Effect.provide(serve(SimControllers.controlPlane()))), minutes(1))
})

/** The paths asked for, as `-v=8` tells them. */
const requests = (log: string): ReadonlyArray<string> =>
  [...log.matchAll(/(?:GET|verb="GET" url=")\s*(?:")?https:\/\/[^/]+(\/[^\s"]*)/g)].map(([, path]) => path!)

/** Answers other than 200, and second tries. */
const unexpected = (log: string): ReadonlyArray<string> =>
  log.split("\n").filter((line) =>
    (/Response Status|status="/.test(line) && !/200 OK/.test(line)) || /retry/i.test(line)
  )
