/**
 * `CertificateFiles`: certificates that somebody else keeps, in files of a mounted volume.
 *
 * They are looked at every ten seconds, as in controller-runtime's certwatcher, and taken into use when both are there,
 * belong together, and are what TLS takes: while a volume is being written the old ones stay. Every look is counted, and
 * what is wrong is logged when it comes up.
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
  /** Files in PEM. */
  readonly cert: string
  readonly key: string
  /** Between two looks. */
  readonly interval?: Duration.Input | undefined
}

/** Certificates that can be used. */
export interface Read extends Certificate {
  /** Until when they hold, in milliseconds since 1970. */
  readonly until: number
}

export interface Files {
  /** What the files hold now, or why it cannot be used. */
  readonly now: Effect.Effect<Read, string>
  /** The certificates from the first that can be used on. Endless. */
  readonly changes: Stream.Stream<Read>
  readonly trouble: () => string | undefined
}

/** Throws where a server could not show this: a chain that is broken, a key that is too short. */
const takenByTls = (file: string, cert: string, key: string): void => {
  try {
    Tls.createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} cannot be shown: ${why}`, { cause: error })
  }
}

export const make = ({ cert, interval = defaults.interval, key }: Options): Files => {
  let trouble: string | undefined
  const now = Effect.tryPromise({
    try: async () => {
      const [certPem, keyPem] = await Promise.all([Fs.readFile(cert, "utf8"), Fs.readFile(key, "utf8")])
      const certificate = new NodeCrypto.X509Certificate(certPem)
      if (!certificate.checkPrivateKey(NodeCrypto.createPrivateKey(keyPem))) {
        throw new Error(`${cert} and ${key} do not belong together`)
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
        if (trouble !== message) yield* Effect.logError(`certificates cannot be read: ${message}`)
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
