/** Runs a sequence on a server: its steps one after the other, each with what the answers before it gave. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Step from "./Step.ts"
import type { Send } from "./Wire.ts"

/** What both servers call a sequence. */
export interface Place {
  /** Lower-case letters and digits. */
  readonly id: string
}

export const namespaceOf = ({ id }: Place): string => `f-${id}`

export type Answers = ReadonlyMap<number, Step.Answer>

/** Long enough for a server's caches; after as many times the last answer counts. */
const attempts = { times: 500, every: "10 millis" } as const

const until = (answer: Effect.Effect<Step.Answer>, wanted: number | "served"): Effect.Effect<Step.Answer> =>
  Effect.repeat(answer, {
    until: ({ body, status }) => wanted === "served" ? body !== "404 page not found\n" : status === wanted,
    times: attempts.times,
    schedule: Schedule.spaced(attempts.every)
  })

/** Creates the namespace, then runs every step. */
export const run = Effect.fnUntraced(function*(send: Send, place: Place, steps: ReadonlyArray<Step.Step>) {
  const answers = new Map<number, Step.Answer>()
  const namespace = namespaceOf(place)
  const context: Step.Context = { id: place.id, namespace, answers }
  const headers = { accept: "application/json", "content-type": "application/json" }
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  yield* send({ method: "POST", path: "/api/v1/namespaces", headers, body, watch: false })
  for (const step of steps) {
    if (step.settle !== undefined) {
      const settle: Step.Step = { id: -1, method: "GET", path: step.settle, query: [], headers: {} }
      const consistent = yield* send(Step.resolve(settle, context))
      const version = Step.resolve({
        ...settle,
        query: [["resourceVersion", Step.reference([-1], "metadata", "resourceVersion")]]
      }, { ...context, answers: new Map([[-1, consistent]]) })
      yield* send(version)
    }
    const answer = send(Step.resolve(step, context))
    answers.set(step.id, yield* step.until === undefined ? answer : until(answer, step.until))
  }
  return answers as Answers
})
