/**
 * `Functions`: declares functions, and selects the overload for given values.
 *
 * A function has overloads, each with a signature such as `string.(string, int) bool` (called on a string) or
 * `(list<A>) int`. The checker determines which of them match. If several remain because a type is known only at run
 * time, the values decide. Operators are functions, too, with one implementation for all their overloads.
 *
 * Source: github.com/google/cel-go/common/decls/decls.go.
 */
import * as Types from "./Types.ts"
import {
  Duration,
  Fault,
  fault,
  ListValue,
  MapValue,
  noSuchOverload,
  Timestamp,
  typeName,
  typeOf,
  type Value
} from "./Values.ts"

/** Computes a result; arguments match the signature and are never faults. */
export type Run = (...args: ReadonlyArray<never>) => Value

export interface Overload {
  readonly id: string
  readonly member: boolean
  /** Starts with the target of a member call. */
  readonly params: ReadonlyArray<Types.Type>
  readonly result: Types.Type
  readonly run: Run
}

export interface FunctionDeclaration {
  readonly name: string
  readonly overloads: ReadonlyArray<Overload>
  /** True for a function with one implementation for all overloads, which checks its arguments itself. */
  readonly shared: boolean
  /** Whether the type of the first argument supports the operation; true by default. */
  readonly accepts: (first: Value) => boolean
}

export type Functions = ReadonlyMap<string, FunctionDeclaration>

const names: Map<string, Types.Type> = new Map([
  ["bool", Types.bool],
  ["int", Types.int],
  ["uint", Types.uint],
  ["double", Types.double],
  ["string", Types.string],
  ["bytes", Types.bytes],
  ["duration", Types.duration],
  ["timestamp", Types.timestamp],
  ["dyn", Types.dyn]
])

/** Registers a library's type for use in signatures. */
export const named = (name: string, type: Types.Type): Types.Type => {
  names.set(name, type)
  return type
}

class SignatureReader {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  signature(): { readonly member: boolean; readonly params: ReadonlyArray<Types.Type>; readonly result: Types.Type } {
    const target = this.text[this.at] === "(" ? undefined : this.type()
    if (target !== undefined) this.skip(".")
    const params = target === undefined ? [] : [target]
    this.skip("(")
    while (!this.skips(")")) {
      params.push(this.type())
      this.skips(", ")
    }
    this.skip(" ")
    return { member: target !== undefined, params, result: this.type() }
  }

  private type(): Types.Type {
    const name = /^[A-Za-z]+/.exec(this.text.slice(this.at))![0]
    this.at += name.length
    const params: Array<Types.Type> = []
    if (this.skips("<")) {
      do params.push(this.type())
      while (this.skips(", "))
      this.skip(">")
    }
    switch (name) {
      case "list":
        return Types.list(params[0]!)
      case "map":
        return Types.map(params[0]!, params[1]!)
      case "optional":
        return Types.optional(params[0]!)
      case "type":
        return Types.typeOf(params[0]!)
      default:
        return names.get(name) ?? Types.param(name)
    }
  }

  private skips(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  private skip(text: string): void {
    if (!this.skips(text)) throw new Error(`signature ${this.text}: expected ${text} at ${this.at}`)
  }
}

/** An overload from its signature. */
export const overload = (id: string, signature: string, run: Run): Overload => ({
  id,
  ...new SignatureReader(signature).signature(),
  run
})

/** A function with a separate implementation for each overload. */
export const define = (name: string, ...overloads: ReadonlyArray<Overload>): FunctionDeclaration => ({
  name,
  overloads,
  shared: false,
  accepts: () => true
})

/** A function with one implementation for all overloads. */
export const operator = (
  name: string,
  run: (...args: ReadonlyArray<Value>) => Value,
  signatures: Readonly<Record<string, string>>,
  accepts: (first: Value) => boolean = () => true
): FunctionDeclaration => ({
  name,
  overloads: Object.entries(signatures).map(([id, signature]) => overload(id, signature, run)),
  shared: true,
  accepts
})

/** All functions by name; declarations with the same name are merged. */
export const collect = (...libraries: ReadonlyArray<ReadonlyArray<FunctionDeclaration>>): Functions => {
  const functions = new Map<string, FunctionDeclaration>()
  for (const declaration of libraries.flat()) {
    const known = functions.get(declaration.name)
    functions.set(
      declaration.name,
      known === undefined
        ? declaration
        : { ...known, overloads: [...known.overloads, ...declaration.overloads], shared: false }
    )
  }
  return functions
}

/** True if the value matches the type; for lists and maps the first entry is checked. */
export const fits = (type: Types.Type, value: Value): boolean => {
  switch (type.kind) {
    case "dyn":
    case "param":
      return true
    case "list":
      return value instanceof ListValue && (value.size === 0 || fits(type.params[0]!, value.at(0)))
    case "map": {
      if (!(value instanceof MapValue)) return false
      if (value.size === 0) return true
      const [key] = value.keys()
      return key !== undefined && fits(type.params[0]!, key) && fits(type.params[1]!, value.find(key) ?? null)
    }
    default: {
      const found = typeOf(value)
      return found.kind === type.kind && found.name === type.name
    }
  }
}

const takes = ({ params }: Overload, args: ReadonlyArray<Value>): boolean =>
  params.length === args.length && params.every((type, index) => fits(type, args[index]!))

const refuse = (name: string, args: ReadonlyArray<Value>): Fault =>
  fault(`no such overload: ${name}(${args.map(typeName).join(", ")})`)

const call = (run: Run, args: ReadonlyArray<Value>): Value => (run as (...args: ReadonlyArray<Value>) => Value)(...args)

/** Values that implement operations themselves in Go, and so report an unsupported one differently. */
const isReceiver = (value: Value): boolean =>
  typeof value === "string" || value instanceof Timestamp || value instanceof Duration

/** The implementation of one overload or, if none is determined, of the first that accepts the values. */
export const dispatch = (
  { accepts, name, overloads, shared }: FunctionDeclaration,
  settled: Overload | undefined,
  member: boolean
): (args: ReadonlyArray<Value>) => Value => {
  if (shared) {
    const { run } = overloads[0]!
    return (args) => {
      const [first] = args as readonly [Value, ...ReadonlyArray<Value>]
      if (accepts(first)) return call(run, args)
      return isReceiver(first) ? noSuchOverload : fault(`no such overload: ${name}`)
    }
  }
  if (settled !== undefined) return (args) => takes(settled, args) ? call(settled.run, args) : refuse(name, args)
  const candidates = overloads.filter((candidate) => candidate.member === member)
  return (args) => {
    const found = candidates.find((candidate) => takes(candidate, args))
    return found === undefined ? refuse(name, args) : call(found.run, args)
  }
}

export { noSuchOverload }
