/**
 * `Campaign`: many sequences on two servers, several at a time.
 *
 * A difference counts only if it comes again when its sequence is run anew in another namespace: what a busy machine
 * does to a cache is nobody's fault. It is then shrunk.
 */
import * as Effect from "effect/Effect"
import { compare, type Difference } from "./Compare.ts"
import { definitions, group } from "./CustomKinds.ts"
import { generate } from "./Generator.ts"
import { type Answers, type Place, run } from "./Run.ts"
import { script } from "./Report.ts"
import { shrink } from "./Shrink.ts"
import type { Sequence, Step } from "./Step.ts"
import type { Send } from "./Wire.ts"

export interface Options {
  readonly left: Send
  readonly right: Send
  /** Tells the runs of one pair of servers apart; lower-case letters and digits. */
  readonly run: string
  /** The time of the run, in milliseconds. */
  readonly today: number
  /** Sequences under way at once. */
  readonly concurrency: number
  /** The sequence of a seed; one of fifty steps about all kinds by default. */
  readonly sequence?: (seed: number) => Sequence
}

export interface Found {
  readonly seed: number
  readonly steps: ReadonlyArray<Step>
  readonly difference: Difference
  readonly script: string
}

/** What a difference is about, whatever the sequence: to tell new ones from old ones. */
export const signature = ({ lines, step }: Difference): string =>
  [
    step.method,
    step.path.replace(/.*namespaces\/\{\{ns\}\}/, "").replace(/\{\{[^}]*\}\}/g, "*"),
    lines.map((line) => line.replace(/<[a-z]+ \d+>|\d+/g, "#")).join("\n")
  ].join(" ").slice(0, 160)

/** Installs the custom kinds and waits until they are served. */
export const prepare = Effect.fnUntraced(function*(send: Send) {
  const headers = { accept: "application/json", "content-type": "application/json" }
  const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
  for (const definition of definitions) {
    const body = JSON.stringify(definition)
    const created = yield* send({ method: "POST", path: definitionsPath, headers, body, watch: false })
    if (created.status !== 201 && created.status !== 409) {
      return yield* Effect.die(new Error(`definition: ${JSON.stringify(created.body)}`))
    }
  }
  for (
    const { spec } of definitions as ReadonlyArray<
      { spec: { names: { plural: string }; versions: ReadonlyArray<{ name: string }> } }
    >
  ) {
    for (const { name } of spec.versions) {
      const path = `/apis/${group}/${name}/${spec.names.plural}`
      const served = send({ method: "GET", path, headers, body: undefined, watch: false })
      yield* Effect.repeat(served, { until: ({ status }) => status === 200 })
    }
  }
})

interface Outcome {
  readonly difference: Difference | undefined
  readonly place: Place
  readonly left: Answers
}

/** Runs sequences of steps on both servers, each time in a new place. */
const make = ({ left, right, run: name, today }: Options) => {
  let count = 0
  return Effect.fnUntraced(function*(steps: ReadonlyArray<Step>) {
    count += 1
    const place: Place = { id: `${name}${count.toString(36)}` }
    const [lefts, rights] = yield* Effect.all([run(left, place, steps), run(right, place, steps)], { concurrency: 2 })
    return { place, left: lefts, difference: compare(steps, lefts, rights, today) } satisfies Outcome
  })
}

/** Runs the seeds; every difference that is found goes to `found` as soon as it is shrunk. */
export const campaign = Effect.fnUntraced(function*(
  options: Options,
  seeds: Iterable<number>,
  handlers: {
    readonly done?: (seed: number, steps: ReadonlyArray<Step>, answers: Answers) => void
    /** Whether to shrink a difference, rather than only to count it. */
    readonly wanted?: (difference: Difference, seed: number) => boolean
    readonly found: (found: Found) => void
    /** A difference that did not show a second time: chance, or the time of day, had a part in it. */
    readonly once?: (found: Found) => void
  }
) {
  const attempt = make(options)
  const { sequence = generate } = options
  const one = Effect.fnUntraced(function*(seed: number) {
    const { steps } = sequence(seed)
    const first = yield* attempt(steps)
    handlers.done?.(seed, steps, first.left)
    if (first.difference === undefined || handlers.wanted?.(first.difference, seed) === false) return
    const wanted = signature(first.difference)
    const same = (outcome: Outcome) => outcome.difference !== undefined && signature(outcome.difference) === wanted
    if (!same(yield* attempt(steps))) {
      const { difference, left, place } = first
      return handlers.once?.({ seed, steps, difference, script: script(seed, place, steps, left, difference) })
    }
    const upTo = steps.slice(0, steps.findIndex(({ id }) => id === first.difference!.step.id) + 1)
    const small = yield* shrink(upTo, (candidate) => Effect.map(attempt(candidate), same))
    const last = yield* attempt(small)
    const { difference, left, place } = last.difference === undefined ? first : last
    const shown = last.difference === undefined ? steps : small
    handlers.found({
      seed,
      steps: shown,
      difference: difference!,
      script: script(seed, place, shown, left, difference!)
    })
  })
  yield* Effect.forEach(seeds, one, { concurrency: options.concurrency, discard: true })
})
