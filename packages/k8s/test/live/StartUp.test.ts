import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"
import * as Url from "node:url"
import { folder } from "../support/folder.ts"

const source = (name: string) => Url.pathToFileURL(Path.join(import.meta.dirname, "../../src", name)).href

/** The packages that a program loads to find its cluster, in a process of its own. */
const loaded = (options: object, env: Record<string, string> = {}) => {
  const program = `
    import { registerHooks } from "node:module"
    const seen = new Set()
    registerHooks({ load: (url, context, next) => {
      const found = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)
      if (found !== null) seen.add(found[1])
      return next(url, context)
    } })
    const { load } = (await import(${JSON.stringify(source("LiveClient.ts"))}), await import(${
    JSON.stringify(source("KubeConfig.ts"))
  }))
    const { runPromise } = await import("effect/Effect")
    await runPromise(load(${JSON.stringify(options)}))
    console.log(JSON.stringify([...seen]))`
  return Effect.callback<ReadonlyArray<string>>((resume) => {
    ChildProcess.execFile(process.execPath, ["--conditions=op-source", "--input-type=module", "--eval", program], {
      cwd: import.meta.dirname,
      env: { ...process.env, ...env }
    }, (error, stdout) => resume(error === null ? Effect.succeed(JSON.parse(stdout)) : Effect.die(error)))
  })
}

const heavy = ["@kubernetes/client-node", "undici", "yaml", "openid-client"]

describe("Start-up", () => {
  const kubeconfig = (user: object) => ({
    kubeconfig: JSON.stringify({
      "current-context": "c",
      "clusters": [{ name: "k", cluster: { server: "https://k8s.example" } }],
      "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
      "users": [{ name: "u", user }]
    })
  })

  it.live("loads neither client-node, undici nor a YAML library in a pod, or for a kubeconfig that is JSON", () =>
    Effect.gen(function*() {
      const pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
      const serviceAccount = yield* folder({ "token": "t", "ca.crt": pem })
      const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" }
      for (
        const packages of [
          yield* loaded({ inCluster: true, serviceAccount }, pod),
          yield* loaded(kubeconfig({ token: "t" }))
        ]
      ) {
        assert.include(packages, "effect")
        for (const name of heavy) assert.notInclude(packages, name)
      }
    }))

  it.live("loads no client-node for YAML and exec plugins", () =>
    Effect.gen(function*() {
      const program = `console.log(JSON.stringify({ kind: "ExecCredential",
        apiVersion: "client.authentication.k8s.io/v1", status: { token: "t" } }))`
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: process.execPath,
        args: ["--eval", program]
      }
      const packages = yield* loaded({ kubeconfig: `# YAML\n${kubeconfig({ exec }).kubeconfig}` })
      assert.include(packages, "yaml")
      assert.notInclude(packages, "@kubernetes/client-node")
    }))
})
