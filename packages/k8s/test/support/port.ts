/** Ports of this machine. */
import { Effect } from "effect"
import * as Net from "node:net"

/** One that nobody listens on. */
export const free: Effect.Effect<number> = Effect.callback<number>((resume) => {
  const server = Net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as Net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Whether nobody listens on it, or is about to. */
export const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const server = Net.createServer()
      .once("error", () => resume(Effect.succeed(false)))
      .listen(port, "127.0.0.1", () => {
        server.close(() => resume(Effect.succeed(true)))
      })
  })
