/**
 * `ExecPlugin`: credentials from a program, configured in a kubeconfig under `user.exec`.
 *
 * The program is started without a shell, with the environment of this process and the variables of the kubeconfig, and
 * with `KUBERNETES_EXEC_INFO`: an `ExecCredential` that contains the version, whether the user can be prompted and, if
 * requested (`provideClusterInfo`), the cluster. It writes an `ExecCredential` with a token, a client certificate, or
 * both to standard output. A program that takes too long, or whose credentials are no longer awaited, is killed. As
 * with kubectl, its standard error is that of this process, since logins are prompted there.
 *
 * No failure quotes the program's output or arguments: both may contain a secret.
 *
 * Source: client-go, plugin/pkg/client/auth/exec/exec.go; KEP-541.
 */
import { Transport } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as ChildProcess from "node:child_process"
import type * as Credentials from "../Credentials.ts"
import { codeOf } from "./FileSource.ts"

/** Defaults of this module. */
export const defaults = {
  /** The longest output, in characters. */
  maxOutput: 1024 * 1024
} as const

const group = "client.authentication.k8s.io"

/** The supported versions; Kubernetes 1.24 removed `v1alpha1`. */
export const apiVersions: ReadonlyArray<string> = [`${group}/v1`, `${group}/v1beta1`]

export const interactiveModes = ["Never", "IfAvailable", "Always"] as const

/** The validated configuration of a plugin. */
export interface Spec {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly apiVersion: string
  readonly interactiveMode: (typeof interactiveModes)[number]
  /** What to do if the command does not exist. */
  readonly installHint?: string | undefined
  /** The cluster, if the plugin is to be told. */
  readonly cluster?: ClusterInfo | undefined
}

/** `ExecCredential.spec.cluster`. */
export interface ClusterInfo {
  readonly "server": string
  readonly "tls-server-name"?: string
  readonly "insecure-skip-tls-verify"?: boolean
  /** Base64 of PEM. */
  readonly "certificate-authority-data"?: string
  readonly "proxy-url"?: string
  readonly "disable-compression"?: boolean
  /** The cluster's extension named `client.authentication.k8s.io/exec`. */
  readonly "config"?: unknown
}

const calls = Metric.counter("rest_client_exec_plugin_call_total", {
  description: "Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, " +
    "plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code",
  incremental: true
})

type CallStatus = "no_error" | "plugin_execution_error" | "plugin_not_found_error" | "client_internal_error"

/** How a run of the program ended. */
type Run =
  | { readonly _tag: "Exited"; readonly code: number; readonly output: string }
  | { readonly _tag: "Killed"; readonly signal: string }
  | { readonly _tag: "NotStarted"; readonly code: string }
  | { readonly _tag: "TooMuch" }

/** Runs the plugin once. `isTerminal` says whether the user can be prompted. */
export const run = (
  spec: Spec,
  isTerminal: boolean = process.stdin.isTTY === true
): Effect.Effect<Credentials.Issued, Transport> =>
  Effect.gen(function*() {
    if (spec.interactiveMode === "Always" && !isTerminal) {
      return yield* refused(spec, "is interactive (interactiveMode: Always), but standard input is not a terminal")
    }
    const interactive = spec.interactiveMode !== "Never" && isTerminal
    const ended = yield* start(spec, interactive)
    yield* count(ended)
    switch (ended._tag) {
      case "NotStarted":
        return yield* refused(
          spec,
          `could not be started: ${ended.code}${
            ended.code === "ENOENT" && spec.installHint !== undefined ? `; ${spec.installHint.trim()}` : ""
          }`
        )
      case "Killed":
        return yield* refused(spec, `was ended by ${ended.signal}`)
      case "TooMuch":
        return yield* refused(spec, `wrote more than ${defaults.maxOutput} characters`)
      case "Exited":
        return ended.code === 0
          ? yield* Effect.fromResult(Result.mapError(parse(spec, ended.output), (problem) => failed(spec, problem)))
          : yield* refused(spec, `ended with code ${ended.code}`)
    }
  })

const failed = (spec: Spec, problem: string): Transport =>
  new Transport({ message: `the exec plugin ${spec.command} ${problem}` })

const refused = (spec: Spec, problem: string) => Effect.fail(failed(spec, problem))

