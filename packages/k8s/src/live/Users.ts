/**
 * `Users`: the credentials of a kubeconfig's user.
 *
 * If a user has several, the first of these counts: token file, token, exec plugin, auth provider, password. Client
 * certificate and impersonation are added to any of them. Exec plugins and OpenID Connect have their own modules
 * (`ExecPlugin`, `Oidc`). The auth providers that kubectl no longer has (gcp, azure) are run by
 * `@kubernetes/client-node`, which is loaded only for them.
 *
 * Source: client-go, tools/clientcmd/client_config.go and validation.go, transport/round_trippers.go.
 */
import { Transport } from "@effect-operator/core/KubeError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Path from "node:path"
import * as Credentials from "../Credentials.ts"
import type * as ExecPlugin from "./ExecPlugin.ts"
import * as FileSource from "./FileSource.ts"
import {
  type Document,
  type Entry,
  fail,
  type KubeConfigError,
  pem,
  type RawCluster,
  type RawExec,
  type RawUser
} from "./KubeConfigDocument.ts"

/** Defaults of this module. */
export const defaults = {
  /** How long an auth provider's credentials are cached, in milliseconds: it has a cache of its own. */
  providerMaxAge: 60_000
} as const

/** A user's credentials. Files are given if they are to be read again. */
export interface Identity {
  readonly cert?: string
  readonly key?: Redacted.Redacted
  readonly files?: { readonly cert?: string; readonly key?: string }
  readonly credentials: Credentials.Credentials
}

/** No credentials. */
export const anonymous: Identity = { credentials: Credentials.fixed({}) }

/** The cluster, for plugins that are to be told about it. */
export interface Cluster {
  readonly raw: RawCluster
  readonly server: string
  readonly ca: string | undefined
}

type Headers = Readonly<Record<string, string | ReadonlyArray<string>>>

export const identify = (
  cluster: Cluster,
  entry: Entry<RawUser>
): Effect.Effect<Identity, KubeConfigError> =>
  Effect.gen(function*() {
    const { from, name, value: user } = entry
    const at = `users[${name}].user`
    const also = impersonation(user)
    if (also["impersonate-user"] === undefined && Object.keys(also).length > 0) {
      return yield* fail(
        from.source,
        `${at}.as`,
        "is missing, although as-uid, as-groups or as-user-extra are set",
        "name the user to impersonate"
      )
    }
    const cert = yield* pem(
      from,
      `${at}.client-certificate`,
      user["client-certificate-data"],
      user["client-certificate"]
    )
    const key = yield* pem(from, `${at}.client-key`, user["client-key-data"], user["client-key"])
    if ((cert === undefined) !== (key === undefined)) {
      const [present, absent] = cert === undefined
        ? ["client-key", "client-certificate"]
        : ["client-certificate", "client-key"]
      return yield* fail(from.source, `${at}.${absent}`, "is missing", `set it, or remove ${present}`)
    }
    const files = {
      ...(cert?.file === undefined ? {} : { cert: cert.file }),
      ...(key?.file === undefined ? {} : { key: key.file })
    }
    const pair = cert === undefined || key === undefined ? {} : {
      cert: cert.text,
      key: secret(key.text),
      ...(Object.keys(files).length === 0 ? {} : { files })
    }
    return { ...pair, credentials: yield* credentials(cluster, entry, at, also) }
  })

const secret = (text: string) => Redacted.make(text)

