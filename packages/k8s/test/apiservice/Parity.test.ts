/** The same requests to an API of one's own and to a custom resource of the same kind: the answers are the same. */
import type { Method } from "@effect-operator/core/Transport"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ApiService from "../../src/ApiService.ts"
import * as Crd from "../../src/Crd.ts"
import { Namespace } from "../../src/kinds/core.v1.ts"
import { KubeClient } from "@effect-operator/core"
import { ApiServer } from "../../src/testing/index.ts"
import { random } from "../testing/support/random.ts"
import { cluster, direct, Llama } from "./support.ts"

interface Asked {
  readonly method: Method
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Put a resourceVersion into the body: the one that was seen last, or one that has been over for long. */
  readonly version: "latest" | "stale" | undefined
}

const root = "/apis/farm.example.com/v1alpha/namespaces/farm/llamas"

/** One random request; most make sense. */
const draw = (next: () => number): Asked => {
  const pick = <A>(...values: ReadonlyArray<A>): A => values[Math.floor(next() * values.length)]!
  const name = pick("a", "b", "c")
  const spec = () => ({
    weight: pick<unknown>(1, 2, 3, 0, "x", undefined),
    height: pick<unknown>(1, 2, 1, 1, null),
    ...pick<object>({}, { color: "red" }, { color: "blue" }, { color: null }, { wings: 2 })
  })
  const metadata = () => ({
    name: pick(name, name, name, "other", undefined),
    ...pick<object>(
      {},
      {},
      { labels: { a: pick("1", "2") } },
      { labels: { "not a key": "x" } },
      { finalizers: ["example.com/x"] },
      { finalizers: [] },
      { namespace: pick("farm", "elsewhere") },
      { annotations: { note: pick("x", "y") } },
      { generateName: "gen-" },
      { generation: 9 },
      { uid: "other" },
      { deletionTimestamp: "2020-01-01T00:00:00Z" },
      { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }] }
    )
  })
  const object = () => ({
    apiVersion: pick("farm.example.com/v1alpha", "farm.example.com/v1alpha", "farm.example.com/v1alpha", "v1"),
    kind: pick("Llama", "Llama", "Llama", "Llama", "Sheep"),
    metadata: metadata(),
    spec: pick<unknown>(spec(), spec(), spec(), undefined),
    ...pick<object>({}, { status: { mood: pick<unknown>("calm", "wild", 5) } })
  })
  const options: Readonly<Record<string, string>> = pick<Record<string, string>>(
    {},
    {},
    {},
    { fieldValidation: "Strict" },
    { fieldValidation: "Ignore" },
    { dryRun: "All" },
    { dryRun: "x" }
  )
  const ask = (method: Method, path: string, more: Partial<Asked> = {}): Asked => ({
    method,
    path: root + path,
    query: {},
    headers: {},
    body: undefined,
    version: undefined,
    ...more
  })
  const status = pick("", "", "/status")
  switch (
    pick("create", "create", "create", "get", "list", "update", "update", "merge", "json", "delete", "collection")
  ) {
    case "create":
      return ask("POST", "", { body: object(), query: options })
    case "get":
      return ask("GET", `/${name}${status}`)
    case "list":
      return ask("GET", "", {
        query: pick<Record<string, string>>(
          {},
          { labelSelector: "a=1" },
          { labelSelector: "a in (1,2),b" },
          { labelSelector: "((" },
          { fieldSelector: "spec.color=red" },
          { fieldSelector: "metadata.name!=a" },
          { fieldSelector: "spec.weight=1" },
          { limit: "1" },
          { limit: "x" },
          { resourceVersionMatch: "Exact" }
        )
      })
    case "update":
      return ask("PUT", `/${name}${status}`, {
        body: object(),
        query: options,
        version: pick(undefined, "latest", "latest", "latest", "latest", "stale")
      })
    case "merge":
      return ask("PATCH", `/${name}${status}`, {
        query: options,
        headers: { "content-type": "application/merge-patch+json" },
        body: pick<unknown>(
          { spec: spec() },
          { metadata: { labels: { a: pick("1", null) } } },
          { metadata: { finalizers: pick(null, ["example.com/x"]) } },
          { status: { mood: "calm" } },
          { metadata: { name: "other" } },
          [],
          {}
        )
      })
    case "json":
      return ask("PATCH", `/${name}${status}`, {
        query: options,
        headers: { "content-type": "application/json-patch+json" },
        body: pick<unknown>(
          [{ op: "replace", path: "/spec/weight", value: pick(1, 2, 0) }],
          [{ op: "test", path: "/spec/weight", value: 1 }, { op: "add", path: "/metadata/labels", value: { a: "1" } }],
          [{ op: "remove", path: "/spec/color" }],
          [{ op: "remove", path: "/spec/none" }],
          {}
        )
      })
    case "delete":
      return ask("DELETE", `/${name}`, {
        body: pick<unknown>(
          undefined,
          undefined,
          { preconditions: { uid: "other" } },
          { preconditions: { resourceVersion: "1" } },
          { propagationPolicy: "Foreground" },
          { propagationPolicy: "Orphan" },
          { propagationPolicy: "x" },
          { dryRun: ["All"] }
        )
      })
    default:
      return ask("DELETE", "", { query: { labelSelector: pick("a=1", "a=2", "b") } })
  }
}