const count = (ended: Run) => {
  const [code, status]: readonly [number, CallStatus] = ended._tag === "Exited"
    ? [ended.code, ended.code === 0 ? "no_error" : "plugin_execution_error"]
    : [1, ended._tag === "NotStarted" ? "plugin_not_found_error" : "client_internal_error"]
  return Metric.update(Metric.withAttributes(calls, { code: String(code), call_status: status }), 1)
}

/** The text of `KUBERNETES_EXEC_INFO`. */
export const execInfo = (spec: Spec, interactive: boolean): string =>
  JSON.stringify({
    kind: "ExecCredential",
    apiVersion: spec.apiVersion,
    spec: { ...(spec.cluster === undefined ? {} : { cluster: spec.cluster }), interactive }
  })

const spawn = (spec: Spec, interactive: boolean): ChildProcess.ChildProcess =>
  ChildProcess.spawn(spec.command, [...spec.args], {
    env: { ...process.env, ...spec.env, KUBERNETES_EXEC_INFO: execInfo(spec, interactive) },
    stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
    windowsHide: true
  })

const start = (spec: Spec, interactive: boolean): Effect.Effect<Run> =>
  Effect.callback<Run>((resume) => {
    let output = ""
    let child: ChildProcess.ChildProcess
    const notStarted = (cause: unknown) => resume(Effect.succeed({ _tag: "NotStarted", code: codeOf(cause) }))
    try {
      child = spawn(spec, interactive)
    } catch (cause) {
      // Some failures are thrown: no memory left, or a variable that is too long, such as one with very many CAs.
      return notStarted(cause)
    }
    child.once("error", notStarted)
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (output.length <= defaults.maxOutput) return
      child.kill("SIGKILL")
      resume(Effect.succeed({ _tag: "TooMuch" }))
    })
    child.once("close", (code, signal) =>
      resume(Effect.succeed(
        code === null ? { _tag: "Killed", signal: signal ?? "a signal" } : { _tag: "Exited", code, output }
      )))
    return Effect.sync(() => {
      child.stdout?.destroy()
      child.kill("SIGKILL")
    })
  })

/** The fields of an `ExecCredential` that are read, not validated yet. */
interface Credential {
  readonly kind?: unknown
  readonly apiVersion?: unknown
  readonly status?: {
    readonly token?: unknown
    readonly clientCertificateData?: unknown
    readonly clientKeyData?: unknown
    readonly expirationTimestamp?: unknown
  } | null
}

/** Parses the program's output, or returns what is wrong with it. */
export const parse = (spec: Pick<Spec, "apiVersion">, output: string): Result.Result<Credentials.Issued, string> => {
  const credential = json(output)
  if (credential === undefined) return Result.fail("wrote something that is not a JSON object")
  if (credential.kind !== "ExecCredential") return Result.fail("wrote an object that is not an ExecCredential")
  if (credential.apiVersion !== spec.apiVersion) {
    return Result.fail(`is configured to use API version ${spec.apiVersion}, but answered with another`)
  }
  const { status } = credential
  if (typeof status !== "object" || status === null) return Result.fail("wrote no status")
  const token = text(status.token)
  const cert = text(status.clientCertificateData)
  const key = text(status.clientKeyData)
  if ((cert === undefined) !== (key === undefined)) {
    return Result.fail("wrote only one of clientCertificateData and clientKeyData")
  }
  if (token === undefined && cert === undefined) return Result.fail("wrote neither a token nor a certificate")
  const expiresAt = text(status.expirationTimestamp) === undefined
    ? undefined
    : Date.parse(text(status.expirationTimestamp) ?? "")
  if (Number.isNaN(expiresAt)) return Result.fail("wrote an expirationTimestamp that is not a time")
  return Result.succeed({
    ...(token === undefined ? {} : { token: Redacted.make(token) }),
    ...(cert === undefined || key === undefined ? {} : { certificate: { cert, key: Redacted.make(key) } }),
    ...(expiresAt === undefined ? {} : { expiresAt })
  })
}

const json = (output: string): Credential | undefined => {
  try {
    const value: unknown = JSON.parse(output)
    return typeof value === "object" && value !== null ? value as Credential : undefined
  } catch {
    return undefined
  }
}

const text = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined
