import { Discovery, KubeClient } from "@effect-operator/core"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import * as ChildProcess from "node:child_process"
import * as DiagnosticsChannel from "node:diagnostics_channel"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Role, RoleBinding } from "../../src/kinds/index.ts"
import * as KubeConfig from "../../src/KubeConfig.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import { clientLayer, Envtest, layerOptions } from "../../src/testing/Envtest.ts"
import { folder } from "../support/folder.ts"
import { ConfigMap, connect } from "../support/liveServer.ts"

/** `kubectl proxy` in front of the control plane, and its URL. */
const kubectlProxy = Effect.gen(function*() {
  const { kubeconfigPath } = yield* Envtest
  const kubectl = Path.join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl")
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => ChildProcess.spawn(kubectl, ["--kubeconfig", kubeconfigPath, "proxy", "--port=0"])),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  return yield* Effect.callback<string>((resume) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const found = /Starting to serve on (\S+)/.exec(text)
      if (found !== null) resume(Effect.succeed(`http://${found[1]}`))
    })
  })
})

/** How many connections an effect opens. */
const connections = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.gen(function*() {
    let count = 0
    const onConnected = () => {
      count += 1
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => DiagnosticsChannel.subscribe("undici:client:connected", onConnected)),
      () => Effect.sync(() => DiagnosticsChannel.unsubscribe("undici:client:connected", onConnected))
    )
    yield* effect
    return count
  }))

const Plane = Layer.provideMerge(clientLayer, layerOptions({ controllerManager: false }))

layer(Plane, { timeout: "2 minutes", excludeTestServices: true })("LiveClient beside a real API server", (it) => {
  it.effect("goes through kubectl's proxy", () =>
    Effect.gen(function*() {
      const server = yield* kubectlProxy
      yield* Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        const key = { namespace: "default", name: "by-proxy" }
        const { metadata } = yield* client.create(ConfigMap, { metadata: key, data: { a: "1" } })
        const events = yield* Stream.runCollect(
          Stream.take(client.watch(ConfigMap, { namespace: "default", fields: "metadata.name=by-proxy" }), 1)
        )
        assert.deepStrictEqual(events.map(({ type }) => type), ["ADDED"])
        assert.strictEqual((yield* client.get(ConfigMap, key)).metadata.uid, metadata.uid)
        assert.strictEqual((yield* client.delete(ConfigMap, key))._tag, "Deleted")
      }).pipe(Effect.provide(LiveClient.layerOptions({ server })))
    }))

  it.effect("takes two connections at most for fifty lists, and reads what the server compresses", () =>
    Effect.gen(function*() {
      const { clusterConfig } = yield* Envtest
      const { client } = yield* connect(clusterConfig)
      const data = { text: "0123456789".repeat(40_000) }
      yield* client.create(ConfigMap, { metadata: { namespace: "default", name: "large" }, data })
      assert.isAtMost(yield* connections(Effect.repeat(Stream.runDrain(client.list(ConfigMap)), { times: 49 })), 2)
      const large = yield* client.get(ConfigMap, { namespace: "default", name: "large" })
      assert.deepStrictEqual(large.data, data)
    }))

  it.effect("gets in by an exec plugin, by a token file, and as somebody else", () =>
    Effect.gen(function*() {
      const { caFile, token, url } = yield* Envtest
      const path = yield* folder({ token: `${Redacted.value(token)}\n` })
      const program = `console.log(JSON.stringify({ kind: "ExecCredential",
        apiVersion: JSON.parse(process.env.KUBERNETES_EXEC_INFO).apiVersion,
        status: { token: require("node:fs").readFileSync(process.env.TOKEN, "utf8").trim() } }))`
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1",
        interactiveMode: "Never",
        command: process.execPath,
        args: ["--eval", program],
        env: [{ name: "TOKEN", value: Path.join(path, "token") }]
      }
      const impersonating = { "tokenFile": "token", "as": "jane", "as-groups": ["system:masters"] }
      for (const user of [{ exec }, { tokenFile: "token" }, impersonating]) {
        const file = Path.join(path, "config")
        Fs.writeFileSync(
          file,
          JSON.stringify({
            "current-context": "c",
            "clusters": [{ name: "k", cluster: { "server": url, "certificate-authority": caFile } }],
            "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
            "users": [{ name: "u", user }]
          })
        )
        const { client } = yield* connect(yield* KubeConfig.load({ file }))
        yield* Stream.runDrain(client.list(ConfigMap))
      }
    }))

  it.effect(
    "as an account of a tenant, learns of kinds and applies what that account may, and no more",
    () =>
      Effect.gen(function*() {
        const { clusterConfig } = yield* Envtest
        const { client } = yield* connect(clusterConfig)
        const metadata = { namespace: "default", name: "discovered" }
        const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } }
        const apply = Effect.gen(function*() {
          const resource = yield* Discovery.resource(map)
          return yield* client.apply(resource!, map)
        })
        const asTenant = apply.pipe(
          Effect.provideService(KubeClient.KubeClient, client),
          Effect.provideService(KubeClient.Impersonated, KubeClient.serviceAccount("default", "tenant"))
        )
        assert.include(
          (yield* Effect.flip(asTenant)).message,
          "User \"system:serviceaccount:default:tenant\" cannot patch"
        )
        const tenant = { namespace: "default", name: "tenant" }
        yield* client.create(Role, {
          metadata: tenant,
          rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch"] }]
        })
        yield* client.create(RoleBinding, {
          metadata: tenant,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "tenant" },
          subjects: [{ kind: "ServiceAccount", ...tenant }]
        })
        const applied = yield* Effect.retry(asTenant, Schedule.spaced("100 millis").pipe(Schedule.upTo({ times: 50 })))
        assert.strictEqual(applied.metadata.name, "discovered")
        const find = (apiVersion: string, kind: string) =>
          Effect.provideService(Discovery.resource({ apiVersion, kind }), KubeClient.KubeClient, client)
        assert.deepInclude(yield* find("apps/v1", "Deployment"), {
          plural: "deployments",
          singular: "deployment",
          scope: "Namespaced",
          shortNames: ["deploy"],
          subresources: ["scale", "status"]
        })
        assert.deepInclude(yield* find("v1", "Namespace"), { plural: "namespaces", scope: "Cluster" })
        assert.isUndefined(yield* find("nowhere.example.com/v1", "Thing"))
      })
  )

  it.effect("is refused in the server's words", () =>
    Effect.gen(function*() {
      const { clusterConfig } = yield* Envtest
      const { transport } = yield* connect(clusterConfig)
      const answer = yield* transport.request({
        method: "GET",
        path: "/apis/batch/v1beta1/cronjobs",
        query: [["limit", "x"]],
        headers: {}
      })
      assert.strictEqual(answer.status, 400)
      assert.isTrue(Schema.is(Schema.Struct({ kind: Schema.Literal("Status") }))(answer.body))
    }))
})
