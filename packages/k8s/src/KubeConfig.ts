/**
 * `KubeConfig`: which cluster, and as whom.
 *
 * `load` finds the configuration the way kubectl does and returns a plain, immutable `ClusterConfig`. The first of
 * these that applies decides:
 * 1. `options.kubeconfig`, the text of a kubeconfig;
 * 2. `options.file`;
 * 3. `$KUBECONFIG`, a list of files, merged: the first file to name a cluster, user, context or current context wins,
 *    and missing files are skipped (but one must exist);
 * 4. `$HOME/.kube/config`, if it exists;
 * 5. the service account of the pod that this runs in.
 *
 * `options.context` chooses another context of 1 to 4, one of which must exist; `options.inCluster` goes straight to 5.
 * Relative file names in a kubeconfig are relative to that file. If a setting has a `-data` twin, the data wins. A
 * user's token file takes precedence over its token, exec plugins and auth providers over its password.
 *
 * A server is reached directly unless the kubeconfig's `proxy-url` or Go's rules about `HTTPS_PROXY` and `NO_PROXY`
 * send it through a proxy. Secrets are `Redacted`, and no error quotes a file's content.
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as Credentials from "./Credentials.ts"
import {
  type Document,
  type Entry,
  entry,
  fail,
  known,
  KubeConfigError,
  parse,
  pem,
  type RawCluster,
  type RawContext,
  type RawUser,
  read,
  readDocument,
  sources
} from "./live/KubeConfigDocument.ts"
import * as Proxies from "./live/Proxies.ts"
import * as Users from "./live/Users.ts"

export { KubeConfigError }

/** Defaults and paths, unless `Options` override them. */
export const defaults = {
  namespace: "default",
  /** Where kubelet mounts a pod's token, CA and namespace. */
  serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
  /** Relative to the home folder. */
  file: ".kube/config"
} as const

/** A cluster's address and the credentials for it. */
export interface ClusterConfig {
  /** The name of the context, or `in-cluster` in a pod. Used in messages. */
  readonly context: string
  /** `https://host:port`, followed by a path if the API is served below one; no trailing slash. */
  readonly server: string
  /** The namespace of objects that name none. */
  readonly namespace: string
  /** PEM; the public CAs if absent. */
  readonly ca?: string
  /** PEM, for authentication by client certificate, together with `key`. */
  readonly cert?: string
  readonly key?: Redacted.Redacted
  /** The files that hold `ca`, `cert` and `key`. They are read again while the client runs. */
  readonly files?: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** The name expected in the server's certificate, if it is not the host of `server`. */
  readonly servername?: string
  /** Whether any server certificate is accepted. */
  readonly skipTlsVerify: boolean
  /** `http://`, `https://` or `socks5://`. Redacted because it may contain a password. */
  readonly proxy?: Redacted.Redacted
  /** Whether responses may be compressed; true by default. */
  readonly compression?: boolean
  readonly credentials: Credentials.Credentials
}

export interface Options {
  /** The URL of a server that needs no credentials, such as `kubectl proxy`. Used instead of any kubeconfig. */
  readonly server?: string | undefined
  /** The text of a kubeconfig. */
  readonly kubeconfig?: string | Redacted.Redacted | undefined
  /** A kubeconfig file, instead of `$KUBECONFIG` and the one in the home folder. */
  readonly file?: string | undefined
  /** A context of the kubeconfig; its current context by default. */
  readonly context?: string | undefined
  /** The default namespace, instead of the context's. */
  readonly namespace?: string | undefined
  /** Use the pod's service account, even if there is a kubeconfig. */
  readonly inCluster?: boolean | undefined
  /** The folder of the service account's files. */
  readonly serviceAccount?: string | undefined
}

/** Options from configuration: `KUBE_CONTEXT` and `KUBE_NAMESPACE`. `load` reads `KUBECONFIG`. */
export const config: Config.Config<Options> = Config.all({
  context: optional("KUBE_CONTEXT"),
  namespace: optional("KUBE_NAMESPACE")
})

function optional(name: string): Config.Config<string | undefined> {
  return Config.map(Config.option(Config.String(name)), (value) => Option.getOrUndefined(value) || undefined)
}

