/**
 * `Shrink`: the shortest sequence that still shows a difference.
 *
 * The last step is the one that differs. First steps before it are dropped, in ever smaller runs, then bodies, queries and headers are simplified. `differs` runs a
 * candidate on both servers; only what differs in the same step for the same reason counts as the same difference.
 */
import * as Effect from "effect/Effect"
import { paths } from "./Path.ts"
import { type Body, edit, type Step } from "./Step.ts"

type Steps = ReadonlyArray<Step>

export type Differs = (steps: Steps) => Effect.Effect<boolean>

/** A first candidate that still differs, or the steps as they were. */
const firstOf = Effect.fnUntraced(function*(candidates: Iterable<Steps>, differs: Differs) {
  for (const candidate of candidates) if (yield* differs(candidate)) return candidate
  return undefined
})

const dropSteps = Effect.fnUntraced(function*(all: Steps, differs: Differs) {
  let steps = all
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = Math.max(0, steps.length - 1 - size); from >= 0; from -= size) {
      const candidate = steps.filter((_, index) => index < from || index >= from + size)
      if (candidate.length < steps.length && candidate.length > 0 && (yield* differs(candidate))) steps = candidate
    }
  }
  return steps
})

const simplerBodies = (body: Body): ReadonlyArray<Body> => {
  switch (body._tag) {
    case "Text":
      return []
    case "Json":
      return paths(body.value).map((path) => ({ _tag: "Json", value: edit(body.value, [{ path }]) }))
    case "Edited":
      return [
        ...body.edits.map((_, index) => ({ ...body, edits: body.edits.filter((_, other) => other !== index) })),
        ...(body.of.length > 1 ? body.of.map((id) => ({ ...body, of: [id] })) : [])
      ]
  }
}

const plain = { accept: "application/json", "content-type": "application/json" }

function* simplerSteps(step: Step): Generator<Step> {
  for (let index = 0; index < step.query.length; index++) {
    // A watch that nobody ends would go on for half an hour.
    if (step.watch === true && ["watch", "timeoutSeconds"].includes(step.query[index]![0])) continue
    yield { ...step, query: step.query.filter((_, other) => other !== index) }
  }
  if (JSON.stringify(step.headers) !== JSON.stringify(plain)) yield { ...step, headers: plain }
  if (step.body === undefined) return
  if (step.method === "DELETE") {
    const { body: _, ...bare } = step
    yield bare
  }
  for (const body of simplerBodies(step.body)) yield { ...step, body }
}

function* simpler(steps: Steps): Generator<Steps> {
  for (const [index, step] of steps.entries()) {
    for (const candidate of simplerSteps(step)) yield steps.with(index, candidate)
  }
}

/** Shrinks as far as single changes reach, with at most `budget` runs of simplification. */
export const shrink = Effect.fnUntraced(function*(all: Steps, differs: Differs, budget = 400) {
  let steps = yield* dropSteps(all, differs)
  let left = budget
  const counted: Differs = (candidate) => Effect.suspend(() => left-- > 0 ? differs(candidate) : Effect.succeed(false))
  for (;;) {
    const next: Steps | undefined = yield* firstOf(simpler(steps), counted)
    if (next === undefined) return yield* dropSteps(steps, counted)
    steps = next
  }
})
