/**
 * `TokenReader`: reads the tokens of an expression one by one, and reports unexpected ones.
 *
 * A single extra token before the expected one, or a single missing token if what follows fits, is reported and skipped
 * over, as in the server's generated parser; anything else ends the parsing. Errors list the expected tokens, in the
 * order of the grammar's vocabulary.
 *
 * Source: github.com/google/cel-go/parser/gen/CEL.g4 and ANTLR's default error strategy.
 */
import type { Token, TokenKind } from "./Lexer.ts"
import * as Source from "./Source.ts"

/** The maximum nesting of expressions. */
const maxDepth = 250

/** Ends the parsing; the reason is among the issues. */
export class Stop extends Error {}

/** Tokens in the order in which errors list them. */
const order: ReadonlyArray<TokenKind> = [
  "EOF",
  "'=='",
  "'!='",
  "'in'",
  "'<'",
  "'<='",
  "'>='",
  "'>'",
  "'&&'",
  "'||'",
  "'['",
  "']'",
  "'{'",
  "'}'",
  "'('",
  "')'",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "':'",
  "'+'",
  "'*'",
  "'/'",
  "'%'",
  "'true'",
  "'false'",
  "'null'",
  "NUM_FLOAT",
  "NUM_INT",
  "NUM_UINT",
  "STRING",
  "BYTES",
  "IDENTIFIER",
  "ESC_IDENTIFIER"
]

export const operand: ReadonlyArray<TokenKind> = [
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  "NUM_FLOAT",
  "NUM_INT",
  "NUM_UINT",
  "STRING",
  "BYTES",
  "IDENTIFIER"
]
/** What may follow an operand: operators and selections. */
export const relations: ReadonlyArray<TokenKind> = ["'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'"]
export const sums: ReadonlyArray<TokenKind> = ["'-'", "'+'"]
export const products: ReadonlyArray<TokenKind> = ["'*'", "'/'", "'%'"]
const after: ReadonlyArray<TokenKind> = [
  ...relations,
  ...sums,
  ...products,
  "'&&'",
  "'||'",
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'?'"
]

export class TokenReader {
  protected readonly tokens: ReadonlyArray<Token>
  readonly issues: Array<Source.Issue>
  protected index = 0
  private depth = 0
  /** The tokens that end each enclosing construct, innermost last. */
  private readonly around: Array<ReadonlyArray<TokenKind>> = [["EOF"]]

  constructor(tokens: ReadonlyArray<Token>, issues: Array<Source.Issue>) {
    this.tokens = tokens
    this.issues = issues
  }

  protected get next(): Token {
    return this.tokens[this.index]!
  }

  protected take(): Token {
    return this.tokens[this.index++]!
  }

  protected taken(kind: TokenKind): Token | undefined {
    return this.next.kind === kind ? this.take() : undefined
  }

  /**
   * Takes the required token. If there is an extra token before it, or it is missing but the rest fits, that is
   * reported and parsing goes on.
   */
  protected need(kind: TokenKind, following: ReadonlyArray<TokenKind>): Token {
    const token = this.taken(kind)
    if (token !== undefined) return token
    if (this.tokens[this.index + 1]?.kind === kind) {
      this.tell(`extraneous input '${this.next.text}' expecting ${this.listed([kind])}`)
      this.take()
      return this.take()
    }
    if (!following.includes(this.next.kind)) return this.mismatch([kind])
    this.tell(`missing ${kind} at '${this.next.text}'`)
    return { kind, text: "", at: this.next.at }
  }

  /** Reports a token that cannot start anything here; a single extra token is skipped. */
  protected expect(kinds: ReadonlyArray<TokenKind>): void {
    if (kinds.includes(this.next.kind)) return
    const second = this.tokens[this.index + 1]
    if (second === undefined || !kinds.includes(second.kind)) this.mismatch(kinds)
    this.tell(`extraneous input '${this.next.text}' expecting ${this.listed(kinds)}`)
    this.take()
  }

  /** What may follow a closing bracket: an operator, or the end of the enclosing construct. */
  protected get closed(): ReadonlyArray<TokenKind> {
    return [...after, ...this.around[this.around.length - 1]!]
  }

  /** Parses the inside of a construct that ends with one of the tokens. */
  protected inside<A>(ends: ReadonlyArray<TokenKind>, read: () => A): A {
    this.around.push(ends)
    const result = read()
    this.around.pop()
    return result
  }

  protected tell(message: string): void {
    this.issues.push({ at: this.next.at, message: `Syntax error: ${message}` })
  }

  protected stop(message: string): never {
    this.tell(message)
    throw new Stop()
  }

  protected listed(kinds: ReadonlyArray<TokenKind>): string {
    const unique = order.filter((kind) => kinds.includes(kind)).map((kind) => kind === "EOF" ? "<EOF>" : kind)
    return unique.length === 1 ? unique[0]! : `{${unique.join(", ")}}`
  }

  protected mismatch(kinds: ReadonlyArray<TokenKind>): never {
    return this.stop(`mismatched input '${this.next.text}' expecting ${this.listed(kinds)}`)
  }

  protected nested<A>(read: () => A): A {
    if (++this.depth > maxDepth) {
      this.issues.push({ at: Source.nowhere, message: `expression recursion limit exceeded: ${maxDepth}` })
      throw new Stop()
    }
    const result = read()
    this.depth--
    return result
  }
}
