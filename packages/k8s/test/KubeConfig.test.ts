import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { parse } from "yaml"
import * as KubeConfig from "../src/KubeConfig.ts"
import { folder } from "./support/folder.ts"

const pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
const base64 = (text: string) => Buffer.from(text).toString("base64")

const example = `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: one
  cluster:
    server: https://one.example:6443/prefix/
    certificate-authority-data: ${base64(pem)}
    tls-server-name: kubernetes
    proxy-url: http://user:hunter2@proxy.example:3128
- name: two
  cluster: { server: "http://127.0.0.1:8001", insecure-skip-tls-verify: true }
contexts:
- name: dev
  context: { cluster: one, user: alice, namespace: team }
- name: plain
  context: { cluster: two, user: "" }
- name: basic
  context: { cluster: two, user: bob }
- name: broken
  context: { cluster: three, user: alice }
- name: nobody
  context: { cluster: one, user: carol }
users:
- name: alice
  user:
    token: s3cret
    as: root
    as-groups: [a, b]
    as-user-extra: { "example.org/Scope": [x] }
- name: bob
  user: { username: bob, password: pa55 }
`

const load = (options: KubeConfig.Options, env: Record<string, string> = {}) =>
  KubeConfig.load({ serviceAccount: "/nonexistent", ...options }).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
  )

const refused = (options: KubeConfig.Options, env: Record<string, string> = {}) =>
  Effect.map(Effect.flip(load(options, env)), (error) => error.message)

const headers = (config: KubeConfig.ClusterConfig) => Effect.map(config.credentials.headers, Redacted.value)

