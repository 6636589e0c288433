/**
 * A lower bound and a naive implementation: `bytes` only counts the bytes from the socket; `plain` calls `JSON.parse`
 * on pages and lines and fills a `Map`. Both use undici, like the other contestants.
 */
import { Buffer } from "node:buffer"
import * as Undici from "undici"
import { listVersion, shapes } from "../fixture/Objects.ts"
import type { Contestant } from "./Contestant.ts"

const newline = 0x0a

export const bytes: Contestant = async ({ events, kind, objects, url }) => {
  const agent = new Undici.Agent({ bodyTimeout: 0 })
  const path = `${url}${shapes[kind].path}`
  return {
    list: async () => {
      for (let from = 0; from < objects; from += 500) {
        const { body } = await agent.request(requestOf(`${path}?limit=500&continue=${from}`))
        for await (const _ of body);
      }
      return objects
    },
    watch: async (start) => {
      const { body } = await agent.request(requestOf(`${path}?watch=true`))
      await start()
      let seen = 0
      for await (const chunk of body as AsyncIterable<Buffer>) {
        for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) seen += 1
        if (seen === events) break
      }
    }
  }
}

interface Item {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string }
}

export const plain: Contestant = async ({ events, kind, url }) => {
  const agent = new Undici.Agent({ bodyTimeout: 0 })
  const path = `${url}${shapes[kind].path}`
  const cache = new Map<string, Item>()
  const put = (item: Item) => cache.set(`${item.metadata.namespace}/${item.metadata.name}`, item)
  // Stays reachable as long as the client, like a cache.
  const client = {
    cache,
    list: async () => {
      let token = ""
      do {
        const { body } = await agent.request(requestOf(`${path}?limit=500${token}`))
        const { items, metadata } = JSON.parse(await body.text()) as {
          readonly items: ReadonlyArray<Item>
          readonly metadata: { readonly continue?: string }
        }
        for (const item of items) put(item)
        token = metadata.continue === undefined ? "" : `&continue=${metadata.continue}`
      } while (token !== "")
      return cache.size
    },
    watch: async (start: () => Promise<void>) => {
      const { body } = await agent.request(requestOf(`${path}?watch=true&resourceVersion=${listVersion}`))
      await start()
      const last = String(listVersion + events)
      let rest: Buffer | undefined
      for await (const chunk of body as AsyncIterable<Buffer>) {
        const bytes: Buffer = rest === undefined ? chunk : Buffer.concat([rest, chunk])
        let from = 0
        for (let to = bytes.indexOf(newline); to >= 0; to = bytes.indexOf(newline, from)) {
          const event = JSON.parse(bytes.toString("utf8", from, to)) as { readonly object: Item }
          put(event.object)
          from = to + 1
          if (event.object.metadata.resourceVersion === last) return
        }
        rest = from === bytes.length ? undefined : bytes.subarray(from)
      }
    }
  }
  return client
}

const requestOf = (url: string): Undici.Dispatcher.RequestOptions => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: `${pathname}${search}`, method: "GET" }
}
