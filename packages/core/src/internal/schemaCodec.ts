/**
 * Converts between JSON and the type of a Schema, keeping what the Schema does not know. Total: what a transformation
 * throws is an issue of the value.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import type { Invalid } from "../Resource.ts"
import { isObject as isRecord } from "./jsonMerge.ts"
import { total } from "./total.ts"

/** A Schema without services. */
type AnySchema = Schema.Codec<any, any, never, never>

type JsonObject = Readonly<Record<string, unknown>>

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

/** `spec.ports[0].name: Expected string, got 5`, one line per issue. */
const invalid = (path: string) => (issue: SchemaIssue.Issue): Invalid => ({
  issues: formatIssues(issue).issues.map((issue) => {
    const field = (issue.path ?? []).reduce<string>((field, segment) => {
      const key = typeof segment === "object" ? segment.key : segment
      return typeof key === "number" ? `${field}[${key}]` : `${field}.${String(key)}`
    }, path)
    return `${field}: ${issue.message.replaceAll("\n", " ")}`
  })
})

type Step = (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>

type Way = (value: unknown) => Result.Result<unknown, Invalid>

/** Both directions of one Schema between JSON and its type, keeping what the Schema does not know. */
export interface SchemaCodec {
  readonly decode: Way
  readonly encode: Way
  /** Encodes the parts of a value that are present: any key may be missing, at any depth. Only types are checked. */
  readonly encodeFields: Way
}

/** The codec of a Schema. `path` is the beginning of the path of each issue; without `checks` only types count. */
export const make = (declared: AnySchema, path: string, checks: boolean): SchemaCodec => {
  // Stored values are JSON: a date is text there, whether or not the Schema says so.
  const schema = Schema.toCodecJson(declared)
  const options: SchemaAST.ParseOptions = { disableChecks: !checks }
  const all: SchemaAST.ParseOptions = { ...options, errors: "all" }
  const decode = thorough(Schema.decodeUnknownResult(schema, options), Schema.decodeUnknownResult(schema, all))
  const encodeExact = step(Schema.encodeUnknownResult(schema, options))
  // Encoding requires instances where the Schema has classes. A plain object is made into one, and then has no more
  // issues than an instance.
  const encode: Step = (value) =>
    Result.orElse(encodeExact(value), () =>
      Result.flatMap(
        Effect.runSync(Effect.result(declared.makeEffect(value, { parseOptions: all, disableChecks: !checks }))),
        step(Schema.encodeUnknownResult(schema, all))
      ))
  if (isJson(schema.ast)) {
    const same = (step: Step) => safely(path, (value) => Result.map(step(value), () => value))
    const encodeSame = same(encode)
    return {
      decode: same(decode),
      encode: (value) => encodeSame(withoutUndefined(value)),
      encodeFields: Result.succeed
    }
  }
  const through = (there: Step, back: Step) =>
    safely(
      path,
      (value) =>
        Result.flatMap(there(value), (result) => Result.map(back(result), (known) => carry(value, known, result)))
    )
  const encodeDefined: Step = (value) => encode(withoutUndefined(value))
  const fields = Schema.make<AnySchema>(partial(schema.ast))
  const unchecked: SchemaAST.ParseOptions = { errors: "all", disableChecks: true }
  const encodeFields = through(
    step(Schema.encodeUnknownResult(fields, unchecked)),
    step(Schema.decodeUnknownResult(fields, unchecked))
  )
  return {
    decode: through(decode, encodeDefined),
    encode: through(encodeDefined, decode),
    encodeFields: (value) => encodeFields(withoutUndefined(value))
  }
}

type Parse = (value: unknown) => Result.Result<unknown, Schema.SchemaError>

const step = (parse: Parse): Step => (value) => Result.mapError(parse(value), ({ issue }) => issue)

/** Collecting all issues takes several times as long as finding that there are none. */
const thorough = (first: Parse, all: Parse): Step => (value) => Result.orElse(first(value), () => step(all)(value))

const safely = (path: string, run: Step): Way => {
  const faults = invalid(path)
  return (value) =>
    total(
      () => Result.mapError(run(value), faults),
      (thrown) =>
        `${path}: the Schema threw ${thrown}: let its transformation fail with an issue ` +
        "(SchemaTransformation.transformEffect)"
    )
}

/** Whether values are the very JSON that is stored: then what the Schema accepts passes through unchanged. */
const isJson = (ast: SchemaAST.AST): boolean => {
  // Encoding Unknown only checks that it is JSON.
  if (SchemaAST.isUnknown(ast)) return true
  if (ast.encoding !== undefined) return false
  switch (ast._tag) {
    case "Objects":
      return ast.propertySignatures.every(({ type }) => isJson(type)) &&
        ast.indexSignatures.every(({ parameter, type }) => isJson(parameter) && isJson(type))
    case "Arrays":
      return ast.elements.every(isJson) && ast.rest.every(isJson)
    case "Union":
      return ast.types.every(isJson)
    default:
      return !SchemaAST.isDeclaration(ast) && !SchemaAST.isSuspend(ast)
  }
}

/** The Schema with every key optional, at any depth. Lists stay whole: their items have no names. */
const partial = (ast: SchemaAST.AST): SchemaAST.AST => {
  const encoding = ast.encoding?.map((link) => new SchemaAST.Link(partial(link.to), link.transformation)) as
    | SchemaAST.Encoding
    | undefined
  switch (ast._tag) {
    case "Objects":
      return new SchemaAST.Objects(
        ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, optional(partial(type)))),
        ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, partial(type))),
        ast.annotations,
        undefined,
        encoding,
        ast.context
      )
    case "Union": {
      const some = ast.types.map(partial).filter((type, i) => type !== ast.types[i])
      return some.length === 0 ? ast : either([...ast.types, ...some], ast.context, encoding)
    }
    case "Declaration":
      // A class has no instances with only some of its fields.
      return encoding?.length === 1 ? either([ast, encoding[0].to], ast.context) : ast
    default:
      return ast
  }
}