describe("KubeConfig.load", () => {
  it.effect("yields plain data of the current context", () =>
    Effect.gen(function*() {
      const config = yield* load({ kubeconfig: example })
      const { credentials, proxy, ...plain } = config
      assert.deepStrictEqual(plain, {
        context: "dev",
        server: "https://one.example:6443/prefix",
        namespace: "team",
        ca: pem,
        servername: "kubernetes",
        skipTlsVerify: false
      })
      assert.strictEqual(proxy && Redacted.value(proxy), "http://user:hunter2@proxy.example:3128")
      assert.deepStrictEqual(Redacted.value(yield* credentials.headers), {
        "authorization": "Bearer s3cret",
        "impersonate-user": "root",
        "impersonate-group": ["a", "b"],
        "impersonate-extra-example.org%2fscope": ["x"]
      })
    }))

  it.effect("chooses another context, and allows http, no user, and a password", () =>
    Effect.gen(function*() {
      const plain = yield* load({ kubeconfig: Redacted.make(example), context: "plain" })
      assert.strictEqual(plain.server, "http://127.0.0.1:8001")
      assert.strictEqual(plain.namespace, "default")
      assert.isTrue(plain.skipTlsVerify)
      assert.deepStrictEqual(yield* headers(plain), {})
      const basic = yield* load({ kubeconfig: example, context: "basic", namespace: "mine" })
      assert.strictEqual(basic.namespace, "mine")
      assert.deepStrictEqual(yield* headers(basic), { authorization: `Basic ${base64("bob:pa55")}` })
    }))

  it.effect("says what is wrong, where, and what to do", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* refused({ kubeconfig: example, context: "prod" }),
        "the given kubeconfig: contexts: there is no usable context \"prod\"; " +
          "known contexts: dev, plain, basic, broken, nobody"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example, context: "broken" }),
        "the given kubeconfig: clusters: there is no usable cluster \"three\"; known clusters: one, two"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example, context: "nobody" }),
        "the given kubeconfig: users: there is no usable user \"carol\"; known users: alice, bob"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example.replace("current-context: dev", "") }),
        "the given kubeconfig: current-context: is not set; " +
          "set it, or choose a context; known contexts: dev, plain, basic, broken, nobody"
      )
      assert.strictEqual(
        yield* refused({ file: "/nonexistent/kubeconfig" }),
        "/nonexistent/kubeconfig: cannot read /nonexistent/kubeconfig: ENOENT; give the path of a file that exists and is readable"
      )
      assert.include(
        yield* refused({ kubeconfig: example.replace("server: https://one.example:6443/prefix/", "server: \"\"") }),
        "there is no usable cluster \"one\" (clusters[0].cluster.server is missing); known clusters: two"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example.replace("https://one", "ftp://one") }),
        "the given kubeconfig: clusters[one].cluster.server: has the scheme ftp:; " +
          "use https:// or http:// and a host"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example.replace(base64(pem), "bm9uc2Vuc2U=") }),
        "the given kubeconfig: clusters[one].cluster.certificate-authority-data: is not base64-encoded PEM; " +
          "give a PEM certificate or key"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: example.replace("token: s3cret", `client-certificate-data: ${base64(pem)}`) }),
        "the given kubeconfig: users[alice].user.client-key: is missing; set it, or remove client-certificate"
      )
      assert.strictEqual(
        yield* refused({ kubeconfig: "[]" }),
        "the given kubeconfig: is not a kubeconfig: the top level is not a mapping; give the path of a kubeconfig file"
      )
    }))

  it.effect("shows no secret in an error", () =>
    Effect.gen(function*() {
      const message = yield* refused({ kubeconfig: "users:\n- name: a\n  user: { token: \"s3cret\n" })
      assert.match(message, /line \d+ is not valid YAML/)
      assert.notInclude(message, "s3cret")
      const config = yield* load({ kubeconfig: example })
      const shown = JSON.stringify(config) + String(yield* config.credentials.headers)
      assert.notMatch(shown, /s3cret|hunter2/)
    }))

  it.effect("merges the files of $KUBECONFIG: the first to name something wins", () =>
    Effect.gen(function*() {
      const path = yield* folder({
        "a/config": JSON.stringify({
          clusters: [{ name: "one", cluster: { server: "https://first:1", "certificate-authority": "ca.pem" } }],
          contexts: [{ name: "mixed", context: { cluster: "one", user: "alice" } }]
        }),
        "a/ca.pem": pem,
        "b": example,
        "c": JSON.stringify({ "current-context": "plain" })
      })
      const files = ["missing", "a/config", "b", "c"].map((file) => Path.join(path, file)).join(Path.delimiter)
      const config = yield* load({}, { KUBECONFIG: files })
      assert.strictEqual(config.context, "dev")
      assert.strictEqual(config.server, "https://first:1")
      assert.strictEqual(config.ca, pem)
      const mixed = yield* load({ context: "mixed" }, { KUBECONFIG: files })
      assert.strictEqual((yield* headers(mixed))["authorization"], "Bearer s3cret")
      const missing = Path.join(path, "missing")
      assert.strictEqual(
        yield* refused({}, { KUBECONFIG: missing }),
        `$KUBECONFIG: no such file: ${missing}; correct or unset KUBECONFIG`
      )
    }))

  it.effect("goes through explicit file, $KUBECONFIG, the home folder and the pod, in this order", () =>
    Effect.gen(function*() {
      const named = (name: string) => example.replaceAll("dev", name)
      const path = yield* folder({
        "explicit": named("explicit"),
        "env": named("env"),
        ".kube/config": named("home"),
        "pod/token": "t",
        "pod/ca.crt": pem
      })
      const pod = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }
      const serviceAccount = Path.join(path, "pod")
      const env = { KUBECONFIG: Path.join(path, "env"), HOME: path, ...pod }
      const explicit = yield* load({ file: Path.join(path, "explicit") }, env)
      assert.strictEqual(explicit.context, "explicit")
      assert.strictEqual((yield* load({}, env)).context, "env")
      assert.strictEqual((yield* load({}, { HOME: path, ...pod })).context, "home")
      const inside = yield* load({ serviceAccount }, { HOME: "/nonexistent", ...pod })
      assert.strictEqual(inside.context, "in-cluster")
      assert.strictEqual(inside.server, "https://[fd00::1]:443")
      assert.strictEqual((yield* load({ inCluster: true, serviceAccount }, env)).context, "in-cluster")
      assert.strictEqual(
        yield* refused({ context: "test", serviceAccount }, { HOME: "/nonexistent", ...pod }),
        "kubeconfig: there is none, so there is no context \"test\"; set KUBECONFIG to a kubeconfig file that has it, or " +
          "leave the context out"
      )
      assert.strictEqual(
        yield* refused({}, {}),
        "kubeconfig: $KUBECONFIG is not set, and there is neither ~/.kube/config nor a pod's service account; " +
          "set KUBECONFIG to a kubeconfig file, or run inside a cluster"
      )
      assert.strictEqual(
        yield* refused({ inCluster: true, serviceAccount }, {}),
        "in-cluster: KUBERNETES_SERVICE_HOST: is not set; run inside a pod, or set KUBECONFIG"
      )
    }))

  it.effect("a pod trusts the CA of its service account, which is read again, and no other server", () =>
    Effect.gen(function*() {
      const serviceAccount = yield* folder({ "token": "t", "ca.crt": pem })
      const env = {
        KUBERNETES_SERVICE_HOST: "10.0.0.1",
        KUBERNETES_SERVICE_PORT: "6443",
        HTTPS_PROXY: "http://proxy.example:3128"
      }
      const { credentials: _, proxy, ...inside } = yield* load({ inCluster: true, serviceAccount }, env)
      assert.deepStrictEqual(inside, {
        context: "in-cluster",
        server: "https://10.0.0.1:6443",
        namespace: "default",
        skipTlsVerify: false,
        ca: pem,
        files: { ca: Path.join(serviceAccount, "ca.crt") }
      })
      assert.strictEqual(Redacted.value(proxy!), "http://proxy.example:3128")
      assert.isUndefined((yield* load({ inCluster: true, serviceAccount }, { ...env, HTTPS_PROXY: "" })).proxy)
      const alone = yield* load({ server: "https://127.0.0.1:8001" }, { HTTPS_PROXY: "http://proxy.example:3128" })
      assert.deepStrictEqual([alone.skipTlsVerify, alone.namespace, alone.proxy], [false, "default", undefined])
      const far = yield* load({ server: "https://far.example" }, { HTTPS_PROXY: "http://proxy.example:3128" })
      assert.strictEqual(Redacted.value(far.proxy!), "http://proxy.example:3128")
      const { KUBERNETES_SERVICE_PORT: __, ...portless } = env
      assert.include(
        yield* refused({ inCluster: true, serviceAccount }, portless),
        "KUBERNETES_SERVICE_PORT: is not set"
      )
      Fs.rmSync(Path.join(serviceAccount, "token"))
      assert.include(yield* refused({ inCluster: true, serviceAccount }, env), "in-cluster: token: ")
    }))

  it.effect("reads its options from configuration", () =>
    Effect.gen(function*() {
      const options = yield* KubeConfig.config
      assert.deepStrictEqual(options, { context: "basic", namespace: undefined })
    }).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ KUBE_CONTEXT: "basic" })))))
})