const credentials = (
  cluster: Cluster,
  { from, name, value: user }: Entry<RawUser>,
  at: string,
  also: Headers
): Effect.Effect<Credentials.Credentials, KubeConfigError> =>
  Effect.gen(function*() {
    if (user.tokenFile) {
      const file = Path.resolve(from.folder ?? "", user.tokenFile)
      const source = Credentials.tokenFile(file, also, user.token ? secret(user.token) : undefined)
      yield* works(from, `${at}.tokenFile`, source, "give the path of a file that exists and is readable")
      return source
    }
    if (user.token) return Credentials.token(secret(user.token), also)
    if (user.exec) {
      const spec = yield* execSpec(cluster, from, `${at}.exec`, user.exec)
      const { run } = yield* Effect.promise(() => import("./ExecPlugin.ts"))
      const plugin = `the exec plugin ${spec.command} of user ${name}`
      const source = Credentials.issued(run(spec), { name: plugin, also })
      yield* works(from, `${at}.exec`, source, "install it, or log in again with its own command")
      return source
    }
    if (user["auth-provider"]) {
      const source = yield* provider(from, name, `${at}.auth-provider`, user["auth-provider"], also)
      yield* works(from, `${at}.auth-provider`, source, "log in again")
      return source
    }
    return user.username
      ? Credentials.basic(user.username, secret(user.password ?? ""), also)
      : Credentials.fixed(also)
  })

/** Asks the source once, so that broken configuration is reported at once and with its place. */
const works = (from: Document, field: string, source: Credentials.Credentials, remedy: string) =>
  Effect.catch(source.headers, (error) => fail(from.source, field, error.message, remedy))

/** Source: client-go, transport/round_trippers.go (ImpersonationConfig). */
const impersonation = (user: RawUser): Headers => ({
  ...(user.as ? { "impersonate-user": user.as } : {}),
  ...(user["as-uid"] ? { "impersonate-uid": user["as-uid"] } : {}),
  ...(user["as-groups"]?.length ? { "impersonate-group": user["as-groups"] } : {}),
  ...Object.fromEntries(
    Object.entries(user["as-user-extra"] ?? {}).map(([name, values]) =>
      [`impersonate-extra-${headerName(name)}`, values] as const
    )
  )
})

/** Characters that are not allowed in header names are percent-encoded; the server decodes them. */
const headerName = (name: string): string =>
  encodeURIComponent(name).replace(/[()]/g, (char) => `%${char.charCodeAt(0).toString(16)}`).toLowerCase()

// --- exec plugins -----------------------------------------------------------------------------------------------

const execExtension = "client.authentication.k8s.io/exec"

const execSpec = (
  cluster: Cluster,
  from: Document,
  at: string,
  exec: RawExec
): Effect.Effect<ExecPlugin.Spec, KubeConfigError> =>
  Effect.gen(function*() {
    const { apiVersions, interactiveModes } = yield* Effect.promise(() => import("./ExecPlugin.ts"))
    const { apiVersion, command } = exec
    if (!command) return yield* fail(from.source, `${at}.command`, "is missing", "name the program to run")
    if (apiVersion === undefined || !apiVersions.includes(apiVersion)) {
      return yield* fail(
        from.source,
        `${at}.apiVersion`,
        apiVersion ? `${apiVersion} is not supported` : "is missing",
        `use ${apiVersions.join(" or ")}`
      )
    }
    const mode = exec.interactiveMode ?? "IfAvailable"
    const interactiveMode = interactiveModes.find((known) => known === mode)
    if (interactiveMode === undefined) {
      return yield* fail(
        from.source,
        `${at}.interactiveMode`,
        `${mode} is not supported`,
        `use ${interactiveModes.join(", ")}`
      )
    }
    const env = exec.env ?? []
    if (env.some((variable) => !variable.name)) {
      return yield* fail(from.source, `${at}.env`, "has a variable without a name", "name it")
    }
    return {
      // A path is relative to the kubeconfig; a plain name is looked up in PATH.
      command: command.includes("/") || command.includes(Path.sep) ? Path.resolve(from.folder ?? "", command) : command,
      args: (exec.args ?? []).map(String),
      env: Object.fromEntries(env.map((variable) => [variable.name ?? "", String(variable.value ?? "")] as const)),
      apiVersion,
      interactiveMode,
      ...(exec.installHint ? { installHint: exec.installHint } : {}),
      ...(exec.provideClusterInfo === true ? { cluster: clusterInfo(cluster) } : {})
    }
  })

