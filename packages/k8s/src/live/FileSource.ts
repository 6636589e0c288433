/**
 * `FileSource`: the text of a file that somebody else may change, such as a token or a certificate that is rotated.
 *
 * `text` is cheap: it answers from memory until the file has aged, then reads it again. While a file that was read
 * before cannot be read, or does not hold what it should, its last text stays in use, a warning is logged, and another
 * try follows soon. One read at a time: who comes while it is under way gets the last text, or waits for the new one
 * where the last was doubted. `fresh` always reads.
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

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** Age at which a file is read again. Source: client-go, transport/token_source.go. */
  maxAge: "1 minute",
  /** After which a file that could not be read is tried again, while its last text stays in use. */
  retry: "10 seconds"
} as const

export interface Options {
  /** What the file is to its reader, for messages: `token file`. */
  readonly what: string
  /** What is wrong with a text, if anything. Must not quote it. */
  readonly problem: (text: string) => string | undefined
  readonly maxAge?: Duration.Input | undefined
  /** The text, where it was read already. */
  readonly initial?: string | undefined
}

export interface FileSource {
  /** The text, not older than its age allows where the file can be read. */
  readonly text: Effect.Effect<string, Transport>
  /** The text as it is now. */
  readonly fresh: Effect.Effect<string, Transport>
  /** Makes the next `text` read the file. */
  readonly doubt: () => void
}

export const make = (file: string, options: Options): FileSource => {
  const maxAge = Duration.toMillis(options.maxAge ?? defaults.maxAge)
  const retry = Duration.toMillis(defaults.retry)
  const turn = Semaphore.makeUnsafe(1)
  let last = options.initial
  /** When the text was read, or known, and for how many milliseconds that lasts. */
  let since: Moment.Moment | undefined
  let lasts = maxAge
  /** How often the text was doubted, and up to which time that has been looked into. */
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

  /** Reads it if that is still needed, or else goes on with what is known. */
  const renew = (known: string, now: Moment.Moment): Effect.Effect<string> =>
    Effect.suspend(() => {
      if (last !== known || (settled === doubts && !isOld(now))) return Effect.succeed(last ?? known)
      const asked = doubts
      return fresh.pipe(
        Effect.catch((error) => {
          since = now
          lasts = retry
          return Effect.as(Effect.logWarning(`${error.message}; the last one stays in use`), known)
        }),
        // Not where it is interrupted: nobody has looked then.
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

/** The system's code of an error, which says what is wrong and quotes nothing. */
export const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? "unknown error"

/** What is wrong with a text that should be PEM. */
export const pemProblem = (text: string): string | undefined => text.includes("-----BEGIN ") ? undefined : "is not PEM"

/** What is wrong with a text that should be a token. */
export const tokenProblem = (text: string): string | undefined => text.trim() === "" ? "is empty" : undefined
