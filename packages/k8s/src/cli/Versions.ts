/**
 * `Versions`: creates the source of another version of a kind from the source of the previous one.
 *
 * The versions of a kind are files in its folder: `resource.ts` has the first, `v2.ts` and so on the later ones, each
 * with a constant of its own (`Website`, `WebsiteV2`). A new version starts as a copy of the newest. Versions are
 * ordered by name: v1alpha1, v1beta1, v1, v2alpha1.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import type { Kind, Version } from "./Names.ts"
import * as Templates from "./Templates.ts"

/** What was created from the newest version. */
export interface Made {
  readonly files: Folder.Files
  readonly before: Version
  readonly made: Version
  /** Whether there was only one version before. */
  readonly isFirst: boolean
}

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/

/** Whether one version comes after another. */
export const isAfter = (later: string, earlier: string): boolean => {
  const parts = (version: string) => {
    const [, major, stage, minor] = pattern.exec(version) ?? []
    return [Number(major), ["alpha", "beta", undefined].indexOf(stage), Number(minor ?? 0)]
  }
  const [a, b] = [parts(later), parts(earlier)]
  const at = a.findIndex((part, i) => part !== b[i])
  return at >= 0 && a[at]! > b[at]!
}

/** A version that is not the kind's first. */
export const further = (kind: string, version: string): Version => ({
  version,
  name: `${kind}${version.charAt(0).toUpperCase()}${version.slice(1)}`,
  file: `${version}.ts`
})

/** The declaration of a constant, up to its version. */
const declaration = (name: string) =>
  new RegExp(`(export const ${name} = CustomResource\\.make\\(\\{[^]*?\\bversion: )"([^"]*)"`)

/** The source of a version, rewritten for another. */
export const copy = (text: string, from: string, to: Version): string =>
  text
    .replace(declaration(from), (_, before: string) => `${before}${JSON.stringify(to.version)}`)
    .replace(`export const ${from} =`, `export const ${to.name} =`)
    .replace(`export type ${from} =`, `export type ${to.name} =`)
    .replaceAll(new RegExp(`\\btypeof ${from}\\b`, "g"), `typeof ${to.name}`)

const folderOf = (kind: string) => `src/${Templates.lower({ kind })}`
const firstOf = (kind: string) => ({ name: kind, file: "resource.ts" })

/** Fails if the project does not have the kind. */
export const declared = Effect.fnUntraced(function*(top: string, kind: string) {
  const file = `${folderOf(kind)}/${firstOf(kind).file}`
  if (!(yield* Folder.exists(Path.join(top, file)))) {
    return yield* Failure.make(`there is no ${file} here: create it with \`effect-operator add kind ${kind}\``)
  }
})

/** The newest version of a kind in a project, with its source. */
const newest = Effect.fnUntraced(function*(top: string, kind: string) {
  yield* declared(top, kind)
  const folder = folderOf(kind)
  const files = yield* FileSystem.FileSystem
  const names = yield* Effect.mapError(files.readDirectory(Path.join(top, folder)), Failure.ofFile("read", folder))
  const [last] = names.flatMap((name) => pattern.test(Path.basename(name, ".ts")) ? [Path.basename(name, ".ts")] : [])
    .toSorted((a, b) => isAfter(a, b) ? -1 : 1)
  const { file, name } = last === undefined ? firstOf(kind) : further(kind, last)
  const text = (yield* Folder.read(Path.join(top, folder, file))) ?? ""
  const [, , version] = declaration(name).exec(text) ?? []
  if (version === undefined || !pattern.test(version)) {
    return yield* Failure.make(
      `${folder}/${file} has no \`export const ${name} = CustomResource.make({ …, version: "v1", … })\`, from ` +
        "which to derive another version: write the new version by hand, see docs/resources.md"
    )
  }
  return { text, version, name, file } satisfies Version & { readonly text: string }
})

/** The files of a new version, and the version before it. */
export const next = Effect.fnUntraced(function*(
  top: string,
  { kind, version }: Pick<Kind, "kind" | "version">,
  storage: boolean
) {
  const { text, ...before } = yield* newest(top, kind)
  if (!isAfter(version, before.version)) {
    return yield* Failure.make(
      `the version ${JSON.stringify(version)}: ${kind} already has ${before.version}: choose a newer one, such as ${
        following(before.version)
      }`
    )
  }
  const made = further(kind, version)
  const isFirst = before.file === firstOf(kind).file
  const files: Folder.Files = {
    [`${folderOf(kind)}/${made.file}`]: copy(text, before.name, made),
    ...isFirst ? yield* Templates.ofVersions(kind, before, made, storage) : {}
  }
  return { files, before, made, isFirst } satisfies Made
})

/** The next version: `v1` after `v1beta1`, `v2` after `v1`. */
const following = (version: string): string => {
  const [, major, stage] = pattern.exec(version)!
  return stage === undefined ? `v${Number(major) + 1}` : `v${major}`
}
