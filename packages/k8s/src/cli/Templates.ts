/**
 * `Templates`: the sources of a new project and of a new kind.
 *
 * They are files in `templates/` of this package, which are compiled, linted and tested as they are, for a project
 * `demo` with the kind `Website`. Other names are substituted.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { fileURLToPath } from "node:url"
import * as Failure from "./Failure.ts"
import type { Files } from "./Folder.ts"
import type { Kind, Version } from "./Names.ts"

// `src/cli` and `dist/cli` are at the same depth.
const folder = fileURLToPath(new URL("../../templates/", import.meta.url))

/** The files of a kind, with their templates. */
const kindFiles = (lower: string) => ({
  [`src/${lower}/resource.ts`]: "src/website/resource.ts",
  [`src/${lower}/reconciler.ts`]: "src/website/reconciler.ts",
  [`test/${lower}.test.ts`]: "test/website.test.ts",
  [`samples/${lower}.yaml`]: "samples/website.yaml"
})

/** The files of a kind's webhooks, with their templates. */
const webhookFiles = (lower: string) => ({
  [`src/${lower}/webhook.ts`]: "src/website/webhook.ts",
  [`test/${lower}.webhook.test.ts`]: "test/website.webhook.test.ts"
})

/** The files of a kind's versions, with their templates. */
const versionFiles = (lower: string) => ({
  [`src/${lower}/versions.ts`]: "src/website/versions.ts",
  [`test/${lower}.versions.test.ts`]: "test/website.versions.test.ts"
})

const projectFiles = { "src/main.ts": "src/main.ts", "README.md": "README.md" }

/** A kind's name in file names and labels. */
export const lower = ({ kind }: Pick<Kind, "kind">): string => kind.toLowerCase()

/** URLs, which are kept, and names to replace: whole identifiers or words. */
const names =
  /https?:\/\/[^\s)]+|\bexample\.com\/v1\b|"example\.com"|\bversion: "v1"|\bWebsite(?=(V2|Versions)?\b)|\bwebsite\b|\bdemo\b/g

/** A template with the names of a kind and a project. A single pass, so that an inserted name is not replaced again. */
export const rename = (text: string, kind: Kind, project: string): string => {
  const own: Readonly<Record<string, string>> = {
    "example.com/v1": `${kind.group}/${kind.version}`,
    "\"example.com\"": JSON.stringify(kind.group),
    "version: \"v1\"": `version: ${JSON.stringify(kind.version)}`,
    Website: kind.kind,
    website: lower(kind),
    demo: project
  }
  return text.replaceAll(names, (name) => own[name] ?? name)
}

const fill = Effect.fnUntraced(function*(
  templates: Files,
  kind: Kind,
  project: string,
  first: (text: string) => string = (text) => text
) {
  const files = yield* FileSystem.FileSystem
  const texts: Record<string, string> = {}
  for (const [name, template] of Object.entries(templates)) {
    const text = yield* Effect.mapError(files.readFileString(folder + template), Failure.ofFile("read", template))
    texts[name] = rename(first(text), kind, project)
  }
  return texts
})

/** The files of a kind. */
export const ofKind = (kind: Kind) => fill(kindFiles(lower(kind)), kind, "demo")

/** The files of the webhooks of a kind. */
export const ofWebhook = (kind: Kind) => fill(webhookFiles(lower(kind)), kind, "demo")

/** The files that combine the first two versions of a kind. In the templates they are v1, which is stored, and v2. */
export const ofVersions = (kind: string, before: Version, made: Version, storage: boolean) => {
  const own: Readonly<Record<string, string>> = {
    "storage: Website": `storage: ${storage ? made.name : before.name}`,
    WebsiteV2: made.name,
    toV2: `to${made.name.slice(kind.length)}`,
    v1: before.version,
    v2: made.version
  }
  const versions = (text: string) =>
    text.replaceAll(/\bstorage: Website\b|\bWebsiteV2\b|\btoV2\b|\bv[12]\b/g, (name) => own[name]!)
  return fill(versionFiles(lower({ kind })), { kind, group: "example.com", version: "v1" }, "demo", versions)
}

/** The source files of a project; see `Project` for its configuration. */
export const ofProject = (project: string, kind: Kind) =>
  fill({ ...projectFiles, ...kindFiles(lower(kind)) }, kind, project)