/** Finds, reads and checks the configuration. Files are read now, and again when they have aged. */
export const load = (options: Options = {}): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    if (options.server !== undefined) return yield* bare(options.server, options)
    if (options.inCluster === true) return yield* inCluster(options)
    const documents = yield* find(options)
    if (documents.length > 0) return yield* fromDocuments(documents, options)
    if (options.context !== undefined) {
      return yield* fail(
        "kubeconfig",
        undefined,
        `there is none, so there is no context "${options.context}"`,
        "set KUBECONFIG to a kubeconfig file that has it, or leave the context out"
      )
    }
    if (yield* exists(Path.join(options.serviceAccount ?? defaults.serviceAccount, "token"))) {
      return yield* inCluster(options)
    }
    return yield* fail(
      "kubeconfig",
      undefined,
      "$KUBECONFIG is not set, and there is neither ~/.kube/config nor a pod's service account",
      "set KUBECONFIG to a kubeconfig file, or run inside a cluster"
    )
  }).pipe(Effect.withSpan("KubeConfig.load"))

// --- kubeconfig files -------------------------------------------------------------------------------------------

const find = (options: Options): Effect.Effect<ReadonlyArray<Document>, KubeConfigError> =>
  Effect.gen(function*() {
    if (options.kubeconfig !== undefined) {
      const text = typeof options.kubeconfig === "string" ? options.kubeconfig : Redacted.value(options.kubeconfig)
      return [yield* parse("the given kubeconfig", undefined, text)]
    }
    if (options.file !== undefined) return [yield* readDocument(Path.resolve(options.file))]
    const { named, standard } = yield* places
    const present = yield* Effect.filter(named.length > 0 ? named : standard, exists)
    return present.length > 0 || named.length === 0
      ? yield* Effect.forEach(present, readDocument)
      : yield* fail("$KUBECONFIG", undefined, `no such file: ${named.join(", ")}`, "correct or unset KUBECONFIG")
  })

/** The files that `$KUBECONFIG` names, and the one in the home folder, which counts if there are none. */
const places = Effect.gen(function*() {
  const { home, list } = yield* Config.all({ list: optional("KUBECONFIG"), home: optional("HOME") }).pipe(
    Effect.mapError((error) =>
      new KubeConfigError({ source: "environment", problem: error.message, remedy: "correct KUBECONFIG or HOME" })
    )
  )
  return {
    named: (list ?? "").split(Path.delimiter).filter((file) => file !== "").map((file) => Path.resolve(file)),
    standard: home === undefined ? [] : [Path.join(home, defaults.file)]
  }
})

/**
 * A value of `$KUBECONFIG` with which every client, kubectl included, uses this context: a new file in a folder, which
 * names only the context, before the files that are read without it.
 */
