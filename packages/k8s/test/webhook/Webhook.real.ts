import { Action, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import * as CustomResourceVersions from "@effect-operator/core/CustomResourceVersions"
import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Crd from "../../src/Crd.ts"
import * as Credentials from "../../src/Credentials.ts"
import { ConfigMap, CustomResourceDefinition, Namespace, Secret, Service } from "../../src/kinds/index.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import * as Manifests from "../../src/Manifests.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import * as Webhook from "../../src/Webhook.ts"
import { Database, hooks } from "./support.ts"

const cluster = Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer))

const kubectl = Effect.fnUntraced(function*(args: ReadonlyArray<string>, input = "") {
  const { kubeconfigPath } = yield* Envtest.Envtest
  return yield* Effect.callback<{ readonly code: number | null; readonly text: string }>((resume) => {
    const child = ChildProcess.spawn(
      Path.join(process.env["KUBEBUILDER_ASSETS"]!, "kubectl"),
      [`--kubeconfig=${kubeconfigPath}`, ...args],
      { env: { HOME: Os.tmpdir() } }
    )
    let text = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => text += chunk.toString())
    child.on("close", (code) => resume(Effect.succeed({ code, text })))
    child.stdin.end(input)
  })
})

/** A port that is free, out of the range that systems take ports for connections from. */
const freePort = Effect.callback<number>((resume) => {
  const tryNext = () => {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const server = Net.createServer().once("error", tryNext)
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  }
  tryNext()
})

const eventually = <A, E, R>(what: string, look: Effect.Effect<A, E, R>, is: (value: A) => boolean) =>
  Effect.gen(function*() {
    for (let n = 0; n < 300; n++) {
      const value = yield* Effect.result(look)
      if (value._tag === "Success" && is(value.success)) return value.success
      yield* Effect.sleep("100 millis")
    }
    return yield* Effect.die(new Error(`never: ${what}`))
  })

const database = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: "shop.example.com/v1", kind: "Database", metadata: { name, namespace: "shop" }, spec })

const old = CustomResource.make({
  group: "shop.example.com",
  version: "v1",
  kind: "Gadget",
  spec: Schema.Struct({ size: Schema.String })
})
const current = CustomResource.make({
  group: "shop.example.com",
  version: "v2",
  kind: "Gadget",
  spec: Schema.Struct({ width: Schema.Int, height: Schema.Int })
})
const Gadgets = CustomResourceVersions.make({
  steps: [
    CustomResourceVersions.between(old, current, {
      up: ({ spec: { size } }) => {
        const [width = 0, height = 0] = size.split("x").map(Number)
        return { spec: { width, height } }
      },
      down: ({ spec: { height, width } }) => ({ spec: { size: `${width}x${height}` } })
    })
  ]
})