const either = (
  types: ReadonlyArray<SchemaAST.AST>,
  context: SchemaAST.Context | undefined,
  encoding?: SchemaAST.Encoding
) => new SchemaAST.Union(types, undefined, undefined, undefined, encoding, context)

const optional = (ast: SchemaAST.AST): SchemaAST.AST => Schema.optionalKey(Schema.make<AnySchema>(ast)).ast

/** A key that holds undefined counts as absent: in JSON it would be null, which means something else to a server. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.map(withoutUndefined)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).map(([key, field]) => [key, withoutUndefined(field)] as const)
  return entries.some(([key, field]) => field === undefined || field !== value[key])
    ? Object.fromEntries(entries.filter(([, field]) => field !== undefined))
    : value
}

/**
 * Adds to `into` what `full` has and `known` lacks. `known` is `full` after a round trip through the Schema, `into`
 * what the Schema made of it: the difference of the first two is what the Schema ignored.
 */
const carry = (full: unknown, known: unknown, into: unknown): unknown => {
  if (Array.isArray(full)) {
    if (!Array.isArray(known) || !Array.isArray(into) || known.length !== full.length || into.length !== full.length) {
      return into
    }
    const items = full.map((item, i) => carry(item, known[i], into[i]))
    return items.some((item, i) => item !== into[i]) ? items : into
  }
  if (!isRecord(full) || !isRecord(known) || !isRecord(into)) return into
  const changes = new Map<string, unknown>()
  for (const key of Object.keys(full)) {
    if (Object.hasOwn(known, key)) {
      const there = counterpart(key, known, into)
      if (there === undefined) continue
      const value = carry(full[key], known[key], into[there])
      if (value !== into[there]) changes.set(there, value)
    } else if (!Object.hasOwn(into, key) && full[key] !== undefined) changes.set(key, full[key])
  }
  if (changes.size === 0) return into
  const result = Object.create(Object.getPrototypeOf(into) as object | null) as object
  // Assignment would set the prototype for a field named __proto__.
  const set = (key: string, value: unknown) =>
    Object.defineProperty(result, key, { value, writable: true, enumerable: true, configurable: true })
  for (const key of Object.keys(into)) set(key, into[key])
  for (const [key, value] of changes) set(key, value)
  return result
}

/**
 * The key in `into` for `key` of `known`: the same key, or, as renaming keeps the order, the one at the same position.
 */
const counterpart = (key: string, known: JsonObject, into: JsonObject): string | undefined => {
  if (Object.hasOwn(into, key)) return key
  const [keys, renamed] = [Object.keys(known), Object.keys(into)]
  const there = keys.length === renamed.length ? renamed[keys.indexOf(key)] : undefined
  return there === undefined || Object.hasOwn(known, there) ? undefined : there
}
