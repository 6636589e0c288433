/**
 * `Project`: what configures a new project: packages, types, CI and container.
 *
 * Packages are those that this one is built and tested with. Where they are not in a registry, `packages` is a folder of
 * tarballs as `npm pack` makes them.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import { containerfile } from "../manifests/Containerfile.ts"
import { version } from "../Version.ts"
import * as Failure from "./Failure.ts"
import type { Files } from "./Folder.ts"

/** What a project needs besides this framework; a test keeps them equal to what this repository uses. */
export const packages = {
  dependencies: { effect: "4.1.0" },
  devDependencies: {
    "@effect/vitest": "4.0.5",
    "@types/node": "^24.0.0",
    // The scripts run in this one, whichever is installed.
    node: "^24.0.0",
    typescript: "7.0.2",
    vitest: "5.1.1"
  }
} as const

/** Where the packages of this framework come from: the registry, or a folder of tarballs. */
export const framework = Effect.fnUntraced(function*(project: string, folder: string | undefined) {
  if (folder === undefined) return { "@effect-operator/core": version, "@effect-operator/k8s": version }
  const files = yield* FileSystem.FileSystem
  const names = yield* Effect.mapError(files.readDirectory(folder), Failure.ofFile("read", folder))
  const found: Record<string, string> = {}
  for (const name of ["core", "k8s"]) {
    const file = `effect-operator-${name}-${version}.tgz`
    if (!names.includes(file)) {
      return yield* Failure.make(`${folder} has no ${file}: make it with \`npm pack --workspaces\``)
    }
    found[`@effect-operator/${name}`] = `file:${Path.relative(project, Path.join(folder, file))}`
  }
  return found
})

const packageJson = (name: string, framework: Readonly<Record<string, string>>) => ({
  name,
  version: "0.1.0",
  private: true,
  type: "module",
  engines: { node: ">=22.19" },
  scripts: {
    start: "effect-operator dev --apply samples",
    test: "vitest run",
    check: "tsc && effect-operator check",
    manifests: "effect-operator manifests",
    build: "tsc -p tsconfig.build.json"
  },
  dependencies: { ...framework, ...packages.dependencies },
  devDependencies: packages.devDependencies
})

const tsconfig = {
  compilerOptions: {
    target: "ES2024",
    module: "NodeNext",
    lib: ["ES2024", "ESNext.Disposable"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
    noFallthroughCasesInSwitch: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
    skipLibCheck: true,
    noEmit: true
  },
  include: ["src", "test"]
}

const tsconfigBuild = {
  extends: "./tsconfig.json",
  compilerOptions: { noEmit: false, rootDir: "src", outDir: "dist" },
  include: ["src"]
}

const ci = `name: ci
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: { fetch-depth: 0 }
      - uses: actions/setup-node@v4
        with: { node-version: 24, cache: npm }
      - run: npm ci
      - run: npm run check
      - run: npm test
      - run: npm start -- --once
      # Definitions may not change in a way that breaks what is stored.
      - if: github.event_name == 'pull_request'
        run: npx effect-operator check --against origin/\${{ github.base_ref }}
`

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

/** The files by name. */
export const files = (name: string, framework: Readonly<Record<string, string>>): Files => ({
  "package.json": json(packageJson(name, framework)),
  "tsconfig.json": json(tsconfig),
  "tsconfig.build.json": json(tsconfigBuild),
  ".gitignore": "node_modules\ndist\n",
  ".dockerignore": "node_modules\ndist\n.git\n",
  "Containerfile": containerfile({ main: "dist/main.js" }),
  ".github/workflows/ci.yml": ci
})
