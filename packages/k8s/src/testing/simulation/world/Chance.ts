/**
 * `Chance`: notices when a program uses something that is not deterministic: the real time, real randomness, real input
 * and output.
 *
 * During a run, and only then, the globals that give access to the real world are replaced. The replacements report who
 * used them and answer from the simulated world, so that the run continues and stays the same. Whatever only the real
 * world can answer (a socket, a timer of the host, a promise) never answers. Everything is restored at the end of the
 * run, however it ends.
 */
import * as net from "node:net"
import { cryptoOf } from "./World.ts"

export interface World {
  /** Milliseconds. */
  readonly now: () => number
  /** In [0, 1). */
  readonly random: () => number
  readonly found: (what: string, where: string) => void
}

/** Stack frames of the framework and the runtime: the first frame that is none of these is the culprit. */
const machinery = /node_modules\/effect\/|node:internal|simulation\/world\/Chance\.[jt]s|\(?native\b|<anonymous>/

const place = (line: string): string => line.trim().replace(/^at /, "").replace(/file:\/\//, "")

/** Where in the program the global was used. */
const culprit = (): string => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 40
  const frames = (new Error().stack ?? "").split("\n").slice(1)
  Error.stackTraceLimit = stackTraceLimit
  return place(frames.find((frame) => !machinery.test(frame)) ?? frames.at(-1) ?? "somewhere")
}

const never = (): Promise<never> => new Promise(() => {})

type Holder = Record<string, unknown>

/** Replaces the real world by the simulated one; the returned function restores it. */
export const guard = ({ found, now, random }: World): () => void => {
  const undo: Array<() => void> = []
  const put = (holder: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(holder, name)
    if (before !== undefined && before.configurable !== true && before.writable !== true) return
    if (before?.configurable === false) {
      ;(holder as Holder)[name] = value
      undo.push(() => void ((holder as Holder)[name] = before.value))
      return
    }
    Object.defineProperty(holder, name, { value, configurable: true, writable: true, enumerable: false })
    undo.push(() => {
      if (before === undefined) delete (holder as Holder)[name]
      else Object.defineProperty(holder, name, before)
    })
  }
  const noted =
    <Args extends ReadonlyArray<unknown>, A>(what: string, answer: (...args: Args) => A) => (...args: Args) => {
      found(what, culprit())
      return answer(...args)
    }

  const RealDate = Date
  const SimulatedDate = function(this: unknown, ...args: ReadonlyArray<unknown>) {
    if (new.target === undefined) {
      found("Date()", culprit())
      return new RealDate(now()).toString()
    }
    if (args.length > 0) return Reflect.construct(RealDate, args)
    found("new Date()", culprit())
    return new RealDate(now())
  }
  SimulatedDate.prototype = RealDate.prototype
  SimulatedDate.now = noted("Date.now()", () => Math.floor(now()))
  SimulatedDate.parse = RealDate.parse
  SimulatedDate.UTC = RealDate.UTC
  put(globalThis, "Date", SimulatedDate)
  put(globalThis.performance, "now", noted("performance.now()", now))
  put(Math, "random", noted("Math.random()", random))
  const simulated = cryptoOf(random)
  put(crypto, "randomUUID", noted("crypto.randomUUID()", simulated.randomUUID))
  put(crypto, "getRandomValues", noted("crypto.getRandomValues()", simulated.getRandomValues))
  for (const timer of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const) {
    put(globalThis, timer, noted(`${timer}()`, () => ({ ref() {}, unref() {}, [Symbol.toPrimitive]: () => 0 })))
  }
  put(globalThis, "fetch", noted("fetch()", never))
  put(
    net.Socket.prototype,
    "connect",
    noted("a socket", function(this: unknown) {
      return this
    })
  )
  // What is awaited would continue outside the run, so it never does.
  put(Promise.prototype, "then", noted("a Promise", never))
  return () => {
    for (const restore of undo.toReversed()) restore()
  }
}
