/**
 * `GoRegExp`: translates Go's regular expressions (RE2) to JavaScript's.
 *
 * Go evaluates the `pattern` of a CRD. The two languages agree on most patterns; the differences are rewritten: `\A`,
 * `\z`, `\Q…\E`, `[[:alpha:]]`, names of groups, `\pL`, `\x{10FFFF}`, flags such as `(?i)`, `\s` and `.`, repeated
 * assertions, and characters that JavaScript requires to be escaped. What RE2 does not support (look-around, back
 * references) is refused, as in Go.
 */
import * as Result from "effect/Result"

/** A pattern as JavaScript reads it. */
export interface Translated {
  readonly regExp: RegExp
  /**
   * How many steps, as a power of 2, JavaScript may need to find that a text of this length does not match; infinite if
   * JavaScript is unreliable for the pattern.
   */
  readonly effort: (length: number) => number
}

const cache = new Map<string, Result.Result<Translated, string>>()

/** The translated pattern, or Go's error. */
export const translated = (pattern: string): Result.Result<Translated, string> => {
  const known = cache.get(pattern)
  if (known !== undefined) return known
  const made = translate(pattern)
  cache.set(pattern, made)
  return made
}

/** The regular expression, or Go's error. To match untrusted text use `GoMatch`. */
export const compile = (pattern: string): Result.Result<RegExp, string> =>
  Result.map(translated(pattern), ({ regExp }) => regExp)

const translate = (pattern: string): Result.Result<Translated, string> => {
  // Flags for the whole pattern, the usual case, need no modifier groups, which older JavaScript engines lack.
  const head = /^\(\?([imsU]+)\)/.exec(pattern)
  const flags = head?.[1] ?? ""
  try {
    const translation = new Translation(pattern, head?.[0].length ?? 0, {
      dotAll: flags.includes("s"),
      lazy: flags.includes("U"),
      lines: flags.includes("m")
    })
    const regExp = new RegExp(translation.run(), flags.includes("i") ? "ui" : "u")
    return Result.succeed({ regExp, effort: translation.effort() })
  } catch (error) {
    // Only `Refused` and RegExp's SyntaxError can be thrown here; both mean that the pattern is invalid.
    const why = error instanceof Refused ? error.message : `invalid syntax: \`${pattern}\``
    return Result.fail(`error parsing regexp: ${why}`)
  }
}

class Refused extends Error {}

/** Go's Perl classes are ASCII only; JavaScript's `\s` is not. */
const perlClasses: Readonly<Record<string, string>> = {
  d: "0-9",
  s: "\\t\\n\\f\\r ",
  w: "0-9A-Za-z_"
}

const posixClasses: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t ",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f"
}

const categories =
  /^(?:C|Cc|Cf|Co|Cs|L|Ll|Lm|Lo|Lt|Lu|M|Mc|Me|Mn|N|Nd|Nl|No|P|Pc|Pd|Pe|Pf|Pi|Po|Ps|S|Sc|Sk|Sm|So|Z|Zl|Zp|Zs)$/

