/** Runs a script on two servers and tells where they differ. */
import { Clock, Duration, Effect, type Scope } from "effect"
import { mask, type Script, type Step, type Text } from "./Script.ts"
import type { Output, Shell } from "./Shell.ts"

/** A difference: the line and both outputs, or what an output lacked. */
export interface Difference {
  readonly script: string
  readonly line: string
  readonly memory: string
  readonly real: string
}

export interface Shells {
  readonly memory: Shell
  /** None: only what the in-memory server must say by itself is checked. */
  readonly real: Shell | undefined
}

const show = ({ code, stderr, stdout }: Output): string =>
  `${stdout}${stderr === "" ? "" : `[stderr] ${stderr}`}[${code}]`

const lines = (text: string, unordered: boolean | undefined): string =>
  unordered === true ? text.split("\n").sort().join("\n") : text

const lacks = (output: string, wanted: ReadonlyArray<Text>): ReadonlyArray<string> =>
  wanted.flatMap((text) =>
    (typeof text === "string" ? output.includes(text) : text.test(output)) ? [] : [`lacks ${String(text)}: ${output}`]
  )

/**
 * Milliseconds that the servers have to come to say the same. A real garbage collector stands still for rounds of 30 s
 * when a definition comes or goes (pkg/controller/garbagecollector `Sync`), as those of the scripts beside this one do.
 */
const patience = Duration.toMillis("3 minutes")

const step = Effect.fnUntraced(function*(
  { memory, real }: Shells,
  current: Step
): Effect.fn.Return<Omit<Difference, "script"> | undefined> {
  const { line, stdin } = current
  const both = Effect.all([
    memory.run(line, stdin),
    real === undefined || (current._tag === "Differs" && current.real === undefined)
      ? Effect.undefined
      : real.run(line, stdin)
  ], { concurrency: 2 })
  switch (current._tag) {
    case "Quiet": {
      const [a, b] = yield* both
      return a.code === 0 && (b?.code ?? 0) === 0
        ? undefined
        : { line, memory: show(a), real: b === undefined ? "" : show(b) }
    }
    case "Differs": {
      const [a, b] = yield* both
      const faults = {
        memory: lacks(show(a), current.memory).join("\n"),
        real: b === undefined ? "" : lacks(show(b), current.real ?? []).join("\n")
      }
      return faults.memory === "" && faults.real === "" ? undefined : { line, ...faults }
    }
    case "Same": {
      const begin = yield* Clock.currentTimeMillis
      while (true) {
        const [a, b] = yield* both
        if (b === undefined) return undefined
        const [ours, theirs] = [a, b].map((output) => lines(mask(show(output), current.mask), current.unordered))
        if (ours === theirs) return undefined
        const waited = (yield* Clock.currentTimeMillis) - begin
        if (current.eventually !== true || waited > patience) return { line, memory: ours!, real: theirs! }
        yield* Effect.sleep(Duration.millis(100))
      }
    }
  }
})

/** Runs the lines one after the other; a difference does not end the script. */
export const compare = Effect.fnUntraced(function*(
  shells: Shells,
  script: Script
): Effect.fn.Return<ReadonlyArray<Difference>, never, Scope.Scope> {
  const found: Array<Difference> = []
  yield* Effect.all(
    [shells.memory, shells.real].flatMap((shell) =>
      shell === undefined ? [] : [shell.run(`create namespace ${script.name}`)]
    ),
    { concurrency: 2 }
  )
  for (const current of script.steps) {
    const difference = yield* step(shells, current)
    if (difference !== undefined) found.push({ script: script.name, ...difference })
  }
  return found
})
