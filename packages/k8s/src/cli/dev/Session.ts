/** `Session`: a run of `effect-operator dev`: the loop on a target, or a single pass of it. */
import { parseDuration } from "@effect-operator/core/Settings"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import * as Path from "node:path"
import type { Description } from "../Description.ts"
import * as Descriptions from "../Description.ts"
import * as Failure from "../Failure.ts"
import { exists } from "../Folder.ts"
import * as Processes from "../Processes.ts"
import { serves } from "../Serves.ts"
import * as Health from "./Health.ts"
import * as Loop from "./Loop.ts"
import * as Objects from "./Objects.ts"
import * as Sources from "./Sources.ts"
import * as Surroundings from "./Surroundings.ts"
import * as Target from "./Target.ts"
import * as Unserved from "./Unserved.ts"

export const defaults = {
  /** How long an operator may take to stop: longer than its default drain time. */
  grace: "35 seconds"
} as const

export interface Options extends Target.Options {
  readonly main: string
  readonly apply: ReadonlyArray<string>
  readonly once: boolean
  /** The time limit of `once`. */
  readonly timeout: string
}

const paint = (code: number, text: string): string =>
  process.stdout.isTTY && process.env["NO_COLOR"] === undefined ? `\u001b[${code}m${text}\u001b[0m` : text

/** Prints a line of this program between those of the operator. */
const line = (code: number) => (text: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const time = new Date(now).toISOString().slice(11, 19)
    return Console.log(text.split("\n").map((each) => `${paint(2, time)} ${paint(code, "dev")} ${each}`).join("\n"))
  })

const say = line(36)
const warn = line(33)

/** Applies the samples that have changed since they were last applied. */
export const sampler = (target: Target.Target, places: ReadonlyArray<string>) => {
  const applied = new Map<string, string>()
  /** The files, and the folders that contain them. A place may be gone for a while. */
  const followed = Effect.map(
    Effect.forEach(places, (place) => Effect.orElseSucceed(Objects.filesOf(place), () => [])),
    (lists) => [...places, ...lists.flat()]
  )
  return {
    followed,
    apply: Effect.fnUntraced(function*({ kinds }: Description) {
      for (const file of (yield* Effect.forEach(places, Objects.filesOf)).flat()) {
        for (const object of yield* Objects.inFile(file)) {
          const { kind, metadata: { name } } = object
          const id = `${file} ${Objects.idOf(object)}`
          const text = JSON.stringify(object)
          if (applied.get(id) === text) continue
          yield* Effect.provide(Objects.apply(object, kinds, file, target.namespace), target.client)
          applied.set(id, text)
          yield* say(`applied ${kind} ${name} from ${file}`)
        }
      }
    })
  }
}

/** Starts the operator with endpoints for its health; it stops with the scope. */
const start = (main: string, target: Target.Target) =>
  Effect.fnUntraced(function*(description: Description) {
    yield* Effect.addFinalizer(() => say("the operator stopped"))
    const ports = { metrics: yield* Health.freePort, probes: yield* Health.freePort, webhooks: target.webhooks }
    const running = yield* Processes.start(main, {
      grace: defaults.grace,
      env: {
        ...Surroundings.variables(description, ports, process.env),
        ...yield* target.environment(description)
      }
    })
    yield* say(`started ${main} (process ${running.pid}), metrics at http://127.0.0.1:${ports.metrics}/metrics`)
    const unserved = target.asksHooks
      ? Effect.map(Health.checks(ports), (checks) => Unserved.message(description, checks))
      : Effect.undefined
    return { ...running, ports, ready: Health.ready(ports), unserved }
  })

const forever = Effect.fnUntraced(function*(target: Target.Target, main: string, apply: ReadonlyArray<string>) {
  const sources = yield* Sources.make()
  const samples = sampler(target, apply)
  return yield* Loop.run<Processes.Spawner | FileSystem.FileSystem>({
    read: Descriptions.read(main),
    follow: (files, anything) =>
      Effect.flatMap(samples.followed, (more) => sources.follow([...files, ...more, main], anything)),
    changed: Effect.map(sources.changed, (file) => Path.relative(process.cwd(), file)),
    install: (description) => target.install(description, say),
    start: (description) =>
      Effect.map(start(main, target)(description), (operator) => ({
        ...operator,
        ready: Effect.andThen(
          operator.ready,
          Effect.flatMap(operator.unserved, (message) => message === undefined ? Effect.void : warn(message))
        )
      })),
    whenReady: samples.apply,
    say,
    warn
  })
})

const once = Effect.fnUntraced(
  function*(target: Target.Target, main: string, apply: ReadonlyArray<string>, timeout: Duration.Duration) {
    const description = yield* Descriptions.require(main)
    const samples = sampler(target, apply)
    yield* target.install(description, say)
    const operator = yield* start(main, target)(description)
    let why: ReadonlyArray<string> = [
      "the operator did not become ready: it must run with `runMain`, and its caches must be in sync"
    ]
    const done = Effect.gen(function*() {
      yield* operator.ready
      const unserved = yield* operator.unserved
      if (unserved !== undefined) return yield* Failure.make(unserved)
      yield* say("the operator is ready")
      why = ["the objects of --apply have not been accepted yet"]
      yield* samples.apply(description)
      yield* Health.settled(operator.ports, (now) => void (why = now))
    }).pipe(Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => Effect.fail(Failure.make(`not done within ${Duration.format(timeout)}:\n  ${why.join("\n  ")}`))
    }))
    const early = Effect.flatMap(
      operator.exited,
      (code) => Effect.fail(Failure.make(`the operator exited by itself with code ${code}`))
    )
    yield* Effect.raceFirst(done, early)
    yield* say("the operator has nothing left to do")
    yield* operator.stop(defaults.grace)
    const code = yield* operator.exited
    if (code !== 0) return yield* Failure.make(`the operator exited with code ${code} when it was asked to stop`)
  },
  Effect.scoped
)

/** The command `dev`. */
export const run = (options: Options) =>
  Effect.gen(function*() {
    const { main } = options
    if (!options.once) yield* serves
    yield* Descriptions.runnable(main)
    for (const place of options.apply) {
      if (!(yield* exists(place))) {
        return yield* Failure.make(`--apply ${place}: does not exist: give a file or folder with objects`)
      }
    }
    const timeout = yield* Effect.mapError(
      Effect.fromOption(parseDuration(options.timeout)),
      () => Failure.make(`--timeout ${JSON.stringify(options.timeout)}: must be a duration, such as 90s or 2m`)
    )
    const target = yield* Target.make(options)
    for (const introduction of target.introduction) yield* say(introduction)
    yield* Effect.forkScoped(Stream.runForEach(target.lacking, warn), { startImmediately: true })
    yield* options.once ? once(target, main, options.apply, timeout) : forever(target, main, options.apply)
  }).pipe(Effect.scoped)
