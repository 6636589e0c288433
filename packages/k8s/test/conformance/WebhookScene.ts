/** What statements about webhooks stand on: a namespace of their own, a backend that answers, and how to install hooks. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Backends from "../../src/testing/Backends.ts"
import { type Answer, Target } from "./Target.ts"

export const group = "admissionregistration.k8s.io"
export const mergePatch = "application/merge-patch+json"
export const dryRun = { dryRun: "All" }

export type Json = Readonly<Record<string, any>>

/** A request as a webhook saw it, and where it was sent. */
export type Asked = Json & { readonly path: string }

/** A response that applies a JSON patch. */
export const patching = (...operations: ReadonlyArray<Json>): Json => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64")
})

export const allow: Json = { allowed: true }

/** Which versions of which objects an answer has. */
const versions = ({ object, status }: Answer): string =>
  `${status} ${
    (object["items"] as ReadonlyArray<Json> | undefined ?? [object]).map(({ metadata }) =>
      `${metadata?.name}@${metadata?.resourceVersion}`
    ).sort()
  }`

/** A namespace of the statement's own and webhooks that are about nothing else. */
export const scene = Effect.gen(function*() {
  const target = yield* Target
  const { backend, namespace, unique, until } = target
  // A write begins with what the server's watch cache has. Is that behind, then the server finds out when it stores, and
  // asks the webhooks again about what is there (etcd3 store, `GuaranteedUpdate` with `cachedExistingObject`).
  const request: typeof target.request = Effect.fnUntraced(function*(method, path, options) {
    if (method === "PATCH" || method === "PUT" || method === "DELETE") {
      const newest = yield* target.request("GET", path)
      const cached = target.request("GET", path, { query: { resourceVersion: "0" } })
      yield* until(cached, (answer) => versions(answer) === versions(newest))
    }
    return yield* target.request(method, path, options)
  })
  const ns = yield* namespace
  yield* request("PATCH", `/api/v1/namespaces/${ns}`, {
    contentType: mergePatch,
    body: { metadata: { labels: { ns } } }
  })
  const asked: Array<Asked> = []
  const probed = new Set<string>()
  let respond: (asked: Asked) => unknown = () => allow
  const { caBundle, received, url } = yield* backend(Backends.answering((body, { path }) => {
    const review = body as { readonly apiVersion: string; readonly kind: string; readonly request: Json }
    // Controllers give each namespace the certificates to trust, whenever they come to it.
    const theirs = review.request["name"] === "kube-root-ca.crt"
    const isProbe = path.startsWith("/probe/")
    if (isProbe) probed.add(path)
    else if (!theirs) asked.push({ ...review.request, path })
    const { uid } = review.request as { readonly uid: string }
    const response = isProbe || theirs ? allow : respond({ ...review.request, path })
    return typeof response === "object" && response !== null && "raw" in response
      ? response.raw
      : { apiVersion: review.apiVersion, kind: review.kind, response: { uid, ...response as Json } }
  }))
  const configMaps = `/api/v1/namespaces/${ns}/configmaps`
  const configMap = (name: string, fields: Json = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { a: "1" },
    ...fields
  })

  /** A webhook `NAME.example.com` at the path `/NAME`. */
  const hook = (name: string, fields: Json = {}): Json => ({
    name: `${name}.example.com`,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    clientConfig: { url: `${url}/${name}`, caBundle },
    namespaceSelector: { matchLabels: { ns } },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }],
    ...fields
  })

  /** Installs a configuration and waits until it is in force; it goes with the statement. */
  const install = Effect.fnUntraced(function*(
    kind: "Mutating" | "Validating",
    webhooks: ReadonlyArray<Json>,
    name = unique(kind.toLowerCase())
  ) {
    const collection = `/apis/${group}/v1/${kind.toLowerCase()}webhookconfigurations`
    const probe = hook("probe", {
      clientConfig: { url: `${url}/probe/${name}`, caBundle },
      objectSelector: { matchLabels: { probe: name } }
    })
    const made = yield* request("POST", collection, {
      body: {
        apiVersion: `${group}/v1`,
        kind: `${kind}WebhookConfiguration`,
        metadata: { name },
        webhooks: [probe, ...webhooks]
      }
    })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    yield* Effect.addFinalizer(() => Effect.ignore(request("DELETE", `${collection}/${name}`)))
    const before = respond
    respond = () => allow
    yield* until(
      request("POST", configMaps, {
        query: dryRun,
        body: { ...configMap("probe"), metadata: { name: "probe", labels: { probe: name } } }
      }),
      () => probed.has(`/probe/${name}`)
    )
    respond = before
    asked.length = 0
    return made
  })

  return {
    ns,
    /** As the target's, and webhooks are asked about a write once. */
    request,
    asked,
    received,
    caBundle,
    url,
    configMaps,
    configMap,
    hook,
    install,
    /** What webhooks answer from now on. */
    answer: (next: (asked: Asked) => unknown) => {
      respond = next
      asked.length = 0
    },
    post: (name: string, fields?: Json, query: Record<string, string> = {}) =>
      request("POST", configMaps, { query, body: configMap(name, fields) })
  }
})

/** Paths and operations, in order. */
export const calls = (asked: ReadonlyArray<Asked>) => asked.map(({ operation, path }) => `${operation} ${path}`)

export const messageOf = ({ error }: Answer): string => error.message ?? ""

/** The error of a call that brought no answer. */
export const failed = (minor: number, name: string, why: string, step = "failed to call webhook"): string =>
  `Internal error occurred: failed calling webhook "${name}.example.com": ${minor >= 22 ? `${step}: ` : ""}${why}`
