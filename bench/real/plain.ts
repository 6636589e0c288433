/** A naive implementation: a watch into a map and eight loops over undici. `plain.ts ACCESS NAMESPACE` */
import * as Fs from "node:fs"
import * as Undici from "undici"
import { type Access, path, serve, statusOf } from "./Contestant.ts"

const [access = "{}", namespace = ""] = process.argv.slice(2)
const { caFile, token, url } = JSON.parse(access) as Access

interface Widget {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly status?: { readonly round?: number }
}

const agent = new Undici.Agent({ connections: 16, bodyTimeout: 0, connect: { ca: Fs.readFileSync(caFile) } })
const collection = `${path}/namespaces/${namespace}/widgets`
const cache = new Map<string, Widget>()
let round = 0

const request = (method: "GET" | "PATCH", target: string, body?: unknown) =>
  agent.request({
    origin: url,
    path: target,
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/merge-patch+json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

const patch = async (name: string): Promise<void> => {
  const { body, statusCode } = await request("PATCH", `${collection}/${name}/status`, statusOf(round))
  const widget = await body.json() as Widget
  if (statusCode !== 200) throw new Error(`${name}: ${statusCode}`)
  cache.set(name, widget)
}

const follow = async (): Promise<void> => {
  const list = await (await request("GET", collection)).body.json() as {
    readonly metadata: { readonly resourceVersion: string }
    readonly items: ReadonlyArray<Widget>
  }
  for (const item of list.items) cache.set(item.metadata.name, item)
  const { body } = await request("GET", `${collection}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
  let rest = ""
  for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop()!
    for (const line of lines) {
      const { object, type } = JSON.parse(line) as { readonly type: string; readonly object: Widget }
      cache.set(object.metadata.name, object)
      if (type === "ADDED" && object.status?.round === undefined) void patch(object.metadata.name)
    }
  }
}

void follow()

serve({
  known: () => cache.size,
  burst: async (next) => {
    round = next
    const names = [...cache.keys()]
    let at = 0
    const work = async () => {
      while (at < names.length) await patch(names[at++]!)
    }
    await Promise.all(Array.from({ length: 8 }, work))
  }
})
