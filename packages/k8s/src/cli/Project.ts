/**
 * `Project`: the configuration of a new project: packages, types, diagnostics of Effect, lint, CI and container.
 *
 * The versions of packages are those that this package is built and tested with. If the packages of this framework are
 * not in a registry, they are copied from a folder of tarballs made by `npm pack`, because CI and container builds have
 * nothing but the project.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import { containerfile } from "../manifests/Containerfile.ts"
import { version } from "../Version.ts"
import * as Failure from "./Failure.ts"
import type { Files } from "./Folder.ts"

/** The packages that a project needs besides this framework; a test keeps them equal to those of this repository. */
export const packages = {
  dependencies: { effect: "4.1.0" },
  devDependencies: {
    // Reports effects that are never run, such as after a forgotten `yield*`, which types and lint accept.
    "@effect/tsgo": "0.45.0",
    "@effect/vitest": "4.0.5",
    "@types/node": "^24.0.0",
    // Scripts run with this version, whatever Node is installed.
    node: "^24.0.0",
    // Here and below: a release whose optional packages are in every registry, or npm writes an incomplete lock file.
    oxlint: "1.89.0",
    rolldown: "1.2.19",
    typescript: "7.0.2",
    // A peer of vitest, of which npm would take the newest.
    vite: "8.3.8",
    vitest: "5.1.1"
  }
} as const

/** The project's folder for packages that are not in a registry. */
export const vendor = "vendor"

/** The packages of this framework: from the registry, or copied from a folder of tarballs into the project. */
export const framework = Effect.fnUntraced(function*(folder: string | undefined) {
  const dependencies: Record<string, string> = {}
  const tarballs: Record<string, Uint8Array> = {}
  for (const name of ["core", "k8s"]) {
    dependencies[`@effect-operator/${name}`] = version
    if (folder === undefined) continue
    const file = `effect-operator-${name}-${version}.tgz`
    const files = yield* FileSystem.FileSystem
    tarballs[`${vendor}/${file}`] = yield* files.readFile(Path.join(folder, file)).pipe(
      Effect.catchReason(
        "PlatformError",
        "NotFound",
        () => Effect.fail(Failure.make(`${folder} has no ${file}: make it with \`npm pack --workspaces\``))
      ),
      Effect.catchTag("PlatformError", (error) => Effect.fail(Failure.ofFile("read", file)(error)))
    )
    dependencies[`@effect-operator/${name}`] = `file:${vendor}/${file}`
  }
  return { dependencies, tarballs }
})

const packageJson = (name: string, framework: Readonly<Record<string, string>>) => ({
  name,
  version: "0.1.0",
  private: true,
  type: "module",
  engines: { node: ">=22.19" },
  scripts: {
    start: "effect-operator dev --apply samples",
    // The first test loads everything, which takes longer than vitest's five seconds on a busy machine.
    test: "vitest run --testTimeout 30000",
    check: "tsc && npm run effects && npm run lint && effect-operator check",
    effects: "effect-tsgo diagnostics --project tsconfig.json --severity error",
    lint: "oxlint --deny-warnings src test",
    manifests: "effect-operator manifests",
    // A single file. No program in a Pod needs the package that is left out.
    build:
      "rolldown src/main.ts --file dist/main.mjs --platform node --no-codeSplitting --external @kubernetes/client-node"
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
    noEmit: true,
    plugins: [{ name: "@effect/language-service" }]
  },
  include: ["src", "test"]
}

const fromEffect = "time and chance come from Effect's Clock and Random, so that a test can set them"

/** In addition to general rules: forbids what would keep a test from running in virtual time. */
const lint = {
  plugins: ["typescript", "import", "unicorn", "oxc"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "import/no-cycle": "error",
    "no-shadow": "off",
    "no-underscore-dangle": "off",
    "require-yield": "off",
    "unicorn/consistent-function-scoping": "off",
    // What a cache shares is a `ReadonlyArray`, which has no `sort`.
    "unicorn/no-array-sort": "off"
  },
  overrides: [{
    files: ["src/**"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...["setTimeout", "setInterval", "performance"].map((name) => ({ name, message: fromEffect }))
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: fromEffect },
        { object: "Math", property: "random", message: fromEffect },
        { object: "crypto", property: "randomUUID", message: fromEffect }
      ]
    }
  }]
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

/** The configuration files by name. */
export const files = (name: string, framework: Readonly<Record<string, string>>): Files => ({
  "package.json": json(packageJson(name, framework)),
  "tsconfig.json": json(tsconfig),
  ".oxlintrc.json": json(lint),
  ".gitignore": "node_modules\ndist\n",
  ".dockerignore": "node_modules\ndist\n.git\n",
  "Containerfile": containerfile({ main: "dist/main.mjs" }),
  ".github/workflows/ci.yml": ci
})
