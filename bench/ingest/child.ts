/**
 * Measures one contestant, once, and prints the result as JSON. The arguments are the URL of the fixture, the kind, and
 * the numbers of objects and events. It runs in its own process, so that peak memory and compiled code are not shared.
 */
import * as Http from "node:http"
import type { Kind } from "../fixture/Objects.ts"
import type { Contestant, Measured, Task } from "./Contestant.ts"

const start = (url: string) => () =>
  new Promise<void>((resolve, reject) => {
    // Time for the watch to open.
    setTimeout(() => Http.get(`${url}/start`, (answer) => answer.resume().on("end", resolve)).on("error", reject), 100)
  })

const seconds = async <A>(run: () => Promise<A>): Promise<[number, A]> => {
  const before = process.cpuUsage()
  const answer = await run()
  const { system, user } = process.cpuUsage(before)
  return [(system + user) / 1e6, answer]
}

const held = (): number => {
  const { gc } = globalThis as { readonly gc?: () => void }
  gc?.()
  gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

export const measure = async (contestant: Contestant): Promise<void> => {
  const [url = "", kind = "widgets", objects, events] = process.argv.slice(2)
  const task: Task = { url, kind: kind as Kind, objects: Number(objects), events: Number(events) }
  const client = await contestant(task)
  const empty = held()
  const [list, count] = await seconds(client.list)
  if (count !== task.objects) throw new Error(`there are ${count} objects, not ${task.objects}`)
  const retained = task.events > 0 ? 0 : (held() - empty) / task.objects
  const [watch] = task.events > 0 ? await seconds(() => client.watch(start(url))) : [0]
  const measured: Measured = { list, watch, retained, peakRss: process.resourceUsage().maxRSS * 1024 }
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0))
}
