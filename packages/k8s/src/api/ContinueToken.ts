/**
 * `ContinueToken`: the position in a list from which the next page continues, as clients pass it from page to page.
 *
 * Clients should treat it as opaque, but some do not, and the server reports in detail what is wrong with a made-up
 * token.
 *
 * Source: k8s.io/apiserver/pkg/storage/continue.go.
 */
import * as Result from "effect/Result"
import * as GoBase64 from "../schema/GoBase64.ts"
import * as GoFault from "../schema/GoFault.ts"
import * as GoInt64 from "../schema/GoInt64.ts"
import * as GoJsonSyntax from "../schema/GoJsonSyntax.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { jsonType } from "./Negotiation.ts"
import * as StatusError from "./StatusError.ts"

/** The position of a page: the revision of all pages, and the first key that may be on it, relative to the list. */
export interface Position {
  readonly revision: number
  readonly start: string
}

/** The position after a key. The watch cache, which serves lists, puts a slash before the key; it is optional. */
export const after = (revision: number, key: string): Position => ({ revision, start: `/${key}\u0000` })

export const encode = ({ revision, start }: Position): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start })).toString("base64url")

interface Token {
  readonly v: string
  readonly rv: number
  readonly start: string
}

const nothing: Token = { v: "", rv: 0, start: "" }

const text = { type: "string" } as const
const types = { v: text, rv: { type: "integer", format: "int64" }, start: text } as const

const fits = (value: unknown, { type }: { readonly type: "string" | "integer" }): boolean =>
  type === "string" ? typeof value === "string" : GoInt64.is(value)

/** The token in a JSON text, with the fields of Go's struct; null leaves a field empty. */
const read = (bytes: Uint8Array): Result.Result<Token, string> => {
  const malformed = GoJsonSyntax.fault(bytes)
  if (malformed !== undefined) return Result.fail(malformed)
  const value: unknown = JSON.parse(GoInt64.readable(Buffer.from(bytes).toString("utf8")))
  if (value === null) return Result.succeed(nothing)
  if (!JsonValue.isObject(value)) {
    return Result.fail(`json: cannot unmarshal ${jsonType(value)} into Go value of type storage.continueToken`)
  }
  const told = Object.entries(value).filter(([key, field]) => Object.hasOwn(types, key) && field !== null)
  for (const [key, field] of told) {
    const type = types[key as keyof Token]
    if (!fits(field, type)) return Result.fail(GoFault.wrong(field, type, `.${key}`, "continueToken").message)
  }
  return Result.succeed({ ...nothing, ...Object.fromEntries(told) })
}

/** Whether `path.Clean` would leave a key that starts with a slash unchanged: it must not lead out of the list. */
const isClean = (key: string): boolean =>
  key === "/" || key.slice(1).split("/").every((segment) => !["", ".", ".."].includes(segment))

const position = ({ rv, start, v }: Token): Result.Result<Position, string> => {
  if (v !== "meta.k8s.io/v1") return Result.fail(`: server does not recognize this encoded version ${v}`)
  if (rv === 0) return Result.fail(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  if (start === "") return Result.fail(": encoded start key empty (version meta.k8s.io/v1)")
  const key = start.startsWith("/") ? start : `/${start}`
  return isClean(key) ? Result.succeed({ revision: rv, start: key.slice(1) }) : Result.fail(`: ${start}`)
}

/** The position in a token, or 400. */
export const decode = (token: string): Result.Result<Position, StatusError.StatusError> =>
  GoBase64.decodeRawUrl(token).pipe(
    Result.flatMap(read),
    Result.mapError((said) => `: ${said}`),
    Result.flatMap(position),
    Result.mapError((said) => StatusError.badRequest(`invalid continue token: continue key is not valid${said}`))
  )