/** Without what cannot be the same on two servers, and the managedFields that one of them does not keep. */
const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value === "string") {
    return value.replace(/\\*"managedFields\\*":\[\{.*?\}\],/g, "").replace(
      /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      "UID"
    )
      .replace(/gen-[bcdfghjklmnpqrstvwxz2-9]{5}/g, "gen-NAME").replace(/\b\d{3,}\b/g, "N")
  }
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => !["resourceVersion", "managedFields", "continue"].includes(key))
      .sort(([a], [b]) => a < b ? -1 : 1).map(([key, item]) => [key, comparable(item)])
  )
}

/** The latest version that a server told of, by path. */
class Seen {
  readonly versions = new Map<string, string>()

  read(path: string, body: any): void {
    const version: unknown = body?.metadata?.resourceVersion
    if (body?.kind === "Llama" && typeof version === "string") {
      this.versions.set(path, version)
    }
  }

  fill({ body, path, version }: Asked): unknown {
    const latest = this.versions.get(path.replace(/\/status$/, ""))
    const resourceVersion = version === "latest" ? latest : version === "stale" ? "1" : undefined
    if (resourceVersion === undefined) return body
    const object = body as { readonly metadata: object }
    return { ...object, metadata: { ...object.metadata, resourceVersion } }
  }
}

const api = ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds: [ApiService.stored(Llama)] })

for (const seed of Array.from({ length: Number(process.env["PARITY_SEEDS"] ?? 8) }, (_, i) => i)) {
  it.effect(`60 random requests, seed ${seed}`, () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const client = yield* KubeClient.KubeClient
      const server = yield* ApiServer.ApiServer
      yield* client.create(Namespace, { metadata: { name: "farm" } })
      yield* Crd.install(Llama)
      const { call } = yield* direct(api)
      const { next } = random(seed)
      const [theirs, ours] = [new Seen(), new Seen()]
      const story: Array<string> = []
      for (let n = 0; n < 60; n++) {
        const asked = draw(next)
        const { headers, method, path, query } = asked
        const body = ours.fill(asked)
        const own = yield* call(method, path, { headers, query, ...(body === undefined ? {} : { body }) })
        const other = theirs.fill(asked)
        const wanted = yield* server.handle({
          method,
          path,
          headers,
          query: Object.entries(query),
          ...(other === undefined ? {} : { body: other })
        })
        const named = (body: any) => `${root}/${body?.metadata?.name}`
        ours.read(named(own.body), own.body)
        theirs.read(named(wanted.body), wanted.body)
        story.push(`${method} ${path} ${JSON.stringify(query)} ${JSON.stringify(asked.body)} -> ${wanted.status}`)
        assert.deepStrictEqual(
          comparable([own.status, own.body, own.headers["warning"]]),
          comparable([wanted.status, wanted.body, wanted.headers["warning"]]),
          story.slice(-12).join("\n")
        )
        if (next() < 0.1) yield* TestClock.adjust("1 minute")
      }
    }).pipe(Effect.provide(cluster)))
}
