/** The command line in this process: what a command prints, and how it ends. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Exit, Layer, Stdio, Stream } from "effect"
import { Top } from "../../src/cli/Folder.ts"
import * as Processes from "../../src/cli/Processes.ts"
import * as Program from "../../src/cli/Program.ts"

export interface Ended {
  readonly ok: boolean
  readonly out: string
  readonly err: string
}

/** Runs `effect-operator ARGS`. */
export const run = (
  args: ReadonlyArray<string>,
  options: { readonly stdin?: string; readonly top?: string } = {}
): Effect.Effect<Ended> =>
  Effect.gen(function*() {
    const out: Array<string> = []
    const err: Array<string> = []
    const console = {
      ...globalThis.console,
      log: (...words: ReadonlyArray<unknown>) => void out.push(words.join(" ")),
      error: (...words: ReadonlyArray<unknown>) => void err.push(words.join(" "))
    }
    const stdin = Stdio.layerTest({ stdin: Stream.encodeText(Stream.make(options.stdin ?? "")) })
    const exit = yield* Effect.exit(Program.runWith(args)).pipe(
      Effect.provide(Layer.merge(NodeServices.layer, stdin)),
      Effect.provideService(Console.Console, console),
      Effect.provideService(Processes.Node, ["--conditions=op-source"]),
      Effect.provideService(Top, options.top ?? ".")
    )
    return { ok: Exit.isSuccess(exit), out: out.join("\n"), err: err.join("\n") }
  })
