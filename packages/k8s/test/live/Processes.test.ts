import { KubeClient } from "@effect-operator/core"
import { LiveClient, PodExec, PodLogs } from "@effect-operator/k8s"
import { ClusterRole, ClusterRoleBinding, Pod } from "@effect-operator/k8s/kinds"
import { HttpFacade, type Kubelet, TestCluster } from "@effect-operator/k8s/testing"
import { type WebSocket, WebSocketServer } from "@effect/platform-node/NodeWS"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Redacted, Schedule, Scope, Stream } from "effect"
import { Buffer } from "node:buffer"
import * as Http from "node:http"
import type * as Net from "node:net"
import * as Credentials from "../../src/Credentials.ts"
import * as Processes from "../../src/live/Processes.ts"
import { eventually } from "../support/eventually.ts"
import { cluster, connect } from "../support/liveServer.ts"
import { httpProxy, socksProxy } from "../support/proxies.ts"

const web = { namespace: "default", name: "web" }

/** As long as a megabyte, of more than one byte a character. */
const long = "añ ".repeat(250_000)

const exec = ({ command, stdin }: Kubelet.Command) =>
  Effect.succeed<Kubelet.Executed>(
    command[0] === "cat"
      ? { stdout: stdin }
      : command[0] === "false"
      ? { stderr: "no\n", exitCode: 3 }
      : { stdout: command.join("|") }
  )

const kubelet: Kubelet.Options = {
  registerNodes: true,
  startDelay: 0,
  exec,
  script: () => ({ output: `{"level":"info"}\n${long}\n` })
}

const served = HttpFacade.layer().pipe(Layer.provideMerge(TestCluster.layer({ kubelet })))

const clientOf = (kubeconfig: string) => Layer.build(LiveClient.layerOptions({ kubeconfig }))

/** A Pod that runs. */
const running = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Pod, { metadata: web, spec: { containers: [{ name: "c", image: "i" }] } })
  const phase = Effect.map(client.get(Pod, web), ({ status }) => status?.phase)
  yield* Effect.repeat(phase, { until: (phase) => phase === "Running", schedule: Schedule.spaced("10 millis") })
})

describe("Processes of the in-memory server, over HTTPS", () => {
  it.live("are given their input, and give output, errors and exit code", () =>
    Effect.gen(function*() {
      yield* running
      const { kubeconfig } = yield* HttpFacade.HttpFacade
      const live = yield* clientOf(kubeconfig)
      const run = (options: PodExec.Options) => Effect.provide(PodExec.run(web, options), live)
      assert.deepStrictEqual(yield* run({ command: ["ls", "a b", "&c=d", "ü"] }), {
        stdout: "ls|a b|&c=d|ü",
        stderr: "",
        exitCode: 0
      })
      assert.deepStrictEqual(yield* run({ command: ["false"] }), { stdout: "", stderr: "no\n", exitCode: 3 })
      assert.strictEqual((yield* run({ command: ["cat"], stdin: long })).stdout, long)
      assert.strictEqual((yield* run({ command: ["cat"], stdin: "" })).stdout, "")
      const failure = yield* Effect.flip(
        Effect.provide(PodExec.run({ ...web, name: "else" }, { command: ["ls"] }), live)
      )
      assert.strictEqual(failure.message, "connect pods/exec default/else: NotFound: pods \"else\" not found")
      assert.strictEqual(yield* Effect.provide(PodLogs.read(web), live), `{"level":"info"}\n${long}\n`)
      const lines = yield* Effect.provide(Stream.runCollect(PodLogs.follow(web)), live)
      assert.deepStrictEqual(lines, [`{"level":"info"}`, long])
    }).pipe(Effect.provide(served)))

  it.live("are refused to who may not begin them, and go through a proxy", () =>
    Effect.gen(function*() {
      yield* running
      const facade = yield* HttpFacade.HttpFacade
      const client = yield* KubeClient.KubeClient
      yield* client.create(ClusterRole, {
        metadata: { name: "reads" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }]
      })
      yield* client.create(ClusterRoleBinding, {
        metadata: { name: "reads" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reads" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }]
      })
      const jane = yield* clientOf(yield* facade.kubeconfigFor({ username: "jane", groups: [] }))
      const refused = yield* Effect.flip(Effect.provide(PodExec.run(web, { command: ["ls"] }), jane))
      assert.strictEqual(refused.reason._tag, "Forbidden")
      assert.include(refused.message, "User \"jane\" cannot")
      for (const [scheme, made] of [["http", httpProxy], ["socks5", socksProxy]] as const) {
        const { joined, port } = yield* made
        const { client } = yield* connect(cluster(facade.url, {
          ca: facade.caPem,
          credentials: Credentials.token(Redacted.make(facade.token)),
          proxy: Redacted.make(`${scheme}://127.0.0.1:${port}`)
        }))
        const { stdout } = yield* Effect.provideService(
          PodExec.run(web, { command: ["ls"] }),
          KubeClient.KubeClient,
          client
        )
        assert.strictEqual(stdout, "ls")
        assert.deepStrictEqual(joined, [facade.port])
      }
    }).pipe(Effect.provide(served)))
})

