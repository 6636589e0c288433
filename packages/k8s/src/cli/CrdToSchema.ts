/**
 * `effect-operator crd-to-schema`: the TypeScript declaration of an existing definition's kind.
 *
 * Reads a file, or standard input for `-`. One definition is written to standard output, or to the file given by
 * `--out`. Several need a folder for `--out`, which gets one file each, or `--name` to choose one. Existing files are
 * not overwritten, as they may have been edited.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Path from "node:path"
import type * as Crd from "../Crd.ts"
import { crdToSchema } from "../CrdToSchema.ts"
import * as Definitions from "./Definitions.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"

const textOf = Effect.fnUntraced(function*(file: string) {
  if (file === "-") {
    const { stdin } = yield* Stdio.Stdio
    return yield* Effect.mapError(Stream.mkString(Stream.decodeText(stdin)), Failure.ofFile("read", "standard input"))
  }
  const text = yield* Folder.read(file)
  return text ?? (yield* Failure.make(`${file} does not exist: give a file with definitions, or - for standard input`))
})

const remedy = "Remove it first, or choose another place with --out"

/** `Certificate.ts`; with the group if several groups have such a kind. */
const fileOf = ({ spec: { group, names } }: Crd.Manifest, all: ReadonlyArray<Crd.Manifest>): string => {
  const isTwice = all.filter(({ spec }) => spec.names.kind === names.kind).length > 1
  return isTwice ? `${names.kind}.${group}.ts` : `${names.kind}.ts`
}

const run = Effect.fnUntraced(function*(options: {
  readonly file: string
  readonly out: Option.Option<string>
  readonly name: Option.Option<string>
}) {
  const from = options.file === "-" ? "standard input" : options.file
  const all = yield* Definitions.parse(yield* textOf(options.file), from)
  const listed = all.map(({ metadata }) => metadata.name).join(", ")
  const chosen = Option.match(options.name, {
    onNone: () => all,
    onSome: (name) => all.filter(({ metadata, spec }) => metadata.name === name || spec.names.kind === name)
  })
  if (chosen.length === 0) {
    return yield* Failure.make(
      all.length === 0
        ? `${from} has no CustomResourceDefinition: \`kubectl get crd NAME -o yaml\` prints one`
        : `${from} has no definition named ${JSON.stringify(Option.getOrThrow(options.name))}, only ${listed}`
    )
  }
  const out = Option.getOrUndefined(options.out)
  const toFile = out !== undefined && /\.[mc]?ts$/.test(out)
  if (chosen.length > 1 && (out === undefined || toFile)) {
    return yield* Failure.make(
      `${from} has ${chosen.length} definitions: choose one with --name (${listed}), or give a folder with --out`
    )
  }
  if (out === undefined) return yield* Console.log(crdToSchema(chosen[0]!).trimEnd())
  const files = toFile
    ? { [Path.basename(out)]: crdToSchema(chosen[0]!) }
    : Object.fromEntries(chosen.map((definition) => [fileOf(definition, chosen), crdToSchema(definition)]))
  const folder = toFile ? Path.dirname(out) : out
  for (const name of yield* Folder.create(folder, files, remedy)) yield* Console.log(Path.join(folder, name))
})

export const command = Command.make("crd-to-schema", {
  file: Argument.String("file").pipe(
    Argument.withDescription("A YAML or JSON file with definitions, or - for standard input"),
    Argument.withMetavar("FILE")
  ),
  name: Flag.String("name").pipe(
    Flag.withDescription("The name or kind of the definition to use"),
    Flag.optional
  ),
  out: Flag.String("out").pipe(
    Flag.withDescription("A .ts file, or a folder for several; standard output by default"),
    Flag.withMetavar("PLACE"),
    Flag.optional
  )
}, run).pipe(
  Command.withDescription(
    "Writes the TypeScript declaration of the kind of an existing CustomResourceDefinition, so that other operators' kinds " +
      "can be read, watched and written with types."
  ),
  Command.withShortDescription("Declare a kind of another operator"),
  Command.withExamples([
    {
      command: "kubectl get crd certificates.cert-manager.io -o yaml | effect-operator crd-to-schema - > certificate.ts"
    },
    { command: "effect-operator crd-to-schema crds.yaml --out src/kinds" }
  ])
)