const repetition = /^(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??/

const lineStart = "(?<=^|\\n)"
const lineEnd = "(?=\\n|$)"

/** What matches without consuming a character, in JavaScript. */
const assertions: ReadonlySet<string> = new Set(["^", "$", "\\b", "\\B", lineStart, lineEnd])

/** Whether a group or alternative starts after this text. */
const isOpening = (text: string): boolean => text === "|" || text.startsWith("(")

/** Flags that JavaScript lacks or interprets differently. */
interface Flags {
  /** `m`: `^` and `$` match at the ends of lines, of which JavaScript recognises more than Go. */
  readonly lines: boolean
  /** `s`: `.` matches a line break too. */
  readonly dotAll: boolean
  /** `U`: operators are lazy, and greedy with a `?`. */
  readonly lazy: boolean
}

/** A single pass over the pattern. */
class Translation {
  private at: number
  private readonly text: string
  private flags: Flags
  /** What precedes a repetition operator. */
  private last: "opening" | "atom" | "operator" = "opening"
  private operator = ""
  /** What to restore at the end of each open group. */
  private readonly groups: Array<{ flags: Flags; extra: ReadonlyArray<string>; isChoice: boolean }> = []
  /** The groups opened inside the current one only for their flags. */
  private extra: ReadonlyArray<string> = []
  /** Whether the open group contains a choice, and whether the group that was just closed did. */
  private isChoice = false
  private wasChoice = false
  /** The number of repetitions and of optional parts. */
  private loops = 0
  private options = 0
  /** Whether a repeated part contains a choice. */
  private isNested = false
  /**
   * Whether V8 has bugs for the pattern: with flags on a part of it, it behaves differently once the expression is
   * compiled, and it finds `\B` between the two units of a character.
   */
  private isUnreliable = false

  constructor(text: string, start: number, flags: Flags) {
    this.text = text
    this.at = start
    this.flags = flags
  }

  run(): string {
    let out = ""
    let atom = ""
    while (this.at < this.text.length) {
      const from = this.at
      const repeats = repetition.exec(this.text.slice(from))
      if (repeats !== null) {
        const operator = this.repeat(repeats[0])
        // JavaScript does not allow to repeat an assertion.
        if (assertions.has(atom)) out = `${out.slice(0, -atom.length)}(?:${atom})`
        out += operator
        continue
      }
      atom = this.next()
      out += atom
      this.last = isOpening(this.text.slice(from, this.at)) ? "opening" : "atom"
    }
    if (this.groups.length > 0) throw new Refused(`missing closing ): \`${this.text}\``)
    return out + ")".repeat(this.extra.length)
  }

  /** A choice inside a repetition may be taken at each character; a repetition by itself may end at each. */
  effort(): (length: number) => number {
    const { isUnreliable, isNested, loops, options } = this
    return (length) => isUnreliable ? Infinity : options + (isNested ? length : loops * Math.log2(length + 1))
  }

  /** `*`, `+`, `?` or `{n,m}`, perhaps lazy. It needs an operand that is not itself a repetition. */
  private repeat(operator: string): string {
    if (this.last === "opening") throw new Refused(`missing argument to repetition operator: \`${operator}\``)
    if (this.last === "operator") {
      throw new Refused(`invalid nested repetition operator: \`${this.operator}${operator}\``)
    }
    const isOther = /.\?$/.test(operator)
    const greedy = isOther ? operator.slice(0, -1) : operator
    const [low = "0", high] = greedy.match(/[0-9]+/g) ?? []
    if (Number(low) > 1000 || high !== undefined && (Number(high) > 1000 || Number(high) < Number(low))) {
      throw new Refused(`invalid repeat count: \`${greedy}\``)
    }
    this.last = "operator"
    this.operator = operator
    const isOption = greedy === "?"
    if (this.wasChoice && !isOption) this.isNested = true
    if (isOption) this.options++
    else if (!/^\{[0-9]+\}$/.test(greedy)) this.loops++
    this.isChoice = true
    this.at += operator.length
    return isOther === this.flags.lazy ? greedy : `${greedy}?`
  }

  private next(): string {
    const char = this.text[this.at]!
    this.wasChoice = false
    switch (char) {
      case "\\":
        return this.escape(false)
      case "[":
        return this.charClass()
      case "(":
        return this.group()
      case ")": {
        const open = this.groups.pop()
        if (open === undefined) throw new Refused(`unexpected ): \`${this.text}\``)
        const close = ")".repeat(this.extra.length) + ")"
        this.flags = open.flags
        this.extra = open.extra
        this.wasChoice = this.isChoice
        this.isChoice ||= open.isChoice
        this.at++
        return close
      }
      case "|":
        // Flags set in one alternative also apply to the following ones.
        this.at++
        this.isChoice = true
        return `${")".repeat(this.extra.length)}|${this.extra.join("")}`
      case ".":
        this.at++
        return this.flags.dotAll ? "[^]" : "[^\\n]"
      case "^":
        this.at++
        return this.flags.lines ? lineStart : "^"
      case "$":
        this.at++
        return this.flags.lines ? lineEnd : "$"
      case "{":
      case "}":
      case "]":
        this.at++
        return `\\${char}`
      default: {
        const whole = String.fromCodePoint(this.text.codePointAt(this.at)!)
        this.at += whole.length
        return whole
      }
    }
  }

  private group(): string {
    const rest = this.text.slice(this.at)
    const named = /^\(\?P?<[A-Za-z_][A-Za-z0-9_]*>/.exec(rest)
    if (named !== null) {
      this.open()
      this.at += named[0].length
      // Go allows repeated names.
      return "("
    }
    const flagged = /^\(\?([imsU]*)(?:-([imsU]+))?([:)])/.exec(rest)
    if (flagged !== null) {
      const [whole, on = "", off = "", end] = flagged
      if (end === ":") this.open()
      const is = (flag: string, before: boolean) => on.includes(flag) || before && !off.includes(flag)
      const { dotAll, lazy, lines } = this.flags
      this.flags = { dotAll: is("s", dotAll), lazy: is("U", lazy), lines: is("m", lines) }
      this.at += whole.length
      const kept = off.replaceAll(/[msU]/g, "")
      const modifiers = on.replaceAll(/[msU]/g, "") + (kept === "" ? "" : `-${kept}`)
      if (modifiers !== "") this.isUnreliable = true
      if (end === ":") return `(?${modifiers}:`
      // `(?i)` applies until the end of the enclosing group: the rest of that group becomes a group with the flag.
      if (modifiers === "") return ""
      this.extra = [...this.extra, `(?${modifiers}:`]
      return `(?${modifiers}:`
    }
    if (rest.startsWith("(?")) throw new Refused(`invalid or unsupported Perl syntax: \`${rest.slice(0, 3)}\``)
    this.open()
    this.at++
    return "("
  }

  private open(): void {
    this.groups.push({ flags: this.flags, extra: this.extra, isChoice: this.isChoice })
    this.extra = []
    this.isChoice = false
  }

  /** An escape sequence; inside a class it must stand for characters. */
  private escape(inClass: boolean): string {
    const char = this.text[this.at + 1]
    if (char === undefined) throw new Refused("trailing backslash at end of expression: ``")
    const from = this.at
    this.at += 2
    const perl = perlClasses[char.toLowerCase()]
    if (perl !== undefined) {
      const negated = char !== char.toLowerCase()
      if (!inClass) return `[${negated ? "^" : ""}${perl}]`
      return negated && char === "S" ? "\\0-\\x08\\v\\x0e-\\x1f!-\\u{10ffff}" : negated ? `\\${char}` : perl
    }
    switch (char) {
      case "A":
        return inClass ? this.refuse(from) : "^"
      case "z":
        return inClass ? this.refuse(from) : "$"
      case "b":
      case "B":
        if (char === "B") this.isUnreliable = true
        return inClass ? this.refuse(from) : `\\${char}`
      case "a":
        return "\\x07"
      case "f":
      case "n":
      case "r":
      case "t":
      case "v":
        return `\\${char}`
      case "Q": {
        if (inClass) return this.refuse(from)
        const end = this.text.indexOf("\\E", this.at)
        const literal = this.text.slice(this.at, end < 0 ? undefined : end)
        this.at = end < 0 ? this.text.length : end + 2
        return literal.replace(/[$()*+./?[\\\]^{|}]/g, "\\$&")
      }
      case "x": {
        const hex = /^(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/.exec(this.text.slice(this.at))
        if (hex === null || Number.parseInt(hex[1] ?? hex[2]!, 16) > 0x10ffff) return this.refuseHex(from)
        this.at += hex[0].length
        return `\\u{${hex[1] ?? hex[2]}}`
      }
      case "p":
      case "P": {
        const name = /^(?:\{(\^?)([^}]+)\}|([A-Z]))/.exec(this.text.slice(this.at))
        if (name === null) return this.refuse(from)
        this.at += name[0].length
        const negated = (char === "P") !== (name[1] === "^")
        const value = name[2] ?? name[3]!
        if (value === "Any") return inClass ? negated ? "" : "\\0-\\u{10ffff}" : negated ? "[]" : "[^]"
        if (!categories.test(value) && !isScript(value)) {
          throw new Refused(`invalid character class range: \`${this.text.slice(from, this.at)}\``)
        }
        return `\\${negated ? "P" : "p"}{${categories.test(value) ? value : `Script=${value}`}}`
      }
      default: {
        const octal = /^[0-7]{1,2}/.exec(this.text.slice(this.at))
        if (char >= "1" && char <= "7" && octal === null) return this.refuse(from)
        if (char >= "0" && char <= "7") {
          const digits = char + (octal?.[0] ?? "")
          this.at += digits.length - 1
          return `\\u{${Number.parseInt(digits, 8).toString(16)}}`
        }
        if (/[A-Za-z0-9]/.test(char) || char > "\u007f") return this.refuse(from)
        if (!inClass) return syntax.test(char) ? `\\${char}` : char
        return `\\u{${char.charCodeAt(0).toString(16)}}`
      }
    }
  }

  private refuse(from: number): never {
    throw new Refused(`invalid escape sequence: \`${this.text.slice(from, from + 2)}\``)
  }

  /**
   * Quotes the part that Go reads as a hexadecimal number: two digits, or any number in braces, up to the first that is
   * invalid or too large.
   */
  private refuseHex(from: number): never {
    const digits = Array.from(this.text.slice(from + 2))
    let end = 2
    if (digits[0] === "{") {
      const value = (length: number) => Number.parseInt(digits.slice(1, length).join(""), 16)
      end = 1
      while (end < digits.length && /[0-9A-Fa-f]/.test(digits[end]!) && !(value(end + 1) > 0x10ffff)) end++
      end++
    }
    throw new Refused(`invalid escape sequence: \`\\x${digits.slice(0, end).join("")}\``)
  }

  private charClass(): string {
    const from = this.at
    this.at++
    let out = "["
    if (this.text[this.at] === "^") {
      out += "^"
      this.at++
    }
    const first = this.at
    for (;;) {
      const char = this.text[this.at]
      if (char === undefined) throw new Refused(`missing closing ]: \`${this.text.slice(from)}\``)
      // A `]` in first place is a character.
      if (char === "]" && this.at > first) {
        this.at++
        return `${out}]`
      }
      const posix = /^\[:(\^?)([a-z]+):\]/.exec(this.text.slice(this.at))
      if (posix !== null) {
        const ranges = posixClasses[posix[2]!]
        if (ranges === undefined) throw new Refused(`invalid character class range: \`${posix[0]}\``)
        out += posix[1] === "^" ? complement(ranges) : ranges
        this.at += posix[0].length
      } else if (/^\\[dDsSwWpP]/.test(this.text.slice(this.at))) {
        out += this.escape(true)
      } else {
        out += this.classRange()
      }
    }
  }

  /**
   * A character or range of a class. A dash makes a range unless the class ends after it; elsewhere it is a character.
   */
  private classRange(): string {
    const from = this.at
    const low = this.classChar()
    if (this.text[this.at] !== "-" || this.text[this.at + 1] === undefined || this.text[this.at + 1] === "]") {
      return inClass(low)
    }
    this.at++
    const high = this.classChar()
    if (high < low) {
      throw new Refused(`invalid character class range: \`${this.text.slice(from, this.at)}\``)
    }
    return `${inClass(low)}-${inClass(high)}`
  }

  /** The code point of one character, perhaps escaped. */
  private classChar(): number {
    const code = this.text.codePointAt(this.at)!
    if (code !== backslash) {
      this.at += String.fromCodePoint(code).length
      return code
    }
    if (/^[dDsSwWpP]/.test(this.text.slice(this.at + 1))) return this.refuse(this.at)
    const escaped = this.escape(true)
    return controls[escaped] ?? Number.parseInt(escaped.replace(/[^0-9a-f]/gi, ""), 16)
  }
}

const backslash = 0x5c

/** The characters for which `escape` returns a letter escape. */
const controls: Readonly<Record<string, number>> = { "\\f": 12, "\\n": 10, "\\r": 13, "\\t": 9, "\\v": 11 }

/** Characters that are syntax in JavaScript outside a class and can be escaped. */
const syntax = /[$()*+./?[\\\]^{|}]/

/** A character in a JavaScript class, escaped if it could be syntax. */
const inClass = (code: number): string => {
  const char = String.fromCodePoint(code)
  if (/[\\\]^[-]/.test(char)) return `\\${char}`
  return code < 0x20 || code === 0x7f ? `\\u{${code.toString(16)}}` : char
}

const isScript = (name: string): boolean => {
  try {
    return new RegExp(`\\p{Script=${name}}`, "u").unicode
  } catch {
    return false
  }
}

/** The ranges of all characters outside an ASCII class. */
const complement = (ranges: string): string => {
  const inside = new RegExp(`[${ranges}]`, "u")
  let out = ""
  for (let code = 0; code < 0x80; code++) {
    if (!inside.test(String.fromCharCode(code))) out += `\\u{${code.toString(16)}}`
  }
  return `${out}\\u{80}-\\u{10ffff}`
}