/** A server whose processes are what a function makes of a connection; `refuse` answers instead of beginning one. */
const scripted = (options: {
  readonly process?: (socket: WebSocket, request: Http.IncomingMessage) => void
  readonly refuse?: (request: Http.IncomingMessage) => string | undefined
  readonly protocol?: string
}): Effect.Effect<
  { readonly url: string; readonly asked: Array<Http.IncomingMessage>; readonly open: () => number },
  never,
  Scope.Scope
> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const asked: Array<Http.IncomingMessage> = []
        const sockets = new Set<Net.Socket>()
        const sessions = new WebSocketServer({
          noServer: true,
          handleProtocols: (offered) => options.protocol ?? [...offered][0]!
        })
        const server = Http.createServer()
        server.on("connection", (socket) => {
          sockets.add(socket)
          socket.on("error", () => {}).on("close", () => sockets.delete(socket))
        })
        server.on("upgrade", (request, socket, head) => {
          asked.push(request)
          const refusal = options.refuse?.(request)
          if (refusal !== undefined) return socket.end(refusal)
          sessions.handleUpgrade(request, socket, head, (session) => options.process?.(session, request))
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        const { port } = server.address() as Net.AddressInfo
        return { asked, server, sockets, url: `http://127.0.0.1:${port}` }
      }),
      ({ server, sockets }) =>
        Effect.promise(() => {
          for (const socket of sockets) socket.destroy()
          return new Promise((resolve) => server.close(resolve))
        })
    ),
    ({ asked, sockets, url }) => ({ asked, url, open: () => sockets.size })
  )

const message = (channel: number, text: string) => Buffer.concat([Buffer.of(channel), Buffer.from(text)])

const success = message(3, JSON.stringify({ metadata: {}, status: "Success" }))

const run = (url: string, options: PodExec.Options = { command: ["ls"] }) =>
  Effect.flatMap(
    connect(cluster(url)),
    ({ client }) => Effect.provideService(PodExec.run(web, options), KubeClient.KubeClient, client)
  )

