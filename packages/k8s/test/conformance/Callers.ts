/**
 * How a statement speaks as somebody other than the administrator, and how it learns what the server's audit says.
 *
 * Impersonation headers need nothing of this. Requests of `bare` carry no credentials but those in their own headers;
 * `audited` gives the audit events of one request, found by the `Audit-Id` header it was sent with.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Transport } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Path from "node:path"
import * as Credentials from "../../src/Credentials.ts"
import type { ClusterConfig } from "../../src/KubeConfig.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import * as ApiServer from "../../src/testing/ApiServer.ts"
import type { Event } from "../../src/testing/auth/Audit.ts"
import * as OwnerReferences from "../../src/testing/auth/OwnerReferences.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import { patience } from "./Patience.ts"

export class Callers extends Context.Service<Callers, {
  readonly bare: Transport["Service"]
  /** The events of the request with that id, once there are so many; fails the statement if they do not come. */
  readonly audited: (id: string, count: number) => Effect.Effect<ReadonlyArray<Event>>
}>()("@effect-operator/k8s/test/conformance/Callers") {}

const live = Clock.Clock.defaultValue()

/** Asks again and again: audit comes after the answer. */
const patiently = (read: Effect.Effect<ReadonlyArray<Event>>): Callers["Service"]["audited"] => (id, count) =>
  read.pipe(
    Effect.map((events) => events.filter(({ auditID }) => auditID === id)),
    Effect.repeat({ until: (events) => events.length >= count, schedule: Schedule.spaced("50 millis") }),
    Effect.timeoutOrElse({
      duration: patience.events,
      orElse: () => Effect.die(new Error(`no ${count} audit events of ${id}`))
    }),
    Effect.provideService(Clock.Clock, live)
  )

/** Everything an in-memory server tells from now on. */
const collected = Effect.gen(function*() {
  const { audit } = yield* ApiServer.ApiServer
  const events: Array<Event> = []
  yield* Effect.forkScoped(Stream.runForEach(audit, (event) => Effect.sync(() => events.push(event))), {
    startImmediately: true
  })
  return patiently(Effect.sync(() => events))
})

/** In memory: as what comes over a network, without the network. */
export const memory: Layer.Layer<Callers, never, ApiServer.ApiServer> = Layer.effect(
  Callers,
  Effect.gen(function*() {
    const server = yield* ApiServer.ApiServer
    const bare = Transport.of({
      request: (request) => server.receive(request, {}),
      stream: (request) =>
        Effect.map(server.receive(request, {}), ({ events, ...response }) => ({
          ...response,
          values: events ?? Stream.empty
        }))
    })
    return Callers.of({ bare, audited: yield* collected })
  })
)

const anonymously = (cluster: ClusterConfig) =>
  LiveClient.makeTransport({ ...cluster, credentials: Credentials.fixed({}) }, { retry: { times: 0 } })

/** Over HTTPS. */
export const http: Layer.Layer<Callers, never, ApiServer.ApiServer | HttpFacade.HttpFacade> = Layer.effect(
  Callers,
  Effect.gen(function*() {
    const { caPem: ca, url: server } = yield* HttpFacade.HttpFacade
    const cluster = {
      context: "http",
      server,
      namespace: "default",
      ca,
      skipTlsVerify: false,
      credentials: Credentials.fixed({})
    }
    return Callers.of({ bare: yield* anonymously(cluster), audited: yield* collected })
  })
)

/** The in-memory server as statements want it. */
export const apiServer: Layer.Layer<ApiServer.ApiServer> = ApiServer.ApiServer.layerOptions({
  // Statements about mutating policies need them.
  runtimeConfig: { "admissionregistration.k8s.io/v1beta1": true },
  admission: [OwnerReferences.plugin]
})

/** Where a real server writes what it audits. */
class AuditLog extends Context.Service<AuditLog, { readonly file: string; readonly flags: ReadonlyArray<string> }>()(
  "@effect-operator/k8s/test/conformance/Callers/AuditLog"
) {}

/** Everything, but for the first of the stages, which tells nothing that the others do not. */
const policy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  // What the server asks of itself is a lot, and slows its start.
  rules: [{ level: "None", users: ["system:apiserver"] }, { level: "RequestResponse" }]
}

const auditLog: Layer.Layer<AuditLog> = Layer.effect(
  AuditLog,
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const folder = yield* files.makeTempDirectoryScoped({ prefix: "audit-" })
    const [file, rules] = [Path.join(folder, "audit.log"), Path.join(folder, "policy.json")]
    yield* files.writeFileString(rules, JSON.stringify(policy))
    return { file, flags: [`--audit-log-path=${file}`, `--audit-policy-file=${rules}`] }
  })
).pipe(Layer.provide(NodeServices.layer), Layer.orDie)

/** A control plane that audits, and checks who may set owner references. */
export const controlPlane = Layer.unwrap(Effect.map(AuditLog, ({ flags }) =>
  Envtest.layerOptions({
    apiServerFlags: [...flags, "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
  }))).pipe(Layer.provideMerge(auditLog))

/** Of the real server. */
export const real: Layer.Layer<Callers, never, Envtest.Envtest | AuditLog> = Layer.effect(
  Callers,
  Effect.gen(function*() {
    const { clusterConfig } = yield* Envtest.Envtest
    const { file } = yield* AuditLog
    const files = yield* FileSystem.FileSystem
    const events = Effect.map(
      Effect.orDie(files.readFileString(file)),
      (text) => text.split("\n").filter((line) => line.endsWith("}")).map((line): Event => JSON.parse(line))
    )
    return Callers.of({ bare: yield* anonymously(clusterConfig), audited: patiently(events) })
  })
).pipe(Layer.provide(NodeServices.layer))
