/** Runs a sequence on a server: its steps one after the other, each with what the answers before it gave. */
import * as Effect from "effect/Effect"
import * as Step from "./Step.ts"
import type { Send } from "./Wire.ts"

/** What both servers call a sequence. */
export interface Place {
  /** Lower-case letters and digits. */
  readonly id: string
}

export const namespaceOf = ({ id }: Place): string => `f-${id}`

export type Answers = ReadonlyMap<number, Step.Answer>

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
    answers.set(step.id, yield* send(Step.resolve(step, context)))
  }
  return answers as Answers
})
