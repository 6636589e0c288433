/** A difference as a script for `curl`, with both answers beneath, for a person to look at. */
import type { Difference } from "./Compare.ts"
import { namespaceOf, type Place } from "./Run.ts"
import * as Step from "./Step.ts"

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curl = (wire: Step.Wire): string =>
  [
    `curl -sS -X ${wire.method} ${quote(`$URL${wire.path}`)}`,
    ...Object.entries(wire.headers).filter(([name, value]) => value !== "application/json" || name !== "accept").map((
      [name, value]
    ) => `-H ${quote(`${name}: ${value}`)}`),
    ...(wire.body === undefined ? [] : [`-d ${quote(wire.body)}`])
  ].join(" ")

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? ""
  return text.length > 4000 ? `${text.slice(0, 4000)} ...` : text
}

export const script = (
  seed: number,
  place: Place,
  steps: ReadonlyArray<Step.Step>,
  answers: ReadonlyMap<number, Step.Answer>,
  difference: Difference
): string => {
  const context: Step.Context = { id: place.id, namespace: namespaceOf(place), answers }
  const upTo = steps.slice(0, steps.findIndex(({ id }) => id === difference.step.id) + 1)
  return [
    `# seed ${seed}, step ${difference.step.id}`,
    ...upTo.map((step) => `${curl(Step.resolve(step, context))} # ${step.id}: ${answers.get(step.id)?.status}`),
    "# left <> right:",
    ...difference.lines.map((line) => `#   ${line.slice(0, 1500)}`),
    `# left:  ${difference.left.status} ${short(difference.left.body ?? difference.left.events)}`,
    `# right: ${difference.right.status} ${short(difference.right.body ?? difference.right.events)}`
  ].join("\n")
}