describe("KubeConfig credentials", () => {
  it.effect("reads a service account's token again once a minute, trimmed, and keeps the last one if it cannot", () =>
    Effect.gen(function*() {
      const path = yield* folder({ "token": "first\n", "ca.crt": pem, "namespace": "here\n" })
      const config = yield* load({ inCluster: true, serviceAccount: path }, {
        KUBERNETES_SERVICE_HOST: "10.0.0.1",
        KUBERNETES_SERVICE_PORT: "443"
      })
      assert.strictEqual(config.namespace, "here")
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer first" })
      Fs.writeFileSync(Path.join(path, "token"), "second\n")
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer first" })
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer second" })
      Fs.writeFileSync(Path.join(path, "token"), "third\n")
      assert.deepStrictEqual(Redacted.value(yield* config.credentials.fresh), { authorization: "Bearer third" })
      Fs.rmSync(Path.join(path, "token"))
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer third" })
      const error = yield* Effect.flip(config.credentials.fresh)
      assert.strictEqual(error.message, `cannot read the token file ${Path.join(path, "token")}: ENOENT`)
    }))

  it.effect("reads a user's tokenFile, relative to the kubeconfig, before its token", () =>
    Effect.gen(function*() {
      const path = yield* folder({
        "config": example.replace("token: s3cret", "token: s3cret\n    tokenFile: secrets/token"),
        "secrets/token": "from-file\n"
      })
      const config = yield* load({ file: Path.join(path, "config") })
      assert.strictEqual((yield* headers(config))["authorization"], "Bearer from-file")
    }))

  it.effect("runs an exec plugin, once for many requests, again for fresh ones", () =>
    Effect.gen(function*() {
      const path = yield* folder({
        "plugin.cjs": `
          const fs = require("node:fs")
          fs.appendFileSync(process.argv[2], "run\\n")
          const count = fs.readFileSync(process.argv[2], "utf8").trim().split("\\n").length
          console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1",
            status: { token: "token-" + count, expirationTimestamp: "2999-01-01T00:00:00Z" } }))`
      })
      const document = parse(example)
      document.users[0].user = {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: process.execPath,
          args: [Path.join(path, "plugin.cjs"), Path.join(path, "runs")]
        }
      }
      const config = yield* load({ kubeconfig: JSON.stringify(document) })
      const many = yield* Effect.all(Array.from({ length: 10 }, () => headers(config)), { concurrency: "unbounded" })
      assert.deepStrictEqual(many, Array.from({ length: 10 }, () => ({ authorization: "Bearer token-1" })))
      const fresh = Effect.map(config.credentials.fresh, Redacted.value)
      assert.deepStrictEqual(
        yield* Effect.all([fresh, fresh, fresh], { concurrency: "unbounded" }),
        [{ authorization: "Bearer token-2" }, { authorization: "Bearer token-2" }, { authorization: "Bearer token-2" }]
      )
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer token-2" })
      assert.deepStrictEqual(yield* fresh, { authorization: "Bearer token-3" })

      document.users[0].user.exec.command = "no-such-plugin"
      assert.strictEqual(
        yield* refused({ kubeconfig: JSON.stringify(document) }),
        "the given kubeconfig: users[alice].user.exec: the exec plugin no-such-plugin could not be started: ENOENT; " +
          "install it, or log in again with its own command"
      )
    }))
})

