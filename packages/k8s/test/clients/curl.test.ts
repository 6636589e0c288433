/** curl, which knows nothing of Kubernetes: what a person sees who asks the in-memory server by hand. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"

const cluster = Layer.provideMerge(HttpFacade.layer(), ApiServer.layer)

const hasCurl = ChildProcess.spawnSync("curl", ["--version"]).status === 0

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const parse = (output: string): Reply => {
  const end = output.indexOf("\r\n\r\n")
  const [first = "", ...lines] = output.slice(0, end).split("\r\n")
  const headers = Object.fromEntries(lines.map((line) => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  }))
  return { status: Number(first.split(" ")[1]), headers, body: output.slice(end + 4) }
}

/** `curl` with the authority and, unless told otherwise, the administrator's token. */
const client = Effect.fnUntraced(function*() {
  const facade = yield* HttpFacade.HttpFacade
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "curl-test-"))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
  )
  const authority = Path.join(directory, "ca.crt")
  Fs.writeFileSync(authority, facade.caPem)
  return (path: string, ...args: ReadonlyArray<string>): Effect.Effect<Reply> =>
    Effect.callback((resume) => {
      const own = args.some((arg) => arg.toLowerCase().startsWith("authorization:"))
        ? []
        : ["-H", `Authorization: Bearer ${facade.token}`]
      const child = ChildProcess.spawn("curl", [
        "-sS",
        "-i",
        "--cacert",
        authority,
        ...own,
        ...args,
        `${facade.url}${path}`
      ])
      let output = ""
      child.stdout.on("data", (data: Buffer) => {
        output += data.toString()
      })
      child.on("close", () => resume(Effect.succeed(parse(output))))
      return Effect.sync(() => child.kill())
    })
})

const configMaps = "/api/v1/namespaces/default/configmaps"

describe.skipIf(!hasCurl)("curl", () => {
  it.live("is shown indented JSON, and who asks nobody is told so", () =>
    Effect.gen(function*() {
      const curl = yield* client()
      const version = yield* curl("/version")
      assert.strictEqual(version.status, 200)
      assert.match(version.body, /^\{\n {2}"major": "1",\n {2}"minor": "35"/)
      assert.strictEqual(version.headers["content-type"], "application/json")
      const roots = yield* curl("/")
      assert.include(JSON.parse(roots.body).paths, "/apis/apps/v1")
      const wrong = yield* curl("/api", "-H", "Authorization: Bearer wrong")
      assert.strictEqual(wrong.status, 401)
      assert.strictEqual(JSON.parse(wrong.body).reason, "Unauthorized")
      const nobody = yield* curl("/healthz", "-H", "Authorization:")
      assert.deepStrictEqual([nobody.status, nobody.body], [200, "ok"])
    }).pipe(Effect.scoped, Effect.provide(cluster)))

  it.live("creates from YAML and JSON, reads as YAML, and deletes", () =>
    Effect.gen(function*() {
      const curl = yield* client()
      const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {a: '1'}\n"
      const created = yield* curl(
        configMaps,
        "-X",
        "POST",
        "-H",
        "Content-Type: application/yaml",
        "--data-binary",
        yaml
      )
      assert.strictEqual(created.status, 201)
      const again = yield* curl(configMaps, "-H", "Content-Type: application/json", "-d", created.body)
      assert.strictEqual(again.status, 500)
      assert.include(again.body, "resourceVersion should not be set on objects to be created")
      const read = yield* curl(`${configMaps}/cm`, "-H", "Accept: application/yaml")
      assert.match(read.body, /^apiVersion: v1\ndata:\n {2}a: "1"\nkind: ConfigMap\nmetadata:\n/)
      assert.strictEqual(read.headers["content-type"], "application/yaml")
      const patched = yield* curl(
        `${configMaps}/cm`,
        "-X",
        "PATCH",
        "-H",
        "Content-Type: application/merge-patch+json",
        "-d",
        "{\"data\":{\"b\":\"2\"}}"
      )
      assert.deepStrictEqual(JSON.parse(patched.body).data, { a: "1", b: "2" })
      const head = yield* curl(`${configMaps}/cm`, "--head")
      assert.strictEqual(head.status, 405)
      const gone = yield* curl(`${configMaps}/cm`, "-X", "DELETE")
      assert.strictEqual(JSON.parse(gone.body).status, "Success")
      assert.strictEqual((yield* curl(`${configMaps}/cm`)).status, 404)
    }).pipe(Effect.scoped, Effect.provide(cluster)))

  it.live("watches line by line until the time it gave is over", () =>
    Effect.gen(function*() {
      const curl = yield* client()
      yield* curl(configMaps, "-H", "Content-Type: application/json", "-d", "{\"metadata\":{\"name\":\"a\"}}")
      const watched = yield* curl(
        `${configMaps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`,
        "--no-buffer"
      )
      const lines = watched.body.trim().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(lines.map(({ object, type }) => [type, object.metadata.name]), [["ADDED", "a"]])
      assert.strictEqual(watched.headers["transfer-encoding"], "chunked")
    }).pipe(Effect.scoped, Effect.provide(cluster)))

  it.live("may compress, continue lists, and ask for tables", () =>
    Effect.gen(function*() {
      const curl = yield* client()
      for (const name of ["a", "b", "c"]) {
        yield* curl(configMaps, "-H", "Content-Type: application/json", "-d", JSON.stringify({ metadata: { name } }))
      }
      const first = JSON.parse((yield* curl(`${configMaps}?limit=2`)).body)
      assert.strictEqual(first.metadata.remainingItemCount, 1)
      const rest = JSON.parse(
        (yield* curl(`${configMaps}?limit=2&continue=${first.metadata.continue}`, "--compressed")).body
      )
      assert.deepStrictEqual(rest.items.map((item: any) => item.metadata.name), ["c"])
      const table = JSON.parse(
        (yield* curl(configMaps, "-H", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")).body
      )
      assert.deepStrictEqual(table.columnDefinitions.map(({ name }: any) => name), ["Name", "Data", "Age"])
      assert.deepStrictEqual(table.rows.map(({ cells }: any) => cells.slice(0, 2)), [["a", 0], ["b", 0], ["c", 0]])
    }).pipe(Effect.scoped, Effect.provide(cluster)))
})
