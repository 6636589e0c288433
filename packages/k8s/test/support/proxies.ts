/** Proxies for the length of a scope, which say where they have led to. */
import { Effect } from "effect"
import * as Net from "node:net"

/** A proxy that joins two sockets once `greet` has found out where to, and counts what it joined. */
const proxy = (greet: (socket: Net.Socket, join: (port: number, reply: string | Buffer) => void) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const joined: Array<number> = []
      const sockets: Array<Net.Socket> = []
      const server = Net.createServer((socket) => {
        sockets.push(socket.on("error", () => {}))
        greet(socket, (port, reply) => {
          joined.push(port)
          const upstream = Net.connect(port, "127.0.0.1", () => {
            socket.write(reply)
            upstream.pipe(socket)
            socket.pipe(upstream)
          })
          sockets.push(upstream.on("error", () => {}))
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { server, sockets, joined, port: (server.address() as Net.AddressInfo).port }
    }),
    ({ server, sockets }) =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise((resolve) => server.close(resolve))
      })
  )

/** One of HTTP, and the heads of the requests that it got. */
export const httpProxy = Effect.suspend(() => {
  const greetings: Array<string> = []
  const made = proxy((socket, join) =>
    socket.once("data", (head: Buffer) => {
      const greeting = head.toString()
      greetings.push(greeting)
      join(Number(/^CONNECT [^:]+:(\d+) /.exec(greeting)?.[1]), "HTTP/1.1 200 OK\r\n\r\n")
    })
  )
  return Effect.map(made, (proxy) => ({ ...proxy, greetings }))
})

/** RFC 1928: no authentication, then CONNECT to an IPv4 address. */
export const socksProxy = proxy((socket, join) =>
  socket.once("data", () => {
    socket.write(Buffer.of(5, 0))
    socket.once(
      "data",
      (request: Buffer) => join(request.readUInt16BE(request.length - 2), Buffer.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0))
    )
  })
)
