/**
 * `CertificateFiles`: certificates that somebody else maintains, in files of a mounted volume.
 *
 * The files are read every ten seconds, as in controller-runtime's certwatcher. A new pair is used once both files
 * exist, belong together and are accepted by TLS; until then, for instance while a volume is being updated, the old
 * pair stays in use. Every read is counted, and a new problem is logged.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as NodeCrypto from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Tls from "node:tls"
import * as Metrics from "./CertificateMetrics.ts"
import type { Certificate } from "./Certificates.ts"

export const defaults = {
  interval: "10 seconds"
} as const

export interface Options {
  /** Paths of PEM files. */
  readonly cert: string
  readonly key: string
  /** Between two reads. */
  readonly interval?: Duration.Input | undefined
}

/** A certificate that can be used. */
export interface Read extends Certificate {
  /** When it expires, in milliseconds since 1970. */
  readonly until: number
}

export interface Files {
  /** The current pair in the files, or why it cannot be used. */
  readonly now: Effect.Effect<Read, string>
  /** All usable pairs as they change, starting with the first. Endless. */
  readonly changes: Stream.Stream<Read>
  readonly trouble: () => string | undefined
}

/** Throws if a server could not use the pair, for instance because of a broken chain or a key that is too short. */
const takenByTls = (file: string, cert: string, key: string): void => {
  try {
    Tls.createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} cannot be used for TLS: ${why}`, { cause: error })
  }
}

export const make = ({ cert, interval = defaults.interval, key }: Options): Files => {
  let trouble: string | undefined
  const now = Effect.tryPromise({
    try: async () => {
      const [certPem, keyPem] = await Promise.all([Fs.readFile(cert, "utf8"), Fs.readFile(key, "utf8")])
      const certificate = new NodeCrypto.X509Certificate(certPem)
      if (!certificate.checkPrivateKey(NodeCrypto.createPrivateKey(keyPem))) {
        throw new Error(`${cert}: does not match the key in ${key}`)
      }
      takenByTls(cert, certPem, keyPem)
      return { certPem, keyPem, until: certificate.validToDate.getTime() }
    },
    catch: (error) => error instanceof Error ? error.message : String(error)
  }).pipe(
    Effect.tap(() => Metrics.read),
    Effect.tapError(() => Metrics.unreadable)
  )
  const look = now.pipe(
    Effect.tap(() =>
      Effect.sync(() => {
        trouble = undefined
      })
    ),
    Effect.catch((message) =>
      Effect.gen(function*() {
        if (trouble !== message) yield* Effect.logError(`cannot read certificates: ${message}`)
        trouble = message
        return undefined
      })
    )
  )
  const wait = Effect.as(Effect.sleep(interval), undefined)
  return {
    now,
    changes: Stream.concat(Stream.fromEffect(look), Stream.fromEffectRepeat(Effect.andThen(wait, look))).pipe(
      Stream.flatMap((shown) => shown === undefined ? Stream.empty : Stream.succeed(shown)),
      Stream.changesWith((a, b) => a.certPem === b.certPem && a.keyPem === b.keyPem)
    ),
    trouble: () => trouble
  }
}
