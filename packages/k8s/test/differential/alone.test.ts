import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import { definitions } from "./CustomKinds.ts"
import { generate } from "./Generator.ts"
import * as Step from "./Step.ts"

/** Every answer a server gives to what a client may send. 500 is among them: some are words of the real server. */
const statuses: ReadonlySet<number> = new Set([200, 201, 202, 400, 403, 404, 405, 406, 409, 410, 415, 422, 500, 504])

/** What 500 may say. Anything else is a failure of the server itself. */
const known =
  /strconv\.ParseUint|should not be set on objects to be created|does not exist|content is not a list|map: map\[|merge key|unable to find api field|\$patch|\$setElementOrder|list element/

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const requestOf = ({ body, headers, method, path }: Step.Wire): Request => {
  const url = new URL(path, "http://localhost")
  return {
    method,
    path: path.split("?", 1)[0]!,
    query: [...url.searchParams],
    headers,
    ...(body === undefined ? {} : { body: parse(body) })
  }
}

const frozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))

/** Answers, with time going on until the answer is complete. */
const send = Effect.fnUntraced(function*(wire: Step.Wire) {
  const { handle } = yield* ApiServer
  const answer = Effect.flatMap(handle(requestOf(wire)), ({ body, events, headers, status }) =>
    events === undefined
      ? Effect.succeed<Step.Answer>({ status, headers, body })
      : Effect.map(Stream.runCollect(events), (events): Step.Answer => ({ status, headers, body, events })))
  const fiber = yield* Effect.forkChild(answer, { startImmediately: true })
  if (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("5 seconds")
  return yield* Fiber.join(fiber)
})

const runSequence = Effect.fnUntraced(function*(seed: number) {
  const { steps } = generate(seed)
  const answers = new Map<number, Step.Answer>()
  const context: Step.Context = { id: `s${seed}`, namespace: `f-${seed}`, answers }
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify({ metadata: { name: context.namespace } })
  yield* send({ method: "POST", path: "/api/v1/namespaces", headers, body, watch: false })
  for (const step of steps) {
    const wire = Step.resolve(step, context)
    const answer = yield* send(wire)
    const told = `seed ${seed}, step ${step.id}: ${wire.method} ${wire.path} ${wire.body}: ${
      JSON.stringify(answer.body)
    }`
    assert.isTrue(statuses.has(answer.status), told)
    if (answer.status === 500) assert.match(JSON.stringify(answer.body), known, told)
    answers.set(step.id, answer)
  }
})

/** Follows the changes from the beginning, and gives what they lead to. */
const replay = Effect.gen(function*() {
  const { log } = yield* ApiServer
  const objects = new Map<string, KubeObject>()
  let last = 0
  for (const { collection, key, object, revision, type } of yield* log()) {
    assert.isAbove(revision, last)
    assert.strictEqual(object.metadata.resourceVersion, String(revision))
    last = revision
    const place = `${collection}/${key}`
    if (type === "DELETED") objects.delete(place)
    else objects.set(place, object)
  }
  return [...objects.values()]
})

const byUid = (objects: ReadonlyArray<KubeObject>) =>
  objects.toSorted((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))

// As many as take some seconds; the seeds are the same every time.
it.effect(
  "no sequence of requests makes the server fail, and what it stores follows from what it told",
  () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const before = yield* server.snapshot
      for (const definition of definitions) {
        const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        const headers = { "content-type": "application/json" }
        yield* send({ method: "POST", path, headers, body: JSON.stringify(definition), watch: false })
      }
      for (let seed = 1; seed <= 60; seed++) yield* runSequence(seed)
      const stored = yield* server.snapshot
      assert.isTrue(stored.every(frozen))
      const old = new Set(before.map(({ metadata: { uid } }) => uid))
      const isNew = ({ metadata: { uid } }: KubeObject) => !old.has(uid)
      assert.deepStrictEqual(byUid((yield* replay).filter(isNew)), byUid(stored.filter(isNew)))
    }).pipe(Effect.provide(ApiServer.layer))
)
