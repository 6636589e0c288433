/**
 * `Defaults`: the default that decoding fills in for a missing field.
 *
 * A Schema declares it with `withDecodingDefaultKey` and similar combinators, as an Effect. The definition needs its
 * value. So an object without the field is decoded, and the new field is encoded again: server and decoder then fill in
 * the same value, nested defaults included. A default that is not always the same cannot be part of a definition.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"
import type { Report } from "./Leaves.ts"

type Json = NonNullable<JSONSchemaProps["default"]>

type Codec = Schema.Codec<unknown, unknown, never, never>

const codec = (ast: SchemaAST.AST): Codec => Schema.make<Codec>(ast)

/** The default of a field; undefined if it has none. */
export const of = (signature: SchemaAST.PropertySignature, path: string, report: Report): Json | undefined => {
  if (signature.type.encoding === undefined) return undefined
  try {
    const first = filled(signature)
    if (first === undefined) return undefined
    if (JSON.stringify(first) === JSON.stringify(filled(signature))) return first
    report(path, "a default that varies has no structural form: let the reconciler or a webhook choose the value")
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    report(path, `the default must be a constant (${why}): use Effect.succeed or Effect.sync`)
  }
  return undefined
}

const filled = (signature: SchemaAST.PropertySignature): Json | undefined => {
  const alone = codec(new SchemaAST.Objects([signature], []))
  const decoded = Schema.decodeResult(alone)({})
  if (Result.isFailure(decoded)) return undefined
  const value = decoded.success as Readonly<Record<PropertyKey, unknown>>
  if (!Object.hasOwn(value, signature.name) || value[signature.name] === undefined) return undefined
  const encoded = Schema.encodeUnknownResult(alone)(value)
  if (Result.isSuccess(encoded)) {
    const json = encoded.success as Readonly<Record<PropertyKey, unknown>>
    if (Object.hasOwn(json, signature.name)) return json[signature.name] as Json
  }
  // `encodingStrategy: "omit"` removes the field again, but its inner type can still encode the value.
  const inner = signature.type.encoding!.at(-1)!.to
  const written = Schema.encodeUnknownResult(codec(inner))(value[signature.name])
  return Result.isSuccess(written) && isJson(written.success) ? written.success : undefined
}

const isJson = (value: unknown): value is Json =>
  value !== undefined && JSON.stringify(JSON.parse(JSON.stringify(value) ?? "null")) === JSON.stringify(value)
