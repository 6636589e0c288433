/**
 * `Compare`: the first step to which two servers give different answers.
 *
 * Compared are the status, the headers a client acts on, the body and the events. Order counts wherever the API
 * promises one; the causes of an invalid object, and their texts in the message, are promised none.
 */
import { mask } from "./Mask.ts"
import { normalise } from "./Normalisations.ts"
import { at } from "./Path.ts"
import type { Answers } from "./Run.ts"
import { type Answer, resolve, type Step } from "./Step.ts"

export interface Difference {
  readonly step: Step
  /** As masked and normalised. */
  readonly left: Answer
  readonly right: Answer
  /** What differs, one line each. */
  readonly lines: ReadonlyArray<string>
}

const headers = ["content-type", "warning", "retry-after"]

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const unordered = (body: unknown): unknown => {
  if (!isObject(body) || body["kind"] !== "Status") return body
  const causes = at(body, ["details", "causes"])
  if (typeof body["message"] !== "string" || !body["message"].includes(" is invalid: ") || !Array.isArray(causes)) {
    return body
  }
  // The message says the same again; the causes are what clients read.
  const message = body["message"].slice(0, body["message"].indexOf(" is invalid: "))
  const sorted = [...new Set(causes.map((cause) => canonical(cause)))].sort()
  return { ...body, message, details: { ...(body["details"] as object), causes: sorted } }
}

/** JSON with sorted keys. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (!isObject(value)) return value === undefined ? "absent" : JSON.stringify(value)
  return `{${
    Object.keys(value).filter((key) => value[key] !== undefined).sort().map((key) =>
      `${JSON.stringify(key)}:${canonical(value[key])}`
    ).join(",")
  }}`
}

const essence = (answer: Answer): unknown => ({
  status: answer.status,
  headers: Object.fromEntries(headers.map((name) => [name, answer.headers[name]])),
  body: unordered(answer.body),
  events: answer.events
})

/** What differs between two JSON values, one line for every place. */
export const describe = (left: unknown, right: unknown, path = ""): ReadonlyArray<string> => {
  if (canonical(left) === canonical(right)) return []
  if (isObject(left) && isObject(right)) {
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].sort().flatMap((key) =>
      describe(left[key], right[key], `${path}.${key}`)
    )
  }
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    return left.flatMap((item, index) => describe(item, right[index], `${path}[${index}]`))
  }
  return [`${path}: ${canonical(left)} <> ${canonical(right)}`]
}

/** Whether the version that a watch starts from is that of an object that never was. */
const fromNoVersion = (step: Step, answers: Answers): boolean =>
  /[?&]resourceVersion=(?:&|$)/.test(resolve(step, { id: "", namespace: "", answers }).path)

/** Every step to which the answers differ. `today` is the time of the run. */
export function* differing(
  steps: ReadonlyArray<Step>,
  left: Answers,
  right: Answers,
  today: number
): Generator<Difference> {
  const idsOf = (chosen: (step: Step) => boolean) => new Set(steps.filter(chosen).map(({ id }) => id))
  const fromCache = idsOf((step) => step.settle !== undefined && (step.watch !== true || fromNoVersion(step, left)))
  const deletions = idsOf(({ method }) => method === "DELETE")
  const naming = idsOf(({ body }) => JSON.stringify(body)?.includes("generateName") === true)
  const [lefts, rights] = [left, right].map((answers) => mask(answers, today, fromCache, deletions, naming)) as [
    Answers,
    Answers
  ]
  for (const step of steps) {
    const [one, other] = [normalise(lefts.get(step.id)!, step), normalise(rights.get(step.id)!, step)]
    const lines = describe(essence(one), essence(other))
    if (lines.length > 0) yield { step, left: one, right: other, lines }
  }
}

/** The first difference; undefined for none. */
export const compare = (...compared: Parameters<typeof differing>): Difference | undefined =>
  differing(...compared).next().value as Difference | undefined
