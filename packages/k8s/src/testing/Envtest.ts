/**
 * `Envtest`: a real etcd and kube-apiserver for tests, as a Layer.
 *
 * The programs are those in the folder `KUBEBUILDER_ASSETS`, with the layout of envtest. Every layer is a separate
 * control plane on free loopback ports, with its data in a temporary folder. Building it waits until the server is
 * ready and the default namespace exists. Closing it, also by interruption, ends the programs and removes the folder.
 * If the folder contains a kube-controller-manager it runs too, so garbage collection, namespaces, Deployments and Jobs
 * work. There are no nodes, so Pods stay Pending.
 *
 * The administrator authenticates with a token. Authorization is RBAC. Time is real time, whatever clock the test has.
 */
import type * as KubeClient from "@effect-operator/core/KubeClient"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Crypto from "node:crypto"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { at } from "../api/Plain.ts"
import * as Credentials from "../Credentials.ts"
import type { ClusterConfig } from "../KubeConfig.ts"
import * as LiveClient from "../LiveClient.ts"
import * as Certificates from "../Certificates.ts"
import * as Process from "./internal/process.ts"

/** Default values. */
export const defaults = {
  /** The time within which the control plane must be ready. */
  startTimeout: "90 seconds",
  /** The interval of readiness checks. */
  pollInterval: "50 millis"
} as const

export interface Options {
  /** The folder with the programs; `KUBEBUILDER_ASSETS` by default. */
  readonly assets?: string | undefined
  /** Whether kube-controller-manager runs; by default it does if the folder contains it. */
  readonly controllerManager?: boolean | undefined
  /** Additional flags of kube-apiserver, such as `--enable-admission-plugins=…`. */
  readonly apiServerFlags?: ReadonlyArray<string> | undefined
  readonly startTimeout?: Duration.Input | undefined
}

/**
 * The control plane did not start. `log` contains the last lines of the program that failed, or of all programs after a
 * timeout.
 */
export class EnvtestError extends Schema.TaggedError<EnvtestError>()("EnvtestError", {
  problem: Schema.String,
  log: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    return this.log === undefined || this.log === "" ? this.problem : `${this.problem}\n${this.log}`
  }
}

export class Envtest extends Context.Service<Envtest, {
  /** Of kube-apiserver. */
  readonly url: string
  /** Of etcd, for tests that need something no Kubernetes API offers, such as compaction. */
  readonly etcdUrl: string
  /** The administrator's. */
  readonly token: Redacted.Redacted
  /** PEM file with the certificate authority of the server. */
  readonly caFile: string
  /** For kubectl and other clients. Contains the token. */
  readonly kubeconfigPath: string
  readonly clusterConfig: ClusterConfig
}>()("@effect-operator/k8s/testing/Envtest") {}

type Service = Envtest["Service"]

const realClock = Clock.Clock.defaultValue()

const apiServerProgram = "kube-apiserver"
const controllerManagerProgram = "kube-controller-manager"

/** The first minor version whose controller manager has no insecure port, and no flag for it. */
const withoutPlainPort = 24

const frontProxyClient = "front-proxy-client"

