/**
 * `FailureLog`: prints the program's warnings if a test fails, and nothing otherwise.
 *
 * Under `it.effect` log lines are discarded: a reconcile that throws shows up only as an object in the wrong state.
 * With this layer, warnings and errors are kept in memory and printed if the scope closes with a failure: a failed
 * assertion, a defect, or the test's timeout. `TestCluster.layer` includes it.
 *
 * Existing loggers stay. If lines reach the console anyway (`it.live`), nothing is kept. A layer that several tests
 * share does not close with their failures, so it prints nothing.
 */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { prettyText } from "../Logging.ts"

/** How many lines are printed, from the beginning and from the end of the log. */
export const defaults = { first: 10, last: 20 } as const

/** Where the lines are printed. */
export const Out: Context.Reference<(text: string) => void> = Context.Reference<(text: string) => void>(
  "@effect-operator/k8s/testing/FailureLog/Out",
  { defaultValue: () => (text) => globalThis.console.error(text) }
)

/** Keeps the lines of this scope, and prints them if it closes with a failure. */
export const layer: Layer.Layer<never> = Layer.unwrap(Effect.gen(function*() {
  if ((yield* Console.Console) === globalThis.console) return Layer.empty
  const out = yield* Out
  const first: Array<string> = []
  const last: Array<string> = []
  let leftOut = 0
  const keep = Logger.make<unknown, void>((options) => {
    if (LogLevel.isLessThan(options.logLevel, "Warn")) return
    const line = prettyText.log(options)
    if (first.length < defaults.first) return void first.push(line)
    last.push(line)
    if (last.length <= defaults.last) return
    last.shift()
    leftOut++
  })
  yield* Effect.addFinalizer((exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit) || first.length === 0) return
      const between = leftOut === 0 ? [] : [`… ${leftOut} more`]
      out(["Warnings and errors logged before the test failed:", ...first, ...between, ...last].join("\n"))
    })
  )
  return Logger.layer([keep], { mergeWithExisting: true })
}))
