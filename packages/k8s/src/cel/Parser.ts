/**
 * `Parser`: parses an expression from its tokens.
 *
 * A recursive descent parser with one function per grammar rule, which expands macros where they are called. It stops
 * at the first syntax error, and reports it with the expected tokens. All other errors (reserved names, numbers out of
 * range, misused macros) are reported.
 *
 * Source: github.com/google/cel-go/parser/parser.go and gen/CEL.g4. The server's generated parser recovers from more
 * syntax errors, and may report several.
 */
import * as Ast from "./Ast.ts"
import { lex, type Token, type TokenKind } from "./Lexer.ts"
import { unquote } from "./Literals.ts"
import * as Macros from "./Macros.ts"
import * as Source from "./Source.ts"
import { operand, products, relations, Stop, sums, TokenReader } from "./TokenReader.ts"
import { Uint, type Value } from "./Values.ts"

/** The maximum length of an expression in code points. */
const maxSize = 100_000

/** An expression, or the errors in its text. */
export type Parsed =
  | { readonly _tag: "Expression"; readonly source: Source.Source; readonly expr: Ast.Expr }
  | { readonly _tag: "Refused"; readonly source: Source.Source; readonly issues: ReadonlyArray<Source.Issue> }

/** `binds`: whether `cel.bind` is allowed. */
export const parse = (text: string, binds = false): Parsed => {
  const source = Source.make(text)
  const size = source.chars.length
  if (size > maxSize) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${maxSize}`
    return { _tag: "Refused", source, issues: [{ at: Source.nowhere, message }] }
  }
  const { issues, tokens } = lex(source)
  const parser = new Parser(tokens, [...issues], binds)
  const expr = parser.run()
  return expr === undefined || parser.issues.length > 0
    ? { _tag: "Refused", source, issues: parser.issues }
    : { _tag: "Expression", source, expr }
}

const reserved = new Set([
  "as",
  "break",
  "const",
  "continue",
  "else",
  "false",
  "for",
  "function",
  "if",
  "import",
  "in",
  "let",
  "loop",
  "package",
  "namespace",
  "null",
  "return",
  "true",
  "var",
  "void",
  "while"
])

const functions: Partial<Record<TokenKind, string>> = {
  "'=='": "_==_",
  "'!='": "_!=_",
  "'in'": "@in",
  "'<'": "_<_",
  "'<='": "_<=_",
  "'>='": "_>=_",
  "'>'": "_>_",
  "'-'": "_-_",
  "'+'": "_+_",
  "'*'": "_*_",
  "'/'": "_/_",
  "'%'": "_%_"
}

const minInt = -(2n ** 63n)
const maxInt = 2n ** 63n - 1n
const maxUint = 2n ** 64n - 1n

const isNumber = ({ kind }: Token): boolean => kind === "NUM_INT" || kind === "NUM_FLOAT"

class Parser extends TokenReader {
  private readonly binds: boolean

  constructor(tokens: ReadonlyArray<Token>, issues: Array<Source.Issue>, binds: boolean) {
    super(tokens, issues)
    this.binds = binds
  }

  run(): Ast.Expr | undefined {
    try {
      const expr = this.expr()
      this.need("EOF", [])
      return expr
    } catch (error) {
      if (error instanceof Stop) return undefined
      throw error
    }
  }

  private complain(at: number, message: string): Ast.Expr {
    this.issues.push({ at, message })
    return Ast.literal(at, null)
  }

  private expr(): Ast.Expr {
    return this.nested(() => {
      const condition = this.or()
      const question = this.taken("'?'")
      if (question === undefined) return condition
      const whenTrue = this.inside(["':'"], () => this.or())
      this.need("':'", operand)
      return Ast.call(question.at, "_?_:_", condition, whenTrue, this.expr())
    })
  }

  private or(): Ast.Expr {
    return this.joined("'||'", "_||_", () => this.joined("'&&'", "_&&_", () => this.relation()))
  }

  /** Terms joined by equal operators; many of them form a balanced tree. */
  private joined(sign: TokenKind, name: string, term: () => Ast.Expr): Ast.Expr {
    const terms = [term()]
    const places: Array<number> = []
    for (let token = this.taken(sign); token !== undefined; token = this.taken(sign)) {
      places.push(token.at)
      terms.push(term())
    }
    const balanced = (low: number, high: number): Ast.Expr => {
      const middle = Math.floor((low + high + 1) / 2)
      const left = middle === low ? terms[middle]! : balanced(low, middle - 1)
      const right = middle === high ? terms[middle + 1]! : balanced(middle + 1, high)
      return Ast.call(places[middle]!, name, left, right)
    }
    return places.length === 0 ? terms[0]! : balanced(0, places.length - 1)
  }

  private leftwards(signs: ReadonlyArray<TokenKind>, term: () => Ast.Expr): Ast.Expr {
    let left = term()
    while (signs.includes(this.next.kind)) {
      const sign = this.take()
      left = Ast.call(sign.at, functions[sign.kind]!, left, term())
    }
    return left
  }

  private relation(): Ast.Expr {
    return this.leftwards(relations, () => this.leftwards(sums, () => this.leftwards(products, () => this.unary())))
  }

  private unary(): Ast.Expr {
    this.expect(operand)
    const kind = this.next.kind
    if (kind !== "'!'" && kind !== "'-'") return this.member()
    const first = this.next
    let count = 0
    while (this.next.kind === kind) {
      // The last minus before a number belongs to the number.
      if (kind === "'-'" && count === 0 && isNumber(this.tokens[this.index + 1]!)) return this.member()
      this.take()
      count++
    }
    const target = this.member()
    return count % 2 === 0 ? target : Ast.call(first.at, kind === "'!'" ? "!_" : "-_", target)
  }

  private member(): Ast.Expr {
    let target = this.primary()
    for (;;) {
      const token = this.next
      if (token.kind === "'.'") target = this.selection(target)
      else if (token.kind === "'['") target = this.index_(target)
      else return target
    }
  }

  private selection(target: Ast.Expr): Ast.Expr {
    const dot = this.take()
    const optional = this.taken("'?'") !== undefined
    const name = this.taken("IDENTIFIER") ?? this.taken("ESC_IDENTIFIER")
    if (name === undefined) return this.unnamed(target, optional)
    const open = name.kind === "IDENTIFIER" && !optional ? this.taken("'('") : undefined
    if (open !== undefined) return this.memberCall(open.at, target, name.text)
    if (name.kind === "ESC_IDENTIFIER") this.complain(name.at, "unsupported syntax: '`'")
    return optional
      ? Ast.call(dot.at, "_?._", target, Ast.literal(name.at, name.text))
      : Ast.select(dot.at, target, name.text)
  }

  /** A selection without a name after its dot is dropped if the rest can be parsed without it. */
  private unnamed(target: Ast.Expr, optional: boolean): Ast.Expr {
    const { at, kind, text } = this.next
    if (optional) {
      this.tell(`mismatched input '${text}' expecting ${this.listed(["IDENTIFIER", "ESC_IDENTIFIER"])}`)
      this.issues.push({ at, message: "unsupported ident kind" })
      throw new Stop()
    }
    if (kind === "'true'" || kind === "'false'" || kind === "'null'") {
      return this.stop(`mismatched input '${text}' expecting IDENTIFIER`)
    }
    this.tell(`no viable alternative at input '.${kind === "EOF" ? "" : text}'`)
    if (kind === "'.'" || !this.closed.includes(kind)) throw new Stop()
    return target
  }

  private memberCall(at: number, target: Ast.Expr, name: string): Ast.Expr {
    const args = this.args()
    return this.expanded(at, target, name, args) ?? Ast.memberCall(at, target, name, ...args)
  }

  private expanded(
    at: number,
    target: Ast.Expr | undefined,
    name: string,
    args: ReadonlyArray<Ast.Expr>
  ): Ast.Expr | undefined {
    const macro = Macros.find(name, args.length, target, this.binds)
    if (macro === undefined) return undefined
    const made = macro(at, target, args)
    return "fault" in made ? this.complain(made.at, made.fault) : made
  }

  private args(): ReadonlyArray<Ast.Expr> {
    this.expect([...operand, "')'"])
    if (this.taken("')'") !== undefined) return []
    const args = this.inside(["','", "')'"], () => {
      const items = [this.expr()]
      while (this.taken("','") !== undefined) items.push(this.expr())
      return items
    })
    this.need("')'", this.closed)
    return args
  }

  private index_(target: Ast.Expr): Ast.Expr {
    const open = this.take()
    const optional = this.taken("'?'") !== undefined
    if (!optional) this.expect([...operand, "'?'"])
    const index = this.inside(["']'"], () => this.expr())
    this.need("']'", this.closed)
    return Ast.call(open.at, optional ? "_[?_]" : "_[_]", target, index)
  }

  private primary(): Ast.Expr {
    const token = this.next
    switch (token.kind) {
      case "'('": {
        this.take()
        const inner = this.inside(["')'"], () => this.expr())
        this.need("')'", this.closed)
        return inner
      }
      case "'['":
        return this.list()
      case "'{'":
        return this.map()
      case "'.'":
      case "IDENTIFIER":
        return this.named()
      default:
        return this.literal()
    }
  }

  private named(): Ast.Expr {
    const start = this.next
    const leading = this.taken("'.'") === undefined ? "" : "."
    const struct = this.structName()
    if (struct !== undefined) return this.struct(leading + struct)
    const name = this.need("IDENTIFIER", [])
    const open = this.taken("'('")
    if (reserved.has(name.text)) {
      if (open !== undefined) this.args()
      return this.complain(start.at, `reserved identifier: ${name.text}`)
    }
    if (open === undefined) return Ast.ident(name.at, leading + name.text)
    const args = this.args()
    return this.expanded(open.at, undefined, leading + name.text, args) ??
      Ast.call(open.at, leading + name.text, ...args)
  }

  /** `a.b.C` if followed by a brace. */
  private structName(): string | undefined {
    let index = this.index
    const names: Array<string> = []
    for (;;) {
      const token = this.tokens[index]
      if (token?.kind !== "IDENTIFIER") return undefined
      names.push(token.text)
      const following = this.tokens[index + 1]?.kind
      if (following === "'{'") {
        this.index = index + 1
        return names.join(".")
      }
      if (following !== "'.'") return undefined
      index += 2
    }
  }

  private struct(type: string): Ast.Expr {
    const open = this.take()
    const names: ReadonlyArray<TokenKind> = ["IDENTIFIER", "ESC_IDENTIFIER"]
    const fields = this.entries<Ast.StructField>("'}'", ["'?'", ...names], () => {
      const optional = this.taken("'?'") !== undefined
      const name = this.taken("IDENTIFIER") ?? this.taken("ESC_IDENTIFIER") ?? this.mismatch(names)
      const colon = this.need("':'", operand)
      return { at: colon.at, name: name.text, value: this.expr(), optional }
    })
    return { kind: "struct", at: open.at, type, fields }
  }

  private list(): Ast.Expr {
    const open = this.take()
    const optional = new Set<number>()
    const items = this.entries<Ast.Expr>("']'", ["'?'", ...operand], (index) => {
      if (this.taken("'?'") !== undefined) optional.add(index)
      return this.expr()
    })
    return Ast.list(open.at, items, optional)
  }

  private map(): Ast.Expr {
    const open = this.take()
    const entries = this.entries<Ast.MapEntry>("'}'", ["'?'", ...operand], () => {
      const optional = this.taken("'?'") !== undefined
      const key = this.inside(["':'"], () => this.expr())
      const colon = this.need("':'", operand)
      return { at: colon.at, key, value: this.expr(), optional }
    })
    return Ast.map(open.at, entries)
  }

  /** Comma-separated entries between brackets; a comma may follow the last entry, or stand alone. */
  private entries<A>(close: TokenKind, first: ReadonlyArray<TokenKind>, read: (index: number) => A): ReadonlyArray<A> {
    this.expect([close, "','", ...first])
    const entries: Array<A> = []
    if (this.next.kind !== close && this.next.kind !== "','") {
      this.inside([close, "','"], () => {
        do entries.push(read(entries.length))
        while (
          this.next.kind === "','" && first.includes(this.tokens[this.index + 1]!.kind) && this.take() !== undefined
        )
      })
      this.expect([close, "','"])
    }
    this.taken("','")
    this.need(close, this.closed)
    return entries
  }

  private literal(): Ast.Expr {
    const start = this.next
    const minus = start.kind === "'-'" && isNumber(this.tokens[this.index + 1]!) ? this.take().text : ""
    const { kind, text } = this.next
    const made = (value: Value | undefined, what: string): Ast.Expr => {
      this.take()
      return value === undefined ? this.complain(start.at, `invalid ${what} literal`) : Ast.literal(start.at, value)
    }
    switch (kind) {
      case "NUM_INT": {
        const value = minus === "" ? BigInt(text) : -BigInt(text)
        return made(value < minInt || value > maxInt ? undefined : value, "int")
      }
      case "NUM_UINT": {
        const value = BigInt(text.slice(0, -1))
        return made(value > maxUint ? undefined : new Uint(value), "uint")
      }
      case "NUM_FLOAT": {
        const value = Number(minus + text)
        return made(Number.isFinite(value) ? value : undefined, "double")
      }
      case "STRING":
      case "BYTES": {
        this.take()
        const read = unquote(text)
        return "fault" in read ? this.complain(start.at, read.fault) : Ast.literal(start.at, read.value)
      }
      case "'true'":
      case "'false'":
        return made(kind === "'true'", "bool")
      case "'null'":
        return made(null, "null")
      default:
        return this.mismatch(operand)
    }
  }
}