const make = (options: Options): Effect.Effect<Service, EnvtestError, Scope.Scope> =>
  Effect.gen(function*() {
    const assets = yield* findAssets(options)
    const folder = yield* temporaryFolder
    // kube-apiserver could make its own, but that takes a second for RSA keys and slows down every handshake.
    const now = yield* Clock.currentTimeMillis
    const authority = yield* Certificates.authority({ now, commonName: "envtest-ca" })
    const ca = authority.certPem
    const server = yield* Certificates.issue(authority, {
      now,
      commonName: apiServerProgram,
      hosts: ["127.0.0.1", "localhost", "kubernetes.default.svc"]
    })
    // The authority by which aggregated API servers recognise this server.
    const proxyAuthority = yield* Certificates.authority({ now, commonName: "front-proxy-ca" })
    const proxy = yield* Certificates.issue(proxyAuthority, { now, commonName: frontProxyClient })
    const [etcdPort, etcdPeerPort, apiPort, managerPort] = yield* freePorts
    const token = Crypto.randomBytes(16).toString("hex")
    const url = `https://127.0.0.1:${apiPort}`
    const etcdUrl = `http://127.0.0.1:${etcdPort}`
    const file = (name: string, content: string) => {
      Fs.writeFileSync(Path.join(folder, name), content, { mode: 0o600 })
      return Path.join(folder, name)
    }
    const caFile = file("ca.crt", ca)
    const serviceAccountKey = file("sa.key", serviceAccountKeyPem())
    const kubeconfigPath = file("kubeconfig", JSON.stringify(kubeconfig(url, ca, token)))

    const etcd = yield* Process.start(Path.join(assets.folder, "etcd"), [
      "--data-dir=etcd",
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${etcdPeerPort}`,
      "--unsafe-no-fsync"
    ], folder)
    const apiServer = yield* Process.start(Path.join(assets.folder, apiServerProgram), [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${apiPort}`,
      "--bind-address=127.0.0.1",
      "--cert-dir=certs",
      `--tls-cert-file=${file("server.crt", server.certPem)}`,
      `--tls-private-key-file=${file("server.key", server.keyPem)}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-signing-key-file=${serviceAccountKey}`,
      `--service-account-key-file=${serviceAccountKey}`,
      `--token-auth-file=${file("tokens.csv", `${token},admin,admin,"system:masters"\n`)}`,
      "--authorization-mode=RBAC",
      `--client-ca-file=${caFile}`,
      `--requestheader-client-ca-file=${file("front-proxy-ca.crt", proxyAuthority.certPem)}`,
      `--requestheader-allowed-names=${frontProxyClient}`,
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--proxy-client-cert-file=${file("front-proxy.crt", proxy.certPem)}`,
      `--proxy-client-key-file=${file("front-proxy.key", proxy.keyPem)}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      "--disable-admission-plugins=ServiceAccount",
      "--allow-privileged=true",
      ...options.apiServerFlags ?? []
    ], folder)
    const clusterConfig: ClusterConfig = {
      context: "envtest",
      server: url,
      namespace: "default",
      ca,
      skipTlsVerify: false,
      credentials: Credentials.token(Redacted.make(token))
    }
    const programs = [etcd, apiServer]
    const controllerManager = Effect.gen(function*() {
      // It gives up after ten seconds without a server, which may be too short on a busy machine.
      yield* answer(clusterConfig, "/readyz")
      const version = yield* answer(clusterConfig, "/version")
      const minor = Number.parseInt(String(at(version, "minor")), 10)
      const manager = yield* Process.start(Path.join(assets.folder, controllerManagerProgram), [
        `--kubeconfig=${kubeconfigPath}`,
        `--service-account-private-key-file=${serviceAccountKey}`,
        "--use-service-account-credentials=false",
        ...(minor < withoutPlainPort ? ["--port=0"] : []),
        `--secure-port=${managerPort}`,
        "--bind-address=127.0.0.1",
        "--cert-dir=certs",
        "--leader-elect=false"
      ], folder)
      programs.push(manager)
      const managerConfig = { ...clusterConfig, server: `https://127.0.0.1:${managerPort}`, skipTlsVerify: true }
      yield* Effect.raceFirst(answer(managerConfig, "/healthz"), failsWithProgram(manager))
    })

    const timeout = options.startTimeout ?? defaults.startTimeout
    const waits = [
      answer(clusterConfig, "/readyz"),
      answer(clusterConfig, "/api/v1/namespaces/default"),
      ...(assets.controllerManager ? [controllerManager] : [])
    ]
    yield* Effect.all(waits, { concurrency: "unbounded", discard: true }).pipe(
      Effect.raceFirst(Effect.raceAllFirst([etcd, apiServer].map(failsWithProgram))),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(
            new EnvtestError({
              problem: `the control plane did not become ready within ${
                Duration.format(Duration.fromInputUnsafe(timeout))
              }`,
              log: programs.map((program) => `--- ${program.name}\n${Process.tail(program)}`).join("\n")
            })
          )
      })
    )
    return { url, etcdUrl, token: Redacted.make(token), caFile, kubeconfigPath, clusterConfig }
  })