describe("Processes of a server that is played", () => {
  it.live("a request says what is to run, by whom it is asked, and which protocols are spoken", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* scripted({ process: (socket) => (socket.send(success), socket.close()) })
      yield* run(url, { command: ["sh", "-c", "a & b"], container: "c" })
      const [request] = asked
      assert.strictEqual(request?.method, "GET")
      const query = "command=sh&command=-c&command=a%20%26%20b&container=c&stdout=true&stderr=true"
      assert.strictEqual(request?.url, `/api/v1/namespaces/default/pods/web/exec?${query}`)
      assert.strictEqual(request?.headers["authorization"], "Bearer s3cret")
      assert.strictEqual(request?.headers["sec-websocket-protocol"], "v5.channel.k8s.io,v4.channel.k8s.io")
      assert.isUndefined(request?.headers["accept-encoding"])
    }))

  it.live("a character that comes in two messages is one, and what a status does not say of itself is said", () =>
    Effect.gen(function*() {
      const bytes = Buffer.from("ü")
      const failed = {
        status: "Failure",
        reason: "NonZeroExitCode",
        details: { causes: [{ reason: "ExitCode", message: "9" }] }
      }
      const { url } = yield* scripted({
        protocol: "v4.channel.k8s.io",
        process: (socket) => {
          socket.send(Buffer.of(1))
          socket.send(Buffer.concat([Buffer.of(1), bytes.subarray(0, 1)]))
          socket.send(message(2, "e"))
          socket.send(Buffer.concat([Buffer.of(1), bytes.subarray(1)]))
          socket.send(message(3, JSON.stringify(failed)))
          socket.close()
        }
      })
      assert.deepStrictEqual(yield* run(url), { stdout: "ü", stderr: "e", exitCode: 9 })
    }))

  it.live("a process that could not be begun is a failure, with what the server says of it", () =>
    Effect.gen(function*() {
      const status = { metadata: {}, status: "Failure", message: "no such file", reason: "InternalError", code: 500 }
      const { url } = yield* scripted({ process: (socket) => socket.send(message(3, JSON.stringify(status))) })
      const failure = yield* Effect.flip(run(url))
      assert.strictEqual(failure.message, "connect pods/exec default/web: ServerError: no such file")
    }))

  it.live("an end without a status is no answer, and nothing is begun twice", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* scripted({
        process: (socket) => {
          socket.send(message(1, "half"))
          socket.terminate()
        }
      })
      const failure = yield* Effect.flip(run(url))
      assert.strictEqual(failure.reason._tag, "Transport")
      assert.include(failure.message, "the connection ended before the process did")
      assert.strictEqual(asked.length, 1)
    }))

  it.live("what prints without end is given up", () =>
    Effect.gen(function*() {
      const piece = Buffer.alloc(1024 * 1024, 65)
      piece[0] = 1
      const { open, url } = yield* scripted({
        process: (socket) => {
          const more = () => {
            if (socket.readyState === socket.OPEN) socket.send(piece, more)
          }
          more()
        }
      })
      const failure = yield* Effect.flip(run(url))
      assert.include(failure.message, `wrote more than ${Processes.defaults.largestOutput} bytes`)
      yield* eventually(() => open() === 0)
    }))

  it.live("a command with input is not begun where nothing could end the input", () =>
    Effect.gen(function*() {
      let begun = 0
      const older = "v4.channel.k8s.io"
      const { asked, url } = yield* scripted({
        protocol: older,
        // What Go's WebSocket server responds if it supports none of the offered protocols.
        refuse: ({ headers }) =>
          headers["sec-websocket-protocol"]?.includes(older) === true ? undefined : "HTTP/1.1 403 Forbidden\r\n\r\n",
        process: () => begun++
      })
      const failure = yield* Effect.flip(run(url, { command: ["cat"], stdin: "a" }))
      assert.strictEqual(failure.reason._tag, "Transport")
      assert.include(failure.message, "Kubernetes 1.30 or later")
      assert.strictEqual(begun, 0)
      assert.strictEqual(asked.length, 1)
    }))

  it.live("who gives up closes the connection", () =>
    Effect.gen(function*() {
      const { asked, open, url } = yield* scripted({})
      const fiber = yield* Effect.forkChild(run(url))
      yield* eventually(() => asked.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* eventually(() => open() === 0)
    }))

  it.live("when the client closes, so do the connections of its processes, and who waits is told", () =>
    Effect.gen(function*() {
      const { asked, open, url } = yield* scripted({})
      const scope = yield* Scope.make()
      const { client } = yield* Scope.provide(connect(cluster(url)), scope)
      const running = Effect.provideService(PodExec.run(web, { command: ["ls"] }), KubeClient.KubeClient, client)
      const fiber = yield* Effect.forkChild(Effect.flip(running))
      yield* eventually(() => asked.length === 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "Transport")
      yield* eventually(() => open() === 0)
    }))

  it.live("a process that goes on holds no other request up", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* scripted({})
      const { client } = yield* connect(cluster(url), { connections: 1 })
      const exec = Effect.provideService(PodExec.run(web, { command: ["ls"] }), KubeClient.KubeClient, client)
      for (let n = 1; n <= 3; n++) {
        yield* Effect.forkChild(exec)
        yield* eventually(() => asked.length === n)
      }
    }))

  it.live("a refusal has its reason, and one of the credentials asks for others", () =>
    Effect.gen(function*() {
      const body = JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message: "no" })
      const head = (status: string) =>
        `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
      const { asked, url } = yield* scripted({
        refuse: ({ headers }) =>
          headers["authorization"] === "Bearer new" ? head("403 Forbidden") : head("401 Unauthorized")
      })
      let word = "old"
      const credentials: Credentials.Credentials = {
        ...Credentials.token(Redacted.make("old")),
        headers: Effect.sync(() => Redacted.make({ authorization: `Bearer ${word}` })),
        fresh: Effect.sync(() => Redacted.make({ authorization: `Bearer ${word = "new"}` }))
      }
      const { client } = yield* connect(cluster(url, { credentials }))
      const failure = yield* Effect.flip(
        Effect.provideService(PodExec.run(web, { command: ["ls"] }), KubeClient.KubeClient, client)
      )
      assert.strictEqual(failure.message, "connect pods/exec default/web: Forbidden: no")
      assert.strictEqual(asked.length, 2)
    }))

  it.live("nothing goes out any more once it may not: the permit is asked when the connection is there", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* scripted({ process: (socket) => socket.send(success) })
      const { transport } = yield* connect(cluster(url))
      let asks = 0
      const failure = yield* Effect.flip(transport.request({
        method: "POST",
        path: "/api/v1/namespaces/default/pods/web/exec",
        query: [],
        headers: {},
        process: {},
        permit: () => asks++ < 0
      }))
      assert.include(failure.message, "may no longer be sent")
      assert.deepStrictEqual([asks, asked.length], [1, 0])
    }))
})
