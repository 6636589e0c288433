/** Commands and logs through a real API server, which asks the kubelet of the Pod's node: one that is played here. */
import { KubeClient } from "@effect-operator/core"
import { PodExec, PodLogs } from "@effect-operator/k8s"
import { Node, Pod } from "@effect-operator/k8s/kinds"
import { WebSocketServer } from "@effect/platform-node/NodeWS"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Stream } from "effect"
import { Buffer } from "node:buffer"
import * as ChildProcess from "node:child_process"
import * as Https from "node:https"
import type * as Net from "node:net"
import type { Duplex } from "node:stream"
import * as Certificates from "../../src/Certificates.ts"
import { clientLayer, layerOptions } from "../../src/testing/Envtest.ts"

const Plane = Layer.provideMerge(clientLayer, layerOptions({ controllerManager: false }))

const web = { namespace: "default", name: "web" }

/**
 * Runs commands of this machine, and says over a WebSocket what comes of them, as a kubelet does. It speaks no SPDY, in which
 * servers since 1.31 ask kubelets, whatever they are asked in.
 */
const kubelet = Effect.gen(function*() {
  const now = Date.now()
  const authority = yield* Certificates.authority({ now })
  const { certPem, keyPem } = yield* Certificates.issue(authority, { now, commonName: "n", hosts: ["127.0.0.1"] })
  const paths: Array<string> = []
  const upgrades = new Set<string>()
  /** How many lines of a followed log were sent. */
  const pace = { sent: 0 }
  const { server } = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Duplex>()
      const sessions = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0]! })
      const server = Https.createServer({ cert: certPem, key: keyPem }, (request, response) => {
        paths.push(request.url ?? "")
        response.writeHead(200, { "content-type": "text/plain" })
        if (request.url?.includes("follow=true") !== true) return response.end("{}\nüber\n")
        const lines = ["one", "two", "three"]
        const more = () => {
          const line = lines[pace.sent]
          if (line === undefined) return response.end()
          pace.sent += 1
          response.write(`${line}\n`)
          setTimeout(more, 200)
        }
        more()
      })
      server.on("connection", (socket) => sockets.add(socket.on("error", () => {})))
      server.on("upgrade", (request, socket, head) => {
        paths.push(request.url ?? "")
        const { upgrade = "" } = request.headers
        upgrades.add(upgrade)
        if (upgrade.toLowerCase() !== "websocket") return socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")
        sessions.handleUpgrade(request, socket, head, (session) => {
          const [program, ...rest] = new URL(request.url ?? "", "https://n").searchParams.getAll("command")
          const child = ChildProcess.spawn(program!, rest)
          const send = (channel: number) => (bytes: Buffer) => session.send(Buffer.concat([Buffer.of(channel), bytes]))
          child.stdout.on("data", send(1))
          child.stderr.on("data", send(2))
          session.on("message", (data) => {
            const bytes = data as Buffer
            if (bytes[0] === 255) child.stdin.end()
            else child.stdin.write(bytes.subarray(1))
          })
          child.on("close", (code) => {
            const failed = {
              status: "Failure",
              reason: "NonZeroExitCode",
              details: { causes: [{ reason: "ExitCode", message: String(code) }] }
            }
            send(3)(Buffer.from(JSON.stringify({ metadata: {}, ...(code === 0 ? { status: "Success" } : failed) })))
            session.close(1000)
          })
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { server, sockets }
    }),
    ({ server, sockets }) =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise((resolve) => server.close(resolve))
      })
  )
  return { pace, paths, upgrades, port: (server.address() as Net.AddressInfo).port }
})

layer(Plane, { timeout: "2 minutes", excludeTestServices: true })(
  "commands and logs, by way of an API server",
  (it) => {
    it.effect("reach the kubelet, and come back", () =>
      Effect.gen(function*() {
        const { pace, paths, port, upgrades } = yield* kubelet
        const client = yield* KubeClient.KubeClient
        const node = yield* client.create(Node, { metadata: { name: "n" } })
        yield* client.patch(
          Node,
          node,
          KubeClient.Patch.strategic({
            status: {
              addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
              daemonEndpoints: { kubeletEndpoint: { Port: port } }
            }
          }),
          { subresource: "status" }
        )
        yield* client.create(Pod, { metadata: web, spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] } })

        const script = "cat; echo out; echo 'no ü' >&2; exit 7"
        const first = yield* Effect.exit(PodExec.run(web, { command: ["sh", "-c", script], stdin: "in\n" }))
        assert.include(paths[0], "/exec/default/web/c?")
        if (upgrades.has("websocket")) {
          assert.deepStrictEqual(first, Exit.succeed({ stdout: "in\nout\n", stderr: "no ü\n", exitCode: 7 }))
          const done = yield* PodExec.run(web, { command: ["true"] })
          assert.deepStrictEqual(done, { stdout: "", stderr: "", exitCode: 0 })
          const long = "x".repeat(3_000_000)
          const { stdout } = yield* PodExec.run(web, { command: ["cat"], stdin: long })
          assert.strictEqual(stdout.length, long.length)
        } else assert.include(String(first), "connect pods/exec default/web: ServerError")

        assert.strictEqual(yield* PodLogs.read(web, { tailLines: 2, timestamps: true }), "{}\nüber\n")
        assert.strictEqual(paths.at(-1), "/containerLogs/default/web/c?tailLines=2&timestamps=true")

        const seen: Array<readonly [line: string, at: number]> = []
        yield* Stream.runForEach(PodLogs.follow(web), (line) => Effect.sync(() => seen.push([line, pace.sent])))
        // Each as it comes, not when all is there.
        assert.deepStrictEqual(seen, [["one", 1], ["two", 2], ["three", 3]])

        const failure = yield* Effect.flip(PodExec.run({ ...web, name: "else" }, { command: ["true"] }))
        assert.strictEqual(failure.message, "connect pods/exec default/else: NotFound: pods \"else\" not found")
        const several = yield* Effect.flip(PodExec.run(web, { container: "d", command: ["true"] }))
        assert.strictEqual(
          several.message,
          "connect pods/exec default/web: BadRequest: container d is not valid for pod web"
        )
      }))
  }
)
