/**
 * `Types`: the static types of expressions, and when one is assignable to another.
 *
 * Types are plain data, compared by kind, name and parameters. `dyn` is assignable to and from everything, and so is a
 * type parameter until it is bound; bindings are kept in a substitution that grows while a call is resolved. `null` is
 * assignable to types whose values may be absent: objects, timestamps, durations, and types of libraries.
 *
 * Source: github.com/google/cel-go/common/types/types.go, checker/types.go and checker/format.go.
 */

export type Kind =
  | "dyn"
  | "any"
  | "error"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "duration"
  | "timestamp"
  | "list"
  | "map"
  | "opaque"
  | "struct"
  | "type"
  | "param"

export interface Type {
  readonly kind: Kind
  /** The name by which an expression refers to the type; for an object, the name of its declaration. */
  readonly name: string
  readonly params: ReadonlyArray<Type>
}

const simple = (kind: Kind, name: string = kind): Type => ({ kind, name, params: [] })

export const dyn = simple("dyn")
export const any = simple("any", "google.protobuf.Any")
export const error = simple("error", "*error*")
export const nullType = simple("null", "null_type")
export const bool = simple("bool")
export const int = simple("int")
export const uint = simple("uint")
export const double = simple("double")
export const string = simple("string")
export const bytes = simple("bytes")
export const duration = simple("duration", "google.protobuf.Duration")
export const timestamp = simple("timestamp", "google.protobuf.Timestamp")
export const typeType = simple("type")

export const list = (item: Type): Type => ({ kind: "list", name: "list", params: [item] })
export const map = (key: Type, value: Type): Type => ({ kind: "map", name: "map", params: [key, value] })
export const opaque = (name: string, ...params: ReadonlyArray<Type>): Type => ({ kind: "opaque", name, params })
export const struct = (name: string): Type => simple("struct", name)
export const param = (name: string): Type => simple("param", name)
export const optional = (value: Type): Type => opaque("optional_type", value)
/** The type of a type: `type(int)`. */
export const typeOf = (type: Type): Type => ({ kind: "type", name: "type", params: [type] })

/** Equality of types, not assignability. */
export const same = (a: Type, b: Type): boolean =>
  a === b || a.kind === b.kind && a.name === b.name && a.params.length === b.params.length &&
    a.params.every((inner, index) => same(inner, b.params[index]!))

export const isDyn = (type: Type): boolean => type.kind === "dyn" || type.kind === "any"
export const isOptional = (type: Type): boolean => type.kind === "opaque" && type.name === "optional_type"
const isDynOrError = (type: Type): boolean => isDyn(type) || type.kind === "error"

/** The type inside an optional; other types unchanged. */
export const unwrapOptional = (type: Type): Type => isOptional(type) ? type.params[0]! : type

/** A type in an error message. */
export const format = (type: Type): string => {
  switch (type.kind) {
    case "any":
    case "duration":
    case "timestamp":
    case "null":
      return type.kind
    case "error":
      return "!error!"
    default:
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(format).join(", ")})`
  }
}

/** The bindings of type parameters. */
export class Substitution {
  private known: Map<string, Type>

  constructor(known: Map<string, Type> = new Map()) {
    this.known = known
  }

  find(type: Type): Type | undefined {
    return type.kind === "param" ? this.known.get(type.name) : undefined
  }

  /**
   * Binds parameters so that all given types are assignable to the wanted ones; if that is impossible, changes nothing.
   */
  assign(given: ReadonlyArray<Type>, wanted: ReadonlyArray<Type>): boolean {
    const trial = new Substitution(new Map(this.known))
    if (!trial.allFit(given, wanted)) return false
    this.known = trial.known
    return true
  }

  /** The type with all bindings applied; unbound parameters become dyn if `open` is false. */
  apply(type: Type, open = true): Type {
    const found = this.find(type)
    if (found !== undefined) return this.apply(found, open)
    if (type.kind === "param") return open ? type : dyn
    return type.params.length === 0
      ? type
      : { ...type, params: type.params.map((inner) => this.apply(inner, open)) }
  }

  private allFit(given: ReadonlyArray<Type>, wanted: ReadonlyArray<Type>): boolean {
    return given.length === wanted.length && given.every((type, index) => this.fits(type, wanted[index]!))
  }

  private fits(a: Type, b: Type): boolean {
    if (b.kind === "param") {
      const outcome = this.bind(a, b)
      if (outcome === "fits") return true
      if (outcome === "clashes") return false
    }
    if (a.kind === "param") return this.bind(b, a) === "fits"
    if (isDynOrError(a) || isDynOrError(b)) return true
    if (a.kind === "null") return nullable(b)
    if (b.kind === "null") return nullable(a)
    switch (a.kind) {
      case "type":
        return b.kind === "type"
      case "opaque":
      case "list":
      case "map":
        return a.kind === b.kind && a.name === b.name && this.allFit(a.params, b.params)
      default:
        return same(a, b)
    }
  }

  /** Binds `parameter` to `type`. `free`: the parameter occurs in the type itself. */
  private bind(type: Type, parameter: Type): "fits" | "clashes" | "free" {
    if (same(type, parameter)) return "fits"
    const found = this.find(parameter)
    if (found === undefined) {
      if (!this.absent(parameter, type)) return "free"
      this.known.set(parameter.name, type)
      return "fits"
    }
    if (same(type, found)) return "fits"
    if (!this.fits(type, found)) return "clashes"
    const general = moreGeneral(type, found) ? type : found
    if (this.absent(parameter, general)) this.known.set(parameter.name, general)
    return "fits"
  }

  private absent(parameter: Type, within: Type): boolean {
    if (same(parameter, within)) return false
    if (within.kind === "param") {
      const found = this.find(within)
      return found === undefined || this.absent(parameter, found)
    }
    return within.params.every((inner) => this.absent(parameter, inner))
  }
}

const nullable = (type: Type): boolean =>
  type.kind === "null" || type.kind === "opaque" || type.kind === "struct" || type.kind === "any" ||
  type.kind === "duration" || type.kind === "timestamp"

/** True if the first type is equal to the second, or more general. */
export const moreGeneral = (a: Type, b: Type): boolean => {
  if (isDyn(a) || a.kind === "param") return true
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false
  switch (a.kind) {
    case "opaque":
      return a.name === b.name && a.params.length === b.params.length &&
        a.params.every((inner, index) => moreGeneral(inner, b.params[index]!))
    case "list":
    case "map":
      return a.params.every((inner, index) => moreGeneral(inner, b.params[index]!))
    case "type":
      return true
    default:
      return same(a, b)
  }
}
