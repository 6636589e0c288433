/**
 * `FileSource`: the text of a file that somebody else may change, such as a token or a certificate that is rotated.
 *
 * `text` is cheap: it returns a cached text until that has aged, then reads the file again. If the file can no longer
 * be read, or its content is invalid, the last text stays in use, a warning is logged, and it is read again soon. Only
 * one read runs at a time; meanwhile other callers get the last text or, if that is in doubt, wait for the new one.
 * `fresh` always reads.
 *
 * Kubelet replaces the files of a volume by switching a symbolic link, so they are opened by name each time.
 */
import * as Moment from "@effect-operator/core/internal/Moment"
import { Transport } from "@effect-operator/core/KubeError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Fs from "node:fs/promises"

/** Defaults, unless options override them. */
export const defaults = {
  /** The age at which a file is read again. Source: client-go, transport/token_source.go. */
  maxAge: "1 minute",
  /** How long after a failed read the file is read again, while its last text stays in use. */
  retry: "10 seconds"
} as const

export interface Options {
  /** What the file is, for messages: `token file`. */
  readonly what: string
  /** What is wrong with a text, if anything. Must not quote it. */
  readonly problem: (text: string) => string | undefined
  readonly maxAge?: Duration.Input | undefined
  /** The text, if it has been read already. */
  readonly initial?: string | undefined
}

export interface FileSource {
  /** The text; not older than its maximum age if the file can be read. */
  readonly text: Effect.Effect<string, Transport>
  /** The current text, read from the file. */
  readonly fresh: Effect.Effect<string, Transport>
  /** Makes the next `text` read the file. */
  readonly doubt: () => void
}

export const make = (file: string, options: Options): FileSource => {
  const maxAge = Duration.toMillis(options.maxAge ?? defaults.maxAge)
  const retry = Duration.toMillis(defaults.retry)
  const turn = Semaphore.makeUnsafe(1)
  let last = options.initial
  /** When the text was last known to be current, and for how many milliseconds it is used from then on. */
  let since: Moment.Moment | undefined
  let lasts = maxAge
  /** How often the text was doubted, and how many of these doubts have been resolved. */
  let doubts = 0
  let settled = 0

  const fresh = Effect.gen(function*() {
    const text = yield* Effect.tryPromise({
      try: () => Fs.readFile(file, "utf8"),
      catch: (cause) => new Transport({ message: `cannot read the ${options.what} ${file}: ${codeOf(cause)}` })
    })
    const problem = options.problem(text)
    if (problem !== undefined) return yield* new Transport({ message: `the ${options.what} ${file} ${problem}` })
    last = text
    since = yield* Moment.now
    lasts = maxAge
    return text
  })

  const isOld = (now: Moment.Moment): boolean => since === undefined || Moment.between(since, now) >= lasts

  /** Reads the file if that is still needed; otherwise returns the known text. */
  const renew = (known: string, now: Moment.Moment): Effect.Effect<string> =>
    Effect.suspend(() => {
      if (last !== known || (settled === doubts && !isOld(now))) return Effect.succeed(last ?? known)
      const asked = doubts
      return fresh.pipe(
        Effect.catch((error) => {
          since = now
          lasts = retry
          return Effect.as(Effect.logWarning(`${error.message}; still using what was read last`), known)
        }),
        // Not after an interruption: then the file was not read.
        Effect.tap(() =>
          Effect.sync(() => {
            settled = asked
          })
        )
      )
    })

  const text = Effect.flatMap(Moment.now, (now): Effect.Effect<string, Transport> => {
    if (last === undefined) return fresh
    const known = last
    since ??= now
    if (settled < doubts) return turn.withPermit(renew(known, now))
    return isOld(now)
      ? Effect.map(turn.withPermitsIfAvailable(1)(renew(known, now)), Option.getOrElse(() => known))
      : Effect.succeed(known)
  })

  return {
    text,
    fresh,
    doubt: () => {
      doubts += 1
    }
  }
}

/** The system's error code, which says what is wrong and quotes nothing. */
export const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? "unknown error"

/** What is wrong with a text that should be PEM. */
export const pemProblem = (text: string): string | undefined => text.includes("-----BEGIN ") ? undefined : "is not PEM"

/** What is wrong with a text that should be a token. */
export const tokenProblem = (text: string): string | undefined => text.trim() === "" ? "is empty" : undefined
