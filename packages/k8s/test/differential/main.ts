/**
 * Compares the in-memory server with a real one, request by request:
 *
 *     node --conditions=op-source packages/k8s/test/differential/main.ts --sequences 1000 --seed 1
 *
 * Prints every difference as a script, then what was done. `--normalisations` prints, instead, where the two are known
 * to differ and why. Needs `KUBEBUILDER_ASSETS`.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Data from "effect/Data"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Flag from "effect/cli/Flag"
import * as Command from "effect/cli/Command"
import * as Main from "../../src/Main.ts"
import { campaign, prepare, signature } from "./Campaign.ts"
import { generate } from "./Generator.ts"
import { kinds } from "./Kinds.ts"
import { all } from "./Normalisations.ts"
import * as SchemaSequences from "./schemas/SchemaSequences.ts"
import * as Servers from "./Servers.ts"

class Different extends Data.TaggedError("Different")<{ readonly message: string }> {}

const flags = {
  seed: Flag.Int("seed").pipe(Flag.withDescription("Of the first sequence"), Flag.withDefault(1)),
  sequences: Flag.Int("sequences").pipe(Flag.withDefault(200)),
  concurrency: Flag.Int("concurrency").pipe(Flag.withDescription("Sequences at a time"), Flag.withDefault(40)),
  differences: Flag.Int("differences").pipe(
    Flag.withDescription("How many kinds of differences to shrink and print"),
    Flag.withDefault(20)
  ),
  kinds: Flag.String("kinds").pipe(
    Flag.withDescription("Only these, by their plurals and with commas between them"),
    Flag.withDefault("")
  ),
  schemas: Flag.Boolean("schemas").pipe(
    Flag.withDescription("Definitions of custom resources by chance, and objects of theirs"),
    Flag.withDefault(false)
  ),
  normalisations: Flag.Boolean("normalisations").pipe(
    Flag.withDescription("Only print where the servers are known to differ"),
    Flag.withDefault(false)
  )
}

const list = Console.log(all.map(({ name, reason }) => `${name}: ${reason}`).join("\n"))

const command = Command.make(
  "differential",
  flags,
  ({ concurrency, differences, kinds: only, normalisations, schemas, seed, sequences }) =>
    normalisations ? list : Effect.scoped(Effect.gen(function*() {
      const [left, right] = yield* Effect.all([Servers.inMemory(), Servers.real], { concurrency: 2 })
      yield* Effect.all([prepare(left), prepare(right)], { concurrency: 2 })
      const chosen = kinds.filter(({ plural }) => only === "" || only.split(",").includes(plural))
      const sequence = schemas ? SchemaSequences.generate : (seed: number) => generate(seed, 50, chosen)
      const started = yield* Clock.currentTimeMillis
      const statuses = new Map<string, number>()
      const signatures = new Map<string, number>()
      const once: Array<string> = []
      let done = 0
      let requests = 0
      const seeds = Array.from({ length: sequences }, (_, index) => seed + index)
      yield* campaign(
        { left, right, run: started.toString(36), today: started, concurrency, sequence },
        seeds,
        {
          done: (_, steps, answers) => {
            done += 1
            requests += answers.size
            for (const step of steps) {
              const key = `${step.method} ${answers.get(step.id)?.status}`
              statuses.set(key, (statuses.get(key) ?? 0) + 1)
            }
            if (done % Math.min(500, Math.ceil(sequences / 20)) === 0) console.error(`${done} sequences`)
          },
          wanted: (difference, seed) => {
            const key = signature(difference)
            const before = signatures.get(key) ?? 0
            signatures.set(key, before + 1)
            if (before === 0) console.error(`seed ${seed} differs: ${key}`)
            return before === 0 && signatures.size <= differences
          },
          found: ({ script }) => console.log(`${script}\n`),
          once: ({ difference, script }) => {
            const key = signature(difference)
            signatures.delete(key)
            once.push(key)
            console.log(`# seen once, and not again\n${script}\n`)
          }
        }
      )
      const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
      yield* Console.log([
        ...[...statuses].sort().map(([key, count]) => `${key}: ${count}`),
        ...[...signatures].sort((a, b) => b[1] - a[1]).map(([key, count]) => `${count} x ${key}`),
        ...once.map((key) => `seen once, and not again: ${key}`),
        `${done} sequences from seed ${seed}, ${requests} requests to each server in ${seconds.toFixed(0)} s`
      ].join("\n"))
      if (signatures.size > 0) return yield* new Different({ message: `${signatures.size} kinds of differences` })
    }))
).pipe(Command.withDescription("Compares the in-memory API server with a real one, request by request"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("differential"), task: true })
)