layer(cluster, { excludeTestServices: true, timeout: "120 seconds" })("webhooks on a real kube-apiserver", (it) => {
  it.effect(
    "admission with its messages in kubectl, mutation, conversion both ways, and rotation with no failed call",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        yield* client.create(Namespace, { metadata: { name: "shop" } })
        const all = [...hooks, Webhook.conversion(Gadgets)]
        const address = `127.0.0.1:${yield* freePort}`
        const url = `https://${address}`
        const options: Webhook.ServerOptions = {
          name: "databases",
          service: { namespace: "shop", name: "webhooks" },
          url,
          address,
          certificates: { validity: "10 seconds", authorityValidity: "20 seconds", overlap: "3 seconds" }
        }
        yield* Crd.install(Database)
        yield* client.create(
          CustomResourceDefinition,
          Crd.make(Gadgets, { conversion: { clientConfig: { url: `${url}/convert-shop-example-com-gadget` } } })
        )
        yield* Webhook.install(all, { name: "databases", reachable: { url } })
        const context = yield* Layer.build(Webhook.layer(all, options))
        yield* Context.get(context, Webhook.WebhookServer).ready

        // The API server hears of the configurations one after the other; until then it asks nobody.
        const tried = (name: string) =>
          client.create(Database, { metadata: { namespace: "shop", name }, spec: { size: 1 } }, { dryRun: true })
        yield* eventually("objects are changed", tried("try"), ({ spec }) => spec.engine === "pg")
        yield* eventually(
          "objects are refused",
          Effect.flip(tried("forbidden")),
          ({ message }) => message.includes("no such name")
        )
        const make = (name: string, spec: object) => kubectl(["apply", "-f", "-"], database(name, spec))
        yield* eventually("a Database is admitted", make("a", { size: 5 }), ({ code }) => code === 0)
        const read = yield* kubectl(["get", "database", "a", "-n", "shop", "-o", "jsonpath={.spec.engine}"])
        assert.strictEqual(read.text, "pg")
        const shrunk = yield* make("a", { size: 4 })
        assert.strictEqual(shrunk.code, 1)
        assert.strictEqual(shrunk.text, "The Database \"a\" is invalid: spec.size: must be 5 at least\n")
        const whole = yield* Effect.flip(client.patch(
          Database,
          { namespace: "shop", name: "a" },
          KubeClient.Patch.merge({ spec: { size: 4 } })
        ))
        assert.include(
          whole.message,
          "admission webhook \"validate.database.shop.example.com\" denied the request: a database may not shrink"
        )
        const forbidden = yield* make("forbidden", { size: 4 })
        assert.include(forbidden.text, "Error from server (Forbidden)")
        assert.include(forbidden.text, "denied the request: no such name")
        const warned = yield* make("unlucky", { size: 13 })
        assert.include(warned.text, "Warning: 13 is unlucky")

        const gadget = JSON.stringify({
          apiVersion: "shop.example.com/v1",
          kind: "Gadget",
          metadata: { name: "g", namespace: "shop" },
          spec: { size: "3x4" }
        })
        yield* eventually(
          "a Gadget is stored",
          kubectl(["apply", "-f", "-"], gadget),
          ({ code }) => code === 0
        )
        const newer = yield* kubectl([
          "get",
          "gadgets.v2.shop.example.com",
          "g",
          "-n",
          "shop",
          "-o",
          "jsonpath={.spec}"
        ])
        assert.deepStrictEqual(JSON.parse(newer.text), { width: 3, height: 4 })
        const older = yield* kubectl([
          "get",
          "gadgets.v1.shop.example.com",
          "g",
          "-n",
          "shop",
          "-o",
          "jsonpath={.spec}"
        ])
        assert.deepStrictEqual(JSON.parse(older.text), { size: "3x4" })

        // Dry runs, through both hooks, while certificates and authorities change.
        const bundles = new Set<string>()
        let calls = 0
        const load = Effect.forever(Effect.gen(function*() {
          yield* client.create(Database, { metadata: { namespace: "shop", generateName: "x-" }, spec: { size: 1 } }, {
            dryRun: true
          })
          calls += 1
          bundles.add(
            (yield* client.get(Secret, { namespace: "shop", name: "databases-webhook-tls" })).data!["ca.crt"]!
          )
          yield* Effect.sleep("20 millis")
        }))
        const enough = Effect.repeat(Effect.sleep("100 millis"), { until: () => bundles.size >= 4 && calls > 100 })
        yield* Effect.timeout(Effect.raceFirst(load, enough), "60 seconds")
      })
  )

  it.effect(
    "manifests: dry run, apply and apply again without a warning; the rules suffice for the service account",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        const { clusterConfig } = yield* Envtest.Envtest
        const Widget = CustomResource.make({
          group: "proof.example.com",
          version: "v1",
          kind: "Widget",
          spec: Schema.Struct({ size: Schema.Int }),
          status: Schema.Struct({ ready: Schema.Boolean })
        })
        const controller = Controller.make("widgets", {
          for: Widget,
          owns: [ConfigMap],
          reconcile: Effect.fnUntraced(function*(widget, { events }) {
            const client = yield* KubeClient.KubeClient
            const { name, namespace } = widget.metadata
            yield* client.apply(ConfigMap, { metadata: { namespace, name }, data: { size: String(widget.spec.size) } })
            yield* events.normal({ reason: "Applied", note: "the ConfigMap is there" })
            yield* client.patch(Widget, widget, KubeClient.Patch.merge({ status: { ready: true } }), {
              subresource: "status"
            })
            return Action.done
          })
        })
        const admission = [Webhook.validating(Widget, {
          failurePolicy: "Ignore",
          validate: ({ object }) => object.spec.size > 9 ? Webhook.deny("too large") : Effect.void
        })]
        const manifests: Manifests.Options = {
          name: "widgets",
          namespace: "widgets-system",
          image: "example.com/widgets:1",
          resources: [Widget],
          controllers: [controller],
          writes: [{ resource: ConfigMap, verbs: ["create", "patch"] }],
          webhooks: admission,
          authentication: true
        }
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "manifests-"))),
          (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
        )
        for (const [file, objects] of Object.entries(Manifests.files(manifests))) {
          Fs.writeFileSync(Path.join(folder, file), Manifests.format(objects))
        }
        // What lies in the namespace can be tried only once it is there.
        const stream = Manifests.format(Manifests.stream(manifests))
        yield* kubectl(["create", "namespace", "widgets-system"])
        const clean = ({ code, text }: { readonly code: number | null; readonly text: string }) => {
          assert.strictEqual(code, 0, text)
          assert.notMatch(
            text.replaceAll(/.*missing the kubectl\.kubernetes\.io\/last-applied.*\n/g, ""),
            /warn|deprecat|error/i
          )
        }
        clean(yield* kubectl(["apply", "--dry-run=server", "-f", "-"], stream))
        clean(yield* kubectl(["apply", "-k", folder]))
        const again = yield* kubectl(["apply", "-f", "-"], stream)
        clean(again)
        assert.notMatch(again.text, /created/)
        assert.strictEqual(
          (yield* client.get(Service, { namespace: "widgets-system", name: "widgets-webhook" })).spec
            ?.ports?.[0]?.port,
          443
        )

        // A token of the account, as a pod would have it.
        const token = yield* kubectl([
          "create",
          "--raw",
          "/api/v1/namespaces/widgets-system/serviceaccounts/widgets/token",
          "-f",
          "-"
        ], JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: [] } }))
        const { status } = JSON.parse(token.text) as { readonly status: { readonly token: string } }
        const account = yield* Layer.build(Layer.fresh(LiveClient.layerCluster({
          ...clusterConfig,
          credentials: Credentials.token(Redacted.make(status.token))
        })))
        const forbidden = yield* Effect.flip(
          Context.get(account, KubeClient.KubeClient).get(Secret, {
            namespace: "default",
            name: "x"
          })
        )
        assert.strictEqual(forbidden.reason._tag, "Forbidden")
        const election = { leaderElection: { namespace: "widgets-system", name: "widgets" } }
        const operator = yield* Layer.build(
          Manager.layer([controller], election).pipe(
            Layer.provideMerge(Webhook.layer(admission, {
              name: "widgets",
              service: Manifests.webhookService(manifests),
              address: "127.0.0.1:0"
            })),
            Layer.provide(Layer.succeed(KubeClient.KubeClient, Context.get(account, KubeClient.KubeClient)))
          )
        )
        yield* Effect.timeout(Context.get(operator, Manager.Manager).ready, "30 seconds")
        const key = { namespace: "default", name: "w" }
        yield* client.create(Widget, { metadata: key, spec: { size: 3 } })
        yield* eventually("the Widget is ready", client.get(Widget, key), ({ status }) => status?.ready === true)
        assert.deepStrictEqual((yield* client.get(ConfigMap, key)).data, { size: "3" })
        const { text } = yield* eventually(
          "the configuration has a bundle",
          kubectl([
            "get",
            "validatingwebhookconfiguration",
            "widgets",
            "-o",
            "jsonpath={.webhooks[0].clientConfig.caBundle}"
          ]),
          ({ text }) => text !== ""
        )
        assert.match(Buffer.from(text, "base64").toString(), /^-----BEGIN CERTIFICATE-----/)
      })
  )

  it.effect(
    "a scale is judged by the hook; what was stored under a milder Schema can be labelled and freed",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        const pool = (memory: Schema.Codec<number>) =>
          CustomResource.make({
            group: "shop.example.com",
            version: "v1",
            kind: "Pool",
            spec: Schema.Struct({ replicas: Schema.Int, memoryMiB: memory }),
            status: Schema.Struct({ replicas: Schema.Int }),
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
          })
        const stored = pool(Schema.Int)
        yield* Crd.install(stored)
        const strict = [Webhook.validating(pool(Schema.Int.check(Schema.isGreaterThanOrEqualTo(64))), {
          scale: true,
          validate: ({ object, old }) =>
            object.spec.replicas < (old?.spec.replicas ?? 0) ? Webhook.deny("a pool may not shrink") : Effect.void
        })]
        const create = (name: string, memoryMiB: number, dryRun = false) =>
          client.create(stored, {
            metadata: { namespace: "default", name, finalizers: ["example.com/f"] },
            spec: { replicas: 3, memoryMiB }
          }, { dryRun })
        yield* create("fine", 64)
        yield* create("faulty", 8)
        const address = `127.0.0.1:${yield* freePort}`
        const url = `https://${address}`
        yield* Webhook.install(strict, { name: "pools", reachable: { url } })
        const service = { namespace: "default", name: "pools" }
        const context = yield* Layer.build(Webhook.layer(strict, { name: "pools", service, url, address }))
        yield* Context.get(context, Webhook.WebhookServer).ready
        yield* eventually(
          "a new object needs to be without faults",
          Effect.flip(create("new", 8, true)),
          ({ message }) => message.includes("is invalid: spec.memoryMiB")
        )
        const scale = (name: string, replicas: number) => kubectl(["scale", "pool", name, `--replicas=${replicas}`])
        assert.include((yield* scale("fine", 1)).text, "denied the request: a pool may not shrink")
        assert.include((yield* scale("fine", 5)).text, "scaled")
        const labelled = yield* kubectl(["label", "pool", "faulty", "l=1"])
        assert.include(labelled.text, "Warning: Pool \"faulty\" was already invalid and is not checked: spec.memoryMiB")
        assert.include(labelled.text, "labeled")
        assert.include((yield* scale("faulty", 1)).text, "scaled", "no hook can be asked")
        yield* client.delete(stored, { namespace: "default", name: "faulty" })
        const remove = JSON.stringify([{ op: "remove", path: "/metadata/finalizers" }])
        const freed = yield* kubectl(["patch", "pool", "faulty", "--type", "json", "-p", remove])
        assert.strictEqual(freed.code, 0, freed.text)
        assert.include((yield* kubectl(["get", "pool", "faulty"])).text, "NotFound")
      })
  )

  it.effect("an apply that makes its object needs to be allowed to create it", () =>
    Effect.gen(function*() {
      const role = JSON.stringify({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "patcher", namespace: "default" },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "get"] }]
      })
      yield* kubectl(["apply", "-f", "-"], role)
      yield* kubectl(["create", "rolebinding", "patcher", "-n", "default", "--role=patcher", "--user=jane"])
      const object = JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "made", namespace: "default" }
      })
      yield* eventually(
        "jane may read",
        kubectl(["get", "configmap", "made", "-n", "default", "--as=jane"]),
        ({ text }) => text.includes("NotFound")
      )
      const refused = yield* kubectl(["apply", "--server-side", "--as=jane", "-f", "-"], object)
      assert.include(refused.text, "configmaps \"made\" is forbidden: ")
    }))
})

void it
