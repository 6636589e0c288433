/**
 * `KubeConfig`: which cluster, and as whom.
 *
 * `load` finds the configuration the way kubectl does and yields a plain, immutable `ClusterConfig`. The first of these
 * that applies decides:
 * 1. `options.kubeconfig`, the text of a kubeconfig;
 * 2. `options.file`;
 * 3. `$KUBECONFIG`, a list of files, merged: the first file to name a cluster, user, context or current context wins,
 *    files that do not exist are passed over (but one must exist);
 * 4. `$HOME/.kube/config`, if it exists;
 * 5. the service account of the pod this runs in.
 * `options.context` chooses another context of 1 to 4; `options.inCluster` goes straight to 5. Relative file names in
 * a kubeconfig are relative to that file. Where a setting has a `-data` twin, the data wins. A user's token file goes
 * before its token, exec plugins and auth providers before its password.
 *
 * Kubeconfigs are read by the loader of `@kubernetes/client-node`, which also runs exec plugins and auth providers.
 * This is the only file that imports it, and only when a kubeconfig is there to be read: a pod starts without it.
 * Secrets are `Redacted`, and no error quotes a file's content.
 */
import type { Cluster, Context, KubeConfig as Loader, User } from "@kubernetes/client-node"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as Credentials from "./Credentials.ts"

/** Figures and places that hold unless `Options` say otherwise. */
export const defaults = {
  namespace: "default",
  /** Where kubelet puts a pod's token, CA and namespace. */
  serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
  /** Below the home folder. */
  file: ".kube/config"
} as const

/** A cluster, and how to get in. */
export interface ClusterConfig {
  /** The context's name; `in-cluster` in a pod. For messages. */
  readonly context: string
  /** `https://host:port`, with a path where the API is served below one; no trailing slash. */
  readonly server: string
  /** Where objects go that name no namespace. */
  readonly namespace: string
  /** PEM; the public CAs if absent. */
  readonly ca?: string
  /** PEM, for authentication by client certificate; with `key`. */
  readonly cert?: string
  readonly key?: Redacted.Redacted
  /** The name to expect in the server's certificate, where it is not the host of `server`. */
  readonly servername?: string
  /** Accept any certificate. */
  readonly skipTlsVerify: boolean
  /** `http://`, `https://` or `socks5://`. Redacted because it may hold a password. */
  readonly proxy?: Redacted.Redacted
  readonly credentials: Credentials.Credentials
}

export interface Options {
  /** The text of a kubeconfig. */
  readonly kubeconfig?: string | Redacted.Redacted | undefined
  /** A kubeconfig file, instead of `$KUBECONFIG` and the home folder. */
  readonly file?: string | undefined
  /** A context of the kubeconfig; its current context by default. */
  readonly context?: string | undefined
  /** The default namespace, instead of the context's. */
  readonly namespace?: string | undefined
  /** Use the pod's service account, whatever kubeconfig there is. */
  readonly inCluster?: boolean | undefined
  /** The folder of the service account. */
  readonly serviceAccount?: string | undefined
}

/** Options from configuration: `KUBE_CONTEXT`, `KUBE_NAMESPACE`, and `KUBECONFIG` by way of `load`. */
export const config: Config.Config<Options> = Config.all({
  context: optional("KUBE_CONTEXT"),
  namespace: optional("KUBE_NAMESPACE")
})

function optional(name: string): Config.Config<string | undefined> {
  return Config.map(Config.option(Config.String(name)), (value) => Option.getOrUndefined(value) || undefined)
}

