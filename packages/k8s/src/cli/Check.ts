/**
 * `effect-operator check`: a check for pipelines, before a change is merged.
 *
 * It verifies that the manifests in the folder are those of the program, and that no definition changes in a way that
 * breaks what exists. Definitions are compared with those in the folder or, with `--against`, with those of a commit, a
 * file or another folder, for example `--against main` in CI. An intended change is allowed by naming its rule.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "node:path"
import type { Change } from "../crd/Change.ts"
import * as CrdDiff from "../CrdDiff.ts"
import * as Definitions from "./Definitions.ts"
import * as Description from "./Description.ts"
import * as Failure from "./Failure.ts"
import * as Manifests from "./Manifests.ts"

/** How to avoid a breaking change, or allow it. */
const remedy = (changes: ReadonlyArray<Change>) =>
  `Keep the old field or version and add one with another name, or declare a new version with a conversion. If nobody ` +
  `depends on it, allow the change: ${[...new Set(changes.map(({ rule }) => `--allow ${rule}`))].join(" ")}`

const run = Effect.fnUntraced(function*(options: {
  readonly main: string
  readonly out: string
  readonly against: Option.Option<string>
  readonly allow: ReadonlyArray<string>
}) {
  const { allow, main, out } = options
  const description = yield* Description.require(main)
  const before = yield* Option.match(options.against, {
    onNone: () => Definitions.inFile(Path.join(out, Definitions.fileName)),
    onSome: (where) => Definitions.against(where, out)
  })
  const changes = Definitions.changes(before, description.definitions)
  for (const line of CrdDiff.format(changes)) yield* Console.log(line)
  const breaking = CrdDiff.breaking(changes).filter(({ rule }) => !allow.includes(rule))
  const outdated = yield* Manifests.outdated(description.files, out)
  if (breaking.length > 0) {
    const count = breaking.length === 1 ? "1 change breaks" : `${breaking.length} changes break`
    return yield* Failure.make(
      [`${count} stored objects or clients:`, ...CrdDiff.format(breaking).map((line) => `  ${line}`), remedy(breaking)]
        .join("\n")
    )
  }
  yield* Manifests.refuse(outdated)
  yield* Console.log(`${out} matches ${main}, and no change breaks stored objects or clients`)
})

export const command = Command.make("check", {
  main: Manifests.main,
  out: Manifests.folder,
  against: Flag.String("against").pipe(
    Flag.withDescription("Compare the definitions with those of this git commit, file or folder instead of FOLDER"),
    Flag.withMetavar("REF"),
    Flag.optional
  ),
  allow: Flag.String("allow").pipe(
    Flag.withDescription("Allow changes of this rule; may be repeated"),
    Flag.withMetavar("RULE"),
    Flag.between(0, 100)
  )
}, run).pipe(
  Command.withDescription(
    "Fails if the manifests in the folder do not match the program, or if a definition changes in a way that breaks " +
      "stored objects or clients."
  ),
  Command.withShortDescription("Check manifests and changes of definitions"),
  Command.withExamples([
    { command: "effect-operator check", description: "Compare with the manifests in deploy/" },
    { command: "effect-operator check --against main", description: "Compare with those of the branch main" }
  ])
)
