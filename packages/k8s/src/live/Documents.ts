/**
 * `Documents`: parses the bytes of a line of a watch, or of a page of a list, without the fields that are not needed.
 *
 * The result is that of `JSON.parse`, without the fields that a request excludes (see `JsonBytes`), and with equal
 * strings shared between objects (see `Interning`). Bytes that the scanner, or the parser after it, cannot handle are
 * parsed unchanged. If a request allows it, objects stay unparsed text (see `Heads`). The next page of a list is known
 * before the objects of the current one are parsed: see `Transport.Reading`.
 */
import type { Reading } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import type { Buffer } from "node:buffer"
import * as Heads from "./Heads.ts"
import { intern } from "./Interning.ts"
import { Cutter, fields } from "./JsonBytes.ts"

/** Parses the document between two positions. Throws if it is not JSON. */
export type Read = (bytes: Buffer, from: number, to: number) => unknown

/** Parses everything. */
export const whole: Read = (bytes, from, to) => JSON.parse(bytes.toString("utf8", from, to))

/** Parses lines of a watch. */
export const line = (reading: Reading | undefined): Read => {
  if (reading === undefined) return whole
  const cutter = new Cutter(fields(reading.without.map((path) => `object.${path}`)))
  const parsed: Read = (bytes, from, to) => parse(cutter.cut(bytes, from, to)) ?? interned(whole(bytes, from, to))
  if (reading.lazily !== true) return parsed
  const lazily = Heads.line()
  return (bytes, from, to) => lazily(bytes, from, to) ?? parsed(bytes, from, to)
}

/** Parses a page of a list; fails with `refused` if it is not JSON. */
export const page = <E>(reading: Reading, bytes: Buffer, refused: () => E): Effect.Effect<unknown, E> =>
  Effect.suspend(() => {
    if (reading.lazily === true) {
      const found = Heads.page(bytes)
      if (found !== undefined) return Effect.as(follow(reading, tokenIn(found)), found)
    }
    const cutter = new Cutter(fields(reading.without.map((path) => `items.*.${path}`)), "metadata")
    const text = cutter.cut(bytes)
    const asked = reading.onContinue === undefined ? Effect.void : follow(reading, tokenOf(cutter.found))
    const read = Effect.try({
      try: () => parse(text) ?? interned(whole(bytes, 0, bytes.length)),
      catch: refused
    })
    return Effect.andThen(asked, read)
  })

/** An object or list; undefined if the text is neither. */
const parse = (text: string | undefined): unknown => {
  if (text === undefined) return undefined
  try {
    return interned(JSON.parse(text))
  } catch {
    return undefined
  }
}

const interned = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null) intern(value)
  return value
}

const follow = ({ onContinue }: Reading, token: string | undefined): Effect.Effect<void> =>
  token === undefined || onContinue === undefined ? Effect.void : onContinue(token)

const tokenOf = (metadata: string | undefined): string | undefined => tokenIn({ metadata: parse(metadata) })

const tokenIn = (list: object): string | undefined => {
  const { metadata } = list as { readonly metadata?: { readonly continue?: unknown } | undefined }
  const token = metadata?.continue
  return typeof token === "string" && token !== "" ? token : undefined
}
