/**
 * One contestant, once: `child.ts NAME URL KIND OBJECTS EVENTS` prints what was measured as JSON. A process of its own,
 * so that peak memory and compiled code are nobody else's.
 */
import * as Http from "node:http"
import type { Kind } from "../fixture/Objects.ts"
import type { Contestant, Measured, Task } from "./Contestant.ts"

const contestants: Readonly<Record<string, () => Promise<Contestant>>> = {
  bytes: async () => (await import("./floors.ts")).bytes,
  plain: async () => (await import("./floors.ts")).plain,
  clientNode: async () => (await import("./clientNode.ts")).clientNode,
  ours: async () => (await import("./ours.ts")).ours,
  lazy: async () => (await import("./ours.ts")).lazy,
  checked: async () => (await import("./ours.ts")).checked
}

const [name = "", url = "", kind = "widgets", objects, events] = process.argv.slice(2)
const task: Task = { url, kind: kind as Kind, objects: Number(objects), events: Number(events) }

const start = () =>
  new Promise<void>((resolve, reject) => {
    // A moment for the watch to open.
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

const load = contestants[name]
if (load === undefined) throw new Error(`${name}: no such contestant: ${Object.keys(contestants).join(", ")}`)
const client = await (await load())(task)
const empty = held()
const [list, count] = await seconds(client.list)
if (count !== task.objects) throw new Error(`${name} holds ${count} objects, not ${task.objects}`)
const retained = task.events > 0 ? 0 : (held() - empty) / task.objects
const [watch] = task.events > 0 ? await seconds(() => client.watch(start)) : [0]
const measured: Measured = { list, watch, retained, peakRss: process.resourceUsage().maxRSS * 1024 }
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0))