const clusterInfo = ({ ca, raw, server }: Cluster): ExecPlugin.ClusterInfo => {
  const extension = raw.extensions?.find(({ name }) => name === execExtension)
  return {
    server,
    ...(raw["tls-server-name"] ? { "tls-server-name": raw["tls-server-name"] } : {}),
    ...(raw["insecure-skip-tls-verify"] === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
    ...(raw["proxy-url"] ? { "proxy-url": raw["proxy-url"] } : {}),
    ...(raw["disable-compression"] === true ? { "disable-compression": true } : {}),
    ...(extension === undefined ? {} : { config: extension.extension })
  }
}

// --- auth providers ---------------------------------------------------------------------------------------------

const provider = (
  from: Document,
  user: string,
  at: string,
  { config, name }: NonNullable<RawUser["auth-provider"]>,
  also: Headers
): Effect.Effect<Credentials.Credentials, KubeConfigError> => {
  const described = { name: `the auth provider ${name ?? ""} of user ${user}`, also }
  return name === "oidc"
    ? Effect.map(oidc(from, user, at, config ?? {}), ({ ask }) => Credentials.issued(ask, described))
    : Effect.succeed(
      Credentials.issued(legacy(described.name, user, { name: name ?? "", config: config ?? {} }), described)
    )
}

const oidc = (from: Document, user: string, at: string, config: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const [issuer, clientId] = [config["idp-issuer-url"], config["client-id"]]
    if (!issuer) return yield* fail(from.source, `${at}.config.idp-issuer-url`, "is missing", "log in again")
    if (!clientId) return yield* fail(from.source, `${at}.config.client-id`, "is missing", "log in again")
    const ca = yield* pem(
      from,
      `${at}.config.idp-certificate-authority`,
      config["idp-certificate-authority-data"],
      config["idp-certificate-authority"]
    )
    const optional = (name: string) => config[name] ? secret(config[name]) : undefined
    const Oidc = yield* Effect.promise(() => import("./Oidc.ts"))
    const { readTokens, saveTokens } = yield* Effect.promise(() => import("./KubeConfigWriter.ts"))
    const ask: Effect.Effect<Credentials.Issued, Transport> = Oidc.make(
      {
        issuer,
        clientId,
        clientSecret: optional("client-secret"),
        idToken: optional("id-token"),
        refreshToken: optional("refresh-token"),
        ca: ca?.text
      },
      from.folder === undefined
        ? { read: Effect.undefined, save: () => Effect.void }
        : { read: readTokens(from.source, user), save: (tokens) => saveTokens(from.source, user, tokens) }
    )
    return { ask }
  })

/** The credentials that client-node obtains for an auth provider, cached briefly. */
const legacy = (
  described: string,
  user: string,
  authProvider: { readonly name: string; readonly config: Readonly<Record<string, string>> }
): Effect.Effect<Credentials.Issued, Transport> =>
  Effect.gen(function*() {
    const answer = yield* Effect.tryPromise({
      try: async () => {
        const { KubeConfig } = await import("@kubernetes/client-node")
        const config = new KubeConfig()
        config.loadFromClusterAndUser(
          { name: "credentials", server: "https://credentials.invalid", skipTLSVerify: false },
          { name: user, authProvider }
        )
        const options: Parameters<typeof config.applyToHTTPSOptions>[0] = {}
        await config.applyToHTTPSOptions(options)
        return options
      },
      catch: (cause) => {
        const code = FileSource.codeOf(cause)
        // The bundle that a project's `npm run build` makes does not contain it.
        const remedy = code === "ERR_MODULE_NOT_FOUND"
          ? ": install the package @kubernetes/client-node next to the program"
          : ""
        return new Transport({ message: `${described} gave no credentials: ${code}${remedy}` })
      }
    })
    const headers = new Map(Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
    const [scheme, token] = String(headers.get("authorization") ?? "").split(" ")
    if (scheme !== "Bearer" || !token) {
      return yield* new Transport({ message: `${described} gave no credentials: no bearer token` })
    }
    return { token: secret(token), expiresAt: (yield* Clock.currentTimeMillis) + defaults.providerMaxAge }
  })
