/** What holds between a Schema and the definition made of it, for every value: 1,000 and more cases for each kind. */
import { Resource } from "@effect-operator/core"
import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Crd from "../../src/Crd.ts"
import * as CrdValidation from "../../src/CrdValidation.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import { kinds, Ruled } from "./Fixtures.ts"
import { decoded, type Kind, objectOf, specs, written } from "./Laws.ts"
import { chance, type Json, mutant } from "./Mutants.ts"

const cases = 1000
const seed = Number(process.env["SEED"] ?? 20261121)

/** What the server makes of a spec, or why it refuses it. */
const sent = Effect.fnUntraced(function*(kind: Kind, spec: Json) {
  const client = yield* KubeClient.KubeClient
  return yield* client.create(Resource.unstructured(kind), objectOf(kind, spec) as never, { dryRun: true }).pipe(
    Effect.map((object) => ({ spec: (object as unknown as { readonly spec: Json }).spec })),
    Effect.catch((error) => Effect.succeed({ refused: error.message }))
  )
})

const told = (kind: Kind, spec: Json, more: string) => `${kind.kind} (seed ${seed}): ${JSON.stringify(spec)}: ${more}`

const inCluster = <A, E>(kind: Kind, test: Effect.Effect<A, E, KubeClient.KubeClient>) =>
  Effect.andThen(Crd.install(kind), test).pipe(Effect.provide(TestCluster.layer()))

describe(`with seed ${seed}`, () => {
  for (const kind of kinds) {
    it.effect(`${kind.kind}: every value of the Schema is taken by the server`, () =>
      inCluster(
        kind,
        Effect.gen(function*() {
          const all = yield* specs(kind, { count: cases, seed })
          assert.isAtLeast(all.length, cases)
          for (const spec of all) {
            const answer = yield* sent(kind, spec)
            if ("refused" in answer) assert.fail(told(kind, spec, answer.refused))
            const back = decoded(kind, answer.spec)
            if (Result.isFailure(back)) assert.fail(told(kind, answer.spec, back.failure.issues.join()))
          }
        })
      ))

    it.effect(`${kind.kind}: what the server refuses, the decoder refuses; defaults agree`, () =>
      inCluster(
        kind,
        Effect.gen(function*() {
          const random = chance(seed)
          let refused = 0
          let taken = 0
          for (const spec of yield* specs(kind, { count: cases, seed })) {
            for (let i = 0; i < 2; i++) {
              const damaged = i === 0 ? mutant(random, spec) : mutant(random, mutant(random, spec))
              const answer = yield* sent(kind, damaged)
              const known = decoded(kind, damaged)
              if ("refused" in answer) {
                refused++
                if (Result.isSuccess(known)) assert.fail(told(kind, damaged, `decoded, but ${answer.refused}`))
              } else if (Result.isSuccess(known)) {
                taken++
                // The server leaves empty maps out of embedded metadata; there are no defaults in it.
                if (kind.kind === "Template") continue
                const stored = Result.getOrThrow(decoded(kind, answer.spec)) as { readonly spec: unknown }
                const { spec: here } = known.success as unknown as { readonly spec: unknown }
                assert.deepStrictEqual(written(kind, stored.spec), written(kind, here), told(kind, damaged, "defaults"))
              }
            }
          }
          assert.isAbove(refused, cases / 10)
          assert.isAbove(taken, cases / 50)
        })
      ))
  }

  it.effect("Choice: an object may be several members of a union without a tag, and only one of those with a tag", () => {
    const Choice = kinds.find(({ kind }) => kind === "Choice")!
    const spec = { source: { _tag: "None" }, target: { pod: "a", service: "b" }, port: "auto", mixed: 1 }
    return inCluster(
      Choice,
      Effect.gen(function*() {
        for (const given of [spec, { ...spec, target: { only: true, service: "b" } }]) {
          assert.notProperty(yield* sent(Choice, given), "refused")
          assert.isTrue(Result.isSuccess(decoded(Choice, given)))
        }
        for (const source of [{ _tag: "Git" }, { _tag: "Svn" }, { _tag: "Git", image: "a" }, {}]) {
          assert.property(yield* sent(Choice, { ...spec, source }), "refused", JSON.stringify(source))
          assert.isTrue(Result.isFailure(decoded(Choice, { ...spec, source })))
        }
      })
    )
  })

  it.effect("Ruled: a checked resource and the server agree on every value, rules included", () =>
    inCluster(
      Ruled,
      Effect.gen(function*() {
        const checked = CrdValidation.checked(Ruled)
        const random = chance(seed)
        let refused = 0
        for (const spec of yield* specs(Ruled, { count: cases, seed })) {
          for (const given of [spec, mutant(random, spec)]) {
            const answer = yield* sent(Ruled, given)
            if ("refused" in answer) refused++
            const here = checked.decode(objectOf(Ruled, given))
            if ("refused" in answer && Result.isSuccess(here)) assert.fail(told(Ruled, given, answer.refused))
            if (!("refused" in answer) && Result.isFailure(here) && Result.isSuccess(decoded(Ruled, given))) {
              assert.fail(told(Ruled, given, here.failure.issues.join()))
            }
          }
        }
        assert.isAbove(refused, cases / 10)
      })
    ))
})