/** The configuration cannot be used: where, what about it, and what to do. */
export class KubeConfigError extends Schema.TaggedError<KubeConfigError>()("KubeConfigError", {
  /** The file, or what stands for one. */
  source: Schema.String,
  /** The field, as a path. */
  field: Schema.optionalKey(Schema.String),
  problem: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.source}: ${this.field === undefined ? "" : `${this.field}: `}${this.problem}; ${this.remedy}`
  }
}

const fail = (source: string, field: string | undefined, problem: string, remedy: string) =>
  Effect.fail(new KubeConfigError({ source, problem, remedy, ...(field === undefined ? {} : { field }) }))

/** Finds, reads and checks the configuration. Files are read now; a token file again whenever it ages. */
export const load = (options: Options = {}): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    if (options.inCluster === true) return yield* inCluster(options)
    const documents = yield* find(options)
    if (documents.length > 0) return yield* fromDocuments(documents, options)
    if (yield* exists(Path.join(options.serviceAccount ?? defaults.serviceAccount, "token"))) {
      return yield* inCluster(options)
    }
    return yield* fail(
      "kubeconfig",
      undefined,
      "found neither $KUBECONFIG, nor ~/.kube/config, nor a pod's service account",
      "set KUBECONFIG to a kubeconfig file, or run inside a cluster"
    )
  }).pipe(Effect.withSpan("KubeConfig.load"))

// --- kubeconfig files -------------------------------------------------------------------------------------------

/** One kubeconfig, parsed; `folder` is what its relative file names are relative to. */
interface Document {
  readonly source: string
  readonly folder: string | undefined
  readonly value: RawConfig
}

/** The part of a kubeconfig that the loader drops. */
interface RawConfig {
  readonly users?: ReadonlyArray<{ readonly name?: string; readonly user?: RawUser | null }> | null
}

interface RawUser {
  readonly tokenFile?: string
  readonly as?: string
  readonly "as-uid"?: string
  readonly "as-groups"?: ReadonlyArray<string>
  readonly "as-user-extra"?: Readonly<Record<string, ReadonlyArray<string>>>
}

const find = (options: Options): Effect.Effect<ReadonlyArray<Document>, KubeConfigError> =>
  Effect.gen(function*() {
    if (options.kubeconfig !== undefined) {
      const text = typeof options.kubeconfig === "string" ? options.kubeconfig : Redacted.value(options.kubeconfig)
      return [yield* parse("the given kubeconfig", undefined, text)]
    }
    if (options.file !== undefined) return [yield* readDocument(Path.resolve(options.file))]
    const { home, list } = yield* Config.all({ list: optional("KUBECONFIG"), home: optional("HOME") }).pipe(
      Effect.mapError((error) =>
        new KubeConfigError({ source: "environment", problem: error.message, remedy: "correct KUBECONFIG or HOME" })
      )
    )
    const named = (list ?? "").split(Path.delimiter).filter((file) => file !== "").map((file) => Path.resolve(file))
    if (named.length > 0) {
      const present = yield* Effect.filter(named, exists)
      return present.length > 0
        ? yield* Effect.forEach(present, readDocument)
        : yield* fail("$KUBECONFIG", undefined, `no such file: ${named.join(", ")}`, "correct or unset KUBECONFIG")
    }
    const standard = home === undefined ? undefined : Path.join(home, defaults.file)
    return standard !== undefined && (yield* exists(standard)) ? [yield* readDocument(standard)] : []
  })

const exists = (file: string): Effect.Effect<boolean> =>
  Effect.promise(() => Fs.access(file).then(() => true, () => false))

const read = (source: string, field: string | undefined, file: string): Effect.Effect<string, KubeConfigError> =>
  Effect.tryPromise({
    try: () => Fs.readFile(file, "utf8"),
    catch: (cause) =>
      new KubeConfigError({
        source,
        ...(field === undefined ? {} : { field }),
        problem: `cannot read ${file}: ${(cause as NodeJS.ErrnoException).code ?? "unknown error"}`,
        remedy: "name a file that exists and may be read"
      })
  })

const readDocument = (file: string) =>
  Effect.flatMap(read(file, undefined, file), (text) => parse(file, Path.dirname(file), text))

const parse = (source: string, folder: string | undefined, text: string): Effect.Effect<Document, KubeConfigError> =>
  Effect.gen(function*() {
    const { parseDocument } = yield* Effect.promise(() => import("yaml"))
    // Only the kind and place of a fault are told: a parser's message quotes the line, which may hold a token.
    const document = parseDocument(text, { prettyErrors: false })
    const fault = document.errors[0]
    if (fault !== undefined) {
      const line = text.slice(0, fault.pos[0]).split("\n").length
      return yield* fail(source, undefined, `line ${line} is no YAML (${fault.code})`, "correct the file")
    }
    const value: unknown = yield* Effect.try({
      try: () => document.toJS(),
      catch: () =>
        new KubeConfigError({ source, problem: "has aliases that cannot be resolved", remedy: "write them out" })
    })
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { source, folder, value: value as RawConfig }
      : yield* fail(source, undefined, "is no kubeconfig: the top is no mapping", "name a kubeconfig file")
  })

/** What the loader made of one document, and the document. */
interface Loaded extends Document {
  readonly config: Loader
  /** Which entry the loader could not use, if any. */
  readonly fault: string | undefined
}

const loader = Effect.promise(() => import("@kubernetes/client-node"))

const fromDocuments = (
  documents: ReadonlyArray<Document>,
  options: Options
): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const { KubeConfig } = yield* loader
    const loaded = documents.map((document): Loaded => {
      const text = JSON.stringify(document.value)
      const config = new KubeConfig()
      // A broken entry matters only to who uses it.
      config.loadFromString(text, { onInvalidEntry: "filter" })
      if (document.folder !== undefined) config.makePathsAbsolute(document.folder)
      return { ...document, config, fault: faultOf(() => new KubeConfig().loadFromString(text)) }
    })
    const sources = loaded.map(({ source }) => source).join(", ")

    const name = options.context ??
      loaded.map(({ config }) => config.getCurrentContext()).find((current) => current !== undefined && current !== "")
    if (name === undefined) {
      const known = names(loaded.flatMap(({ config }) => config.getContexts()))
      return yield* fail(
        sources,
        "current-context",
        "is not set",
        `set it, or give a context; known contexts: ${known}`
      )
    }
    const context = yield* entry(loaded, "contexts", name, "context", (config) => config.getContexts())
    const cluster = yield* entry(loaded, "clusters", context.value.cluster, "cluster", (config) => config.getClusters())
    const user = context.value.user === undefined || context.value.user === ""
      ? undefined
      : yield* entry(loaded, "users", context.value.user, "user", (config) => config.getUsers())
    return yield* assemble(KubeConfig, context, cluster, user, options)
  })

const names = (entries: ReadonlyArray<{ readonly name: string }>): string =>
  entries.length === 0 ? "none" : [...new Set(entries.map(({ name }) => name))].join(", ")

const faultOf = (load: () => void): string | undefined => {
  try {
    load()
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

interface Entry<A> {
  readonly value: A
  readonly from: Loaded
}

/** The entry of a name: of the first document that has it. */
const entry = <A extends { readonly name: string }>(
  loaded: ReadonlyArray<Loaded>,
  field: string,
  name: string,
  what: string,
  entries: (config: Loader) => ReadonlyArray<A>
): Effect.Effect<Entry<A>, KubeConfigError> => {
  for (const from of loaded) {
    const value = entries(from.config).find((entry) => entry.name === name)
    if (value !== undefined) return Effect.succeed({ value, from })
  }
  const faults = loaded.flatMap(({ fault }) => fault === undefined ? [] : [` (${fault})`]).join("")
  return fail(
    loaded.map(({ source }) => source).join(", "),
    field,
    `there is no usable ${what} "${name}"${faults}`,
    `known ${field}: ${names(loaded.flatMap(({ config }) => entries(config)))}`
  )
}

const assemble = (
  KubeConfig: typeof Loader,
  context: Entry<Context>,
  cluster: Entry<Cluster>,
  user: Entry<User> | undefined,
  options: Options
): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const { caData, caFile, name, proxyUrl, server, skipTLSVerify, tlsServerName } = cluster.value
    const at = `clusters[${name}].cluster`
    yield* checkUrl(cluster.from.source, `${at}.server`, server, ["https:", "http:"])
    if (proxyUrl) yield* checkUrl(cluster.from.source, `${at}.proxy-url`, proxyUrl, proxyProtocols)
    const ca = yield* pem(cluster.from.source, `${at}.certificate-authority`, caData, caFile)
    const identity = user === undefined ? anonymous : yield* identify(KubeConfig, cluster.value, user)
    return {
      context: context.value.name,
      server,
      namespace: options.namespace ?? context.value.namespace ?? defaults.namespace,
      skipTlsVerify: skipTLSVerify,
      ...(ca === undefined ? {} : { ca }),
      ...(tlsServerName ? { servername: tlsServerName } : {}),
      ...(proxyUrl ? { proxy: Redacted.make(proxyUrl, { label: "proxy" }) } : {}),
      ...identity
    }
  })

const proxyProtocols = ["http:", "https:", "socks5:", "socks:"]

const checkUrl = (source: string, field: string, text: string, protocols: ReadonlyArray<string>) => {
  const problem = URL.canParse(text)
    ? protocols.includes(new URL(text).protocol) ? undefined : `has the scheme ${new URL(text).protocol}`
    : "is no URL"
  return problem === undefined
    ? Effect.void
    : fail(source, field, problem, `write ${protocols.map((protocol) => `${protocol}//`).join(" or ")} and a host`)
}

/** PEM text from base64 data or from a file. */
const pem = (source: string, field: string, data: string | undefined, file: string | undefined) =>
  Effect.gen(function*() {
    if (!data && !file) return undefined
    const where = data ? `${field}-data` : field
    const text = data ? Buffer.from(data, "base64").toString("utf8") : yield* read(source, where, file ?? "")
    return text.includes("-----BEGIN ")
      ? text
      : yield* fail(
        source,
        where,
        data ? "is not base64 of PEM" : `${file} is not PEM`,
        "give a PEM certificate or key"
      )
  })

// --- users ------------------------------------------------------------------------------------------------------

type Identity = Pick<ClusterConfig, "cert" | "key" | "credentials">

const anonymous: Identity = { credentials: Credentials.fixed({}) }

const identify = (
  KubeConfig: typeof Loader,
  cluster: Cluster,
  { from, value: user }: Entry<User>
): Effect.Effect<Identity, KubeConfigError> =>
  Effect.gen(function*() {
    const at = `users[${user.name}].user`
    const raw = from.value.users?.find(({ name }) => name === user.name)?.user ?? {}
    const also = impersonation(raw)
    const cert = yield* pem(from.source, `${at}.client-certificate`, user.certData, user.certFile)
    const key = yield* pem(from.source, `${at}.client-key`, user.keyData, user.keyFile)
    if ((cert === undefined) !== (key === undefined)) {
      const [present, absent] = cert === undefined
        ? ["client-key", "client-certificate"]
        : ["client-certificate", "client-key"]
      return yield* fail(from.source, `${at}.${absent}`, "is missing", `give it, or leave ${present} out`)
    }
    const pair = cert === undefined || key === undefined ? {} : { cert, key: secret(key) }
    if (raw.tokenFile) {
      const file = Path.resolve(from.folder ?? "", raw.tokenFile)
      yield* read(from.source, `${at}.tokenFile`, file)
      return { ...pair, credentials: Credentials.tokenFile(file, also) }
    }
    if (user.token) return { ...pair, credentials: Credentials.token(secret(user.token), also) }
    if (user.exec || user.authProvider) return { ...pair, ...yield* viaPlugin(KubeConfig, cluster, from, user, also) }
    if (user.username) {
      return { ...pair, credentials: Credentials.basic(user.username, secret(user.password ?? ""), also) }
    }
    return { ...pair, credentials: Credentials.fixed(also) }
  })

const secret = (text: string) => Redacted.make(text)

/** Source: client-go, transport/round_trippers.go (ImpersonationConfig). */
const impersonation = (user: RawUser): Readonly<Record<string, string | ReadonlyArray<string>>> => ({
  ...(user.as ? { "impersonate-user": user.as } : {}),
  ...(user["as-uid"] ? { "impersonate-uid": user["as-uid"] } : {}),
  ...(user["as-groups"] ? { "impersonate-group": user["as-groups"] } : {}),
  ...Object.fromEntries(
    Object.entries(user["as-user-extra"] ?? {}).map(([name, values]) =>
      [`impersonate-extra-${encodeURIComponent(name).toLowerCase()}`, values] as const
    )
  )
})

/** Exec plugins and auth providers: the loader runs them and keeps what they answer until it expires. */
const viaPlugin = (
  KubeConfig: typeof Loader,
  cluster: Cluster,
  from: Loaded,
  user: User,
  also: Readonly<Record<string, string | ReadonlyArray<string>>>
): Effect.Effect<Identity, KubeConfigError> =>
  Effect.gen(function*() {
    const make = () => {
      const config = new KubeConfig()
      // Only the credentials are asked for: without the files the loader need not read them, and it would refuse http.
      config.loadFromClusterAndUser(
        { name: cluster.name, server: "https://credentials.invalid", skipTLSVerify: false },
        { name: user.name, exec: user.exec, authProvider: user.authProvider }
      )
      return config
    }
    let config = make()
    const ask = async (fresh: boolean) => {
      // The loader has no way to drop one cached answer, so a fresh one comes from a fresh loader.
      if (fresh) config = make()
      const answer: Parameters<Loader["applyToHTTPSOptions"]>[0] = {}
      await config.applyToHTTPSOptions(answer)
      return answer
    }
    const command: unknown = user.exec?.command
    const name = typeof command === "string"
      ? `the exec plugin ${command} of user ${user.name}`
      : `the auth provider of user ${user.name}`
    const first = yield* Effect.tryPromise({
      try: () => ask(false),
      catch: (cause) =>
        new KubeConfigError({
          source: from.source,
          field: `users[${user.name}].user.${user.exec ? "exec" : "auth-provider"}`,
          problem: `${name} failed: ${cause instanceof Error ? cause.message.trim() : String(cause)}`,
          remedy: "install it, or log in again with its own command"
        })
    })
    const credentials = Credentials.plugin(
      name,
      async (fresh) => headersOf((await ask(fresh)).headers),
      also
    )
    return first.cert && first.key
      ? { cert: String(first.cert), key: secret(String(first.key)), credentials }
      : { credentials }
  })

const headersOf = (headers: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()] as const)
  )

// --- a pod's service account ------------------------------------------------------------------------------------

const inCluster = (options: Options): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const source = "in-cluster"
    const folder = options.serviceAccount ?? defaults.serviceAccount
    const { host, port } = yield* Config.all({
      host: optional("KUBERNETES_SERVICE_HOST"),
      port: optional("KUBERNETES_SERVICE_PORT")
    }).pipe(Effect.mapError((error) =>
      new KubeConfigError({ source, problem: error.message, remedy: "correct the environment" })
    ))
    if (host === undefined || port === undefined) {
      return yield* fail(
        source,
        host === undefined ? "KUBERNETES_SERVICE_HOST" : "KUBERNETES_SERVICE_PORT",
        "is not set",
        "run inside a pod, or set KUBECONFIG"
      )
    }
    const tokenFile = Path.join(folder, "token")
    yield* read(source, "token", tokenFile)
    const ca = yield* pem(source, "ca.crt", undefined, Path.join(folder, "ca.crt"))
    const namespaceFile = Path.join(folder, "namespace")
    const own = (yield* exists(namespaceFile)) ? (yield* read(source, "namespace", namespaceFile)).trim() : ""
    return {
      context: source,
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      namespace: options.namespace ?? (own === "" ? defaults.namespace : own),
      skipTlsVerify: false,
      ...(ca === undefined ? {} : { ca }),
      credentials: Credentials.tokenFile(tokenFile)
    }
  })