/** A control plane with the given options. */
export const layerOptions = (options: Options): Layer.Layer<Envtest, EnvtestError> =>
  Layer.effect(
    Envtest,
    make(options).pipe(
      // Between finding a free port and listening on it, another process may have taken it.
      Effect.retry({ times: 2, while: (error) => error.log?.includes("address already in use") === true }),
      Effect.provideService(Clock.Clock, realClock)
    )
  )

/** A control plane from `KUBEBUILDER_ASSETS`. */
export const layer: Layer.Layer<Envtest, EnvtestError> = layerOptions({})

/** The live client of the control plane, as administrator. */
export const clientLayer: Layer.Layer<KubeClient.KubeClient, never, Envtest> = Layer.unwrap(
  Effect.map(Envtest, ({ clusterConfig }) => LiveClient.layerCluster(clusterConfig))
)

const findAssets = (options: Options) =>
  Effect.gen(function*() {
    const configured = yield* Effect.orDie(Config.option(Config.String("KUBEBUILDER_ASSETS")))
    const named = options.assets ?? Option.getOrUndefined(configured)
    if (named === undefined || named === "") {
      return yield* new EnvtestError({
        problem: "KUBEBUILDER_ASSETS is not set; set it to a folder with etcd and kube-apiserver, such as " +
          "the one that `setup-envtest use -p path` prints"
      })
    }
    // The programs run in another folder.
    const folder = Path.resolve(named)
    const has = (program: string) => Fs.existsSync(Path.join(folder, program))
    const wanted = ["etcd", apiServerProgram, ...(options.controllerManager === true ? [controllerManagerProgram] : [])]
    const missing = wanted.filter((program) => !has(program))
    if (missing.length > 0) {
      return yield* new EnvtestError({
        problem: `KUBEBUILDER_ASSETS: ${folder} is missing ${missing.join(" and ")}; ` +
          "set it to a folder with etcd and kube-apiserver"
      })
    }
    return { folder, controllerManager: options.controllerManager !== false && has(controllerManagerProgram) }
  })

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "envtest-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
)

/** Unused ports. All are held at once, so that they differ, and released just before they are used. */
const freePorts = Effect.promise(async () => {
  const servers = await Promise.all([0, 1, 2, 3].map(() =>
    new Promise<Net.Server>((resolve, reject) => {
      const server = Net.createServer().once("error", reject)
      server.listen(0, "127.0.0.1", () => resolve(server))
    })
  ))
  const ports = servers.map((server) => (server.address() as Net.AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
})

/** Waits until the path answers 200, and returns the body. */
const answer = (cluster: ClusterConfig, path: string) =>
  Effect.scoped(Effect.gen(function*() {
    const transport = yield* LiveClient.makeTransport(cluster, { retry: { times: 0 } })
    const ask = Effect.option(transport.request({ method: "GET", path, query: [], headers: {} }))
    for (;;) {
      const answered = yield* ask
      if (Option.isSome(answered) && answered.value.status === 200) return answered.value.body
      yield* Effect.sleep(defaults.pollInterval)
    }
  }))

const failsWithProgram = (program: Process.Running): Effect.Effect<never, EnvtestError> =>
  Effect.flatMap(
    Deferred.await(program.exited),
    (how) => Effect.fail(new EnvtestError({ problem: `${program.name} exited (${how})`, log: Process.tail(program) }))
  )

// In SEC 1 form: kube-apiserver 1.20 does not read elliptic curve keys in PKCS 8 form here.
const serviceAccountKeyPem = (): string =>
  Crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" })
    .toString()

const kubeconfig = (server: string, ca: string, token: string) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    { name: "envtest", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }
  ],
  users: [{ name: "admin", user: { token } }],
  contexts: [{ name: "envtest", context: { cluster: "envtest", user: "admin", namespace: "default" } }],
  "current-context": "envtest"
})
