/**
 * A script of kubectl commands as data: what people type, in the order in which they would, in a namespace of its own.
 *
 * A plain line is run against the in-memory server and against a real one, and what it prints (standard output, standard
 * error, exit code) must be the same, but for what `mask` hides: ages, uids, times, versions, addresses. A line that a
 * 1.20 server answers differently from the release our server stands for says so, with the reason, and with what each
 * must print; one that it cannot answer at all is run against the in-memory server alone.
 */

export type Text = string | RegExp

export interface Same {
  readonly _tag: "Same"
  readonly line: string
  readonly stdin?: string
  /** Further texts that chance decides. */
  readonly mask?: ReadonlyArray<readonly [RegExp, string]>
  /** Repeated until both print the same, for three minutes at most: controllers take their time. */
  readonly eventually?: boolean
  /** Lines in any order. */
  readonly unordered?: boolean
}

/** A line whose output differs on purpose. */
export interface Differs {
  readonly _tag: "Differs"
  readonly line: string
  readonly stdin?: string
  readonly reason: string
  /** What the in-memory server's output holds. */
  readonly memory: ReadonlyArray<Text>
  /** What the real server's output holds; not run there without it. */
  readonly real?: ReadonlyArray<Text>
}

/** A line for its effect; it must succeed on both. */
export interface Quiet {
  readonly _tag: "Quiet"
  readonly line: string
  readonly stdin?: string
}

export type Step = Same | Differs | Quiet

export interface Script {
  /** Also the namespace. */
  readonly name: string
  readonly files: Readonly<Record<string, string>>
  readonly steps: ReadonlyArray<Step>
}

type SameOptions = Omit<Same, "_tag" | "line">

export const same = (line: string, options: SameOptions = {}): Same => ({ _tag: "Same", line, ...options })

export const quiet = (line: string, stdin?: string): Quiet => ({
  _tag: "Quiet",
  line,
  ...(stdin === undefined ? {} : { stdin })
})

/** A line that both run, with different results. */
export const differs = (
  line: string,
  reason: string,
  memory: ReadonlyArray<Text>,
  real: ReadonlyArray<Text>
): Differs => ({ _tag: "Differs", line, reason, memory, real })

/** A line that a 1.20 server has no answer to. */
export const newer = (line: string, reason: string, ...memory: ReadonlyArray<Text>): Differs => ({
  _tag: "Differs",
  line,
  reason,
  memory
})

/** A script; a plain text among the steps is a line that must print the same. */
export const script = (
  name: string,
  files: Readonly<Record<string, string>>,
  steps: ReadonlyArray<Step | string>
): Script => ({ name, files, steps: steps.map((step) => typeof step === "string" ? same(step) : step) })

/** The words of a line; quotes keep some together. */
export const words = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""))

const ages = /(?<=^|[\s(])(?:\d+[dhms]){1,3}(?=$|[\s)])/gm

const masks: ReadonlyArray<readonly [RegExp, string]> = [
  [/https:\/\/127\.0\.0\.1:\d+/g, "https://SERVER"],
  [/127\.0\.0\.1:\d+/g, "SERVER"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UID"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "TIME"],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w+ \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "TIME"],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC/g, "TIME"],
  [/(resourceVersion"?: ?)"\d+"/g, "$1\"N\""],
  [/(Resource Version: +)\d+/g, "$1N"],
  // Before 1.34 a Pod template without a time said so.
  [/"creationTimestamp":null,?/g, ""],
  [/^ *creationTimestamp: null\n/gm, ""],
  [/\b10\.\d+\.\d+\.\d+\b/g, "IP"],
  // The client's own log of a watch that its own time-out ended within a second.
  [/W\d{4} \d\d:\d\d:.*very short watch.*\n/g, ""],
  [/Warning: version difference.*\n/g, ""],
  [/WARNING: version difference.*\n/g, ""]
]

const hasAges = (text: string): boolean => /\b(?:AGE|LAST SEEN|DURATION|Age)\b/.test(text)

/** The output without what chance and time decide. */
export const mask = (text: string, further: ReadonlyArray<readonly [RegExp, string]> = []): string => {
  const plain = [...masks, ...further].reduce((out, [pattern, by]) => out.replace(pattern, by), text)
  return hasAges(plain)
    ? plain.replace(ages, "AGE").replace(/(?<=\S) {2,}/g, "  ").replace(/ +$/gm, "")
    : plain
}