describe("KubeConfig of kubectl's", () => {
  const withUser = (user: object, cluster: object = {}) =>
    JSON.stringify({
      "current-context": "c",
      "clusters": [{ name: "k", cluster: { server: "https://k8s.example", ...cluster } }],
      "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
      "users": [{ name: "u", user }]
    })

  it.effect("goes through the proxy of the environment, unless the cluster names one", () =>
    Effect.gen(function*() {
      const env = { HTTPS_PROXY: "me:pass@proxy.example:3128", NO_PROXY: ".internal" }
      const proxy = (config: KubeConfig.ClusterConfig) => config.proxy && Redacted.value(config.proxy)
      assert.strictEqual(
        proxy(yield* load({ kubeconfig: withUser({}) }, env)),
        "http://me:pass@proxy.example:3128"
      )
      assert.include(
        yield* refused({ kubeconfig: withUser({}, { "proxy-url": "own:1080" }) }),
        "clusters[k].cluster.proxy-url: has the scheme own:"
      )
      const own = withUser({}, { "proxy-url": "socks5://own:1080" })
      assert.strictEqual(proxy(yield* load({ kubeconfig: own }, env)), "socks5://own:1080")
      const inside = withUser({}, { server: "https://api.internal" })
      assert.isUndefined(proxy(yield* load({ kubeconfig: inside }, env)))
      assert.strictEqual(
        yield* refused({ kubeconfig: withUser({}) }, { HTTPS_PROXY: "ftp://proxy" }),
        "environment: HTTPS_PROXY: has the scheme ftp:; use http:// or https:// or socks5:// or socks:// and a host"
      )
    }))

  it.effect("names files that are to be read again, and keeps inline data", () =>
    Effect.gen(function*() {
      const path = yield* folder({ "ca.pem": pem, "cert.pem": pem, "key.pem": pem })
      const file = (name: string) => Path.join(path, name)
      const config = yield* load({
        kubeconfig: withUser(
          { "client-certificate": file("cert.pem"), "client-key-data": base64(pem) },
          { "certificate-authority": file("ca.pem"), "disable-compression": true }
        )
      })
      assert.deepStrictEqual(config.files, { ca: file("ca.pem"), cert: file("cert.pem") })
      assert.deepStrictEqual([config.ca, config.cert], [pem, pem])
      assert.isFalse(config.compression)
    }))

  it.effect("impersonates with a uid, and not without a user", () =>
    Effect.gen(function*() {
      const as = { "as": "alice", "as-uid": "7", "as-groups": ["g"], "as-user-extra": { "a/b(c)": ["1", "2"] } }
      assert.deepStrictEqual(yield* headers(yield* load({ kubeconfig: withUser(as) })), {
        "impersonate-user": "alice",
        "impersonate-uid": "7",
        "impersonate-group": ["g"],
        "impersonate-extra-a%2fb%28c%29": ["1", "2"]
      })
      assert.strictEqual(
        yield* refused({ kubeconfig: withUser({ "as-groups": ["g"] }) }),
        "the given kubeconfig: users[u].user.as: is missing, although as-uid, as-groups or as-user-extra are set; " +
          "name the user to impersonate"
      )
    }))

  it.effect("falls back to the token while its file is not there", () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const file = Path.join(path, "token")
      const config = yield* load({ kubeconfig: withUser({ token: "inline", tokenFile: file }) })
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer inline" })
      Fs.writeFileSync(file, "from-file")
      assert.deepStrictEqual(yield* headers(config), { authorization: "Bearer from-file" })
    }))

  it.effect("takes a server alone, and a server without a scheme", () =>
    Effect.gen(function*() {
      const proxy = yield* load({ server: "http://127.0.0.1:8001/", namespace: "mine" })
      assert.strictEqual(proxy.server, "http://127.0.0.1:8001")
      assert.strictEqual(proxy.namespace, "mine")
      assert.deepStrictEqual(yield* headers(proxy), {})
      const plain = withUser({}, { server: "localhost:8001" })
      assert.strictEqual((yield* load({ kubeconfig: plain })).server, "http://localhost:8001")
      const secure = withUser({}, { "server": "k8s.example:6443", "certificate-authority-data": base64(pem) })
      assert.strictEqual((yield* load({ kubeconfig: secure })).server, "https://k8s.example:6443")
    }))

  it.effect("refuses an exec plugin that it could not run", () =>
    Effect.gen(function*() {
      const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "x" }
      const at = (more: object) => refused({ kubeconfig: withUser({ exec: { ...exec, ...more } }) })
      assert.include(
        yield* at({ apiVersion: "client.authentication.k8s.io/v1alpha1" }),
        "v1alpha1 is not supported; use"
      )
      assert.include(yield* at({ command: "" }), "users[u].user.exec.command: is missing")
      assert.include(
        yield* at({ interactiveMode: "Sometimes" }),
        "Sometimes is not supported; use Never, IfAvailable, Always"
      )
      assert.include(yield* at({ env: [{ value: "v" }] }), "has a variable without a name")
    }))
})