export const pointing = Effect.fnUntraced(function*(
  folder: string,
  { context, file }: { readonly context: string; readonly file?: string | undefined }
) {
  const { named, standard } = yield* places
  const pointer = Path.join(folder, "context")
  const text = JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": context })
  yield* Effect.tryPromise({
    try: () => Fs.writeFile(pointer, text, { mode: 0o600 }),
    catch: (cause) =>
      new KubeConfigError({
        source: pointer,
        problem: `cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
        remedy: "make the folder writable"
      })
  })
  const files = file !== undefined ? [Path.resolve(file)] : named.length > 0 ? named : standard
  return [pointer, ...files].join(Path.delimiter)
})

const exists = (file: string): Effect.Effect<boolean> =>
  Effect.promise(() => Fs.access(file).then(() => true, () => false))

const fromDocuments = (
  documents: ReadonlyArray<Document>,
  options: Options
): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const name = options.context ?? documents.map(({ value }) => value["current-context"]).find(Boolean)
    if (!name) {
      return yield* fail(
        sources(documents),
        "current-context",
        "is not set",
        `set it, or choose a context; known contexts: ${known(documents, "contexts")}`
      )
    }
    const context = yield* entry<RawContext>(documents, "contexts", name)
    const cluster = yield* entry<RawCluster>(documents, "clusters", context.value.cluster ?? "")
    const user = context.value.user ? yield* entry<RawUser>(documents, "users", context.value.user) : undefined
    return yield* assemble(context, cluster, user, options)
  })

const assemble = (
  context: Entry<RawContext>,
  cluster: Entry<RawCluster>,
  user: Entry<RawUser> | undefined,
  options: Options
): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const { from, value: raw } = cluster
    const at = `clusters[${cluster.name}].cluster`
    const ca = yield* pem(
      from,
      `${at}.certificate-authority`,
      raw["certificate-authority-data"],
      raw["certificate-authority"]
    )
    const server = yield* checkServer(from.source, `${at}.server`, raw.server ?? "", ca !== undefined)
    if (raw["proxy-url"]) yield* checkUrl(from.source, `${at}.proxy-url`, raw["proxy-url"], proxyProtocols)
    const proxy = raw["proxy-url"] || (yield* environmentProxy(server))
    const identity = user === undefined
      ? Users.anonymous
      : yield* Users.identify({ raw, server, ca: ca?.text }, user)
    const files = { ...(ca?.file === undefined ? {} : { ca: ca.file }), ...identity.files }
    return {
      context: context.name,
      server,
      namespace: options.namespace ?? (context.value.namespace || defaults.namespace),
      skipTlsVerify: raw["insecure-skip-tls-verify"] === true,
      ...(ca === undefined ? {} : { ca: ca.text }),
      ...(raw["tls-server-name"] ? { servername: raw["tls-server-name"] } : {}),
      ...(proxy ? { proxy: Redacted.make(proxy, { label: "proxy" }) } : {}),
      ...(raw["disable-compression"] === true ? { compression: false } : {}),
      ...identity,
      ...(Object.keys(files).length === 0 ? {} : { files })
    }
  })

/** The configuration of a server without a kubeconfig. */
const bare = (text: string, options: Options): Effect.Effect<ClusterConfig, KubeConfigError> =>
  Effect.gen(function*() {
    const server = yield* checkServer("options", "server", text, false)
    const proxy = yield* environmentProxy(server)
    return {
      context: server,
      server,
      namespace: options.namespace ?? defaults.namespace,
      skipTlsVerify: false,
      ...(proxy === undefined ? {} : { proxy: Redacted.make(proxy, { label: "proxy" }) }),
      credentials: Credentials.fixed({})
    }
  })

/** The server's URL without a trailing slash. As in kubectl, a URL without a scheme is https if it has a CA. */
const checkServer = (source: string, field: string, text: string, hasCa: boolean) => {
  const url = /^[a-z0-9+.-]+:\/\//i.test(text) ? text : `${hasCa ? "https" : "http"}://${text}`
  return Effect.as(checkUrl(source, field, url, ["https:", "http:"]), url.replace(/\/+$/, ""))
}

const environmentProxy = (server: string): Effect.Effect<string | undefined, KubeConfigError> =>
  Effect.gen(function*() {
    const environment = yield* Config.all(
      Object.fromEntries(Proxies.variables.map((name) => [name, optional(name)] as const))
    ).pipe(
      Effect.mapError((error) =>
        new KubeConfigError({ source: "environment", problem: error.message, remedy: "correct the proxy variables" })
      )
    )
    const proxy = Proxies.fromEnvironment(environment, new URL(server))
    if (proxy !== undefined) {
      const name = server.startsWith("https:") ? "HTTPS_PROXY" : "HTTP_PROXY"
      yield* checkUrl("environment", name, proxy, proxyProtocols)
    }
    return proxy
  })

const proxyProtocols = ["http:", "https:", "socks5:", "socks:"]

const checkUrl = (source: string, field: string, text: string, protocols: ReadonlyArray<string>) => {
  const problem = URL.canParse(text)
    ? protocols.includes(new URL(text).protocol) ? undefined : `has the scheme ${new URL(text).protocol}`
    : "is not a URL"
  return problem === undefined
    ? Effect.void
    : fail(source, field, problem, `use ${protocols.map((protocol) => `${protocol}//`).join(" or ")} and a host`)
}

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
    const caFile = Path.join(folder, "ca.crt")
    const ca = yield* pem({ source, folder }, "ca.crt", undefined, caFile)
    const namespaceFile = Path.join(folder, "namespace")
    const own = (yield* exists(namespaceFile)) ? (yield* read(source, "namespace", namespaceFile)).trim() : ""
    const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`
    const proxy = yield* environmentProxy(server)
    return {
      context: source,
      server,
      namespace: options.namespace ?? (own === "" ? defaults.namespace : own),
      skipTlsVerify: false,
      ...(ca === undefined ? {} : { ca: ca.text, files: { ca: caFile } }),
      ...(proxy === undefined ? {} : { proxy: Redacted.make(proxy, { label: "proxy" }) }),
      credentials: Credentials.tokenFile(tokenFile)
    }
  })
