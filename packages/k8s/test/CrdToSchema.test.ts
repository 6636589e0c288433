/** Source made from definitions in the manner of well-known projects: it compiles, and their objects decode. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { crdToSchema } from "../src/CrdToSchema.ts"
import { samples } from "./crds/projects/index.ts"
import { folder } from "./support/folder.ts"

const root = Path.resolve(import.meta.dirname, "../../..")

const strict = {
  compilerOptions: {
    target: "ES2024",
    module: "NodeNext",
    moduleResolution: "NodeNext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
    customConditions: ["op-source"],
    allowImportingTsExtensions: true
  },
  include: ["*.ts"]
}

/** Modules of all definitions, in a folder of their own. */
const generated = Effect.gen(function*() {
  const sources = samples.map(({ definition, project }) => [`${project}.ts`, crdToSchema(definition as never)] as const)
  const path = yield* folder({
    ...Object.fromEntries(sources),
    "package.json": JSON.stringify({ type: "module" }),
    "tsconfig.json": JSON.stringify(strict)
  })
  Fs.symlinkSync(Path.join(root, "node_modules"), Path.join(path, "node_modules"))
  return path
})

const run = (command: string, args: ReadonlyArray<string>, cwd: string) =>
  Effect.callback<{ readonly code: number; readonly output: string }>((resume) => {
    ChildProcess.execFile(
      command,
      args,
      { cwd },
      (error, stdout, stderr) => resume(Effect.succeed({ code: error === null ? 0 : 1, output: stdout + stderr }))
    )
  })

const bin = (name: string) => Path.join(root, "node_modules/.bin", name)

describe("crdToSchema", () => {
  it("covers ten definitions and more", () => assert.isAtLeast(samples.length, 10))

  it.live("compiles under strict", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(bin("tsc"), ["-p", "."], yield* generated)
      assert.strictEqual(code, 0, output)
    }).pipe(Effect.scoped), 120_000)

  it.live(
    "decodes what the servers of these definitions take",
    () =>
      Effect.gen(function*() {
        const path = yield* generated
        for (const { definition, project, valid } of samples) {
          const module = yield* Effect.promise(() => import(/* @vite-ignore */ Path.join(path, `${project}.ts`)))
          const resources = Object.values<any>(module)
          assert.strictEqual(
            resources.length,
            definition["spec"].versions.filter((version: any) => version.served).length
          )
          const { group, names, versions } = definition["spec"]
          const envelope = {
            apiVersion: `${group}/${versions.find(({ storage }: any) => storage).name}`,
            kind: names.kind,
            metadata: { name: "a", namespace: "default" }
          }
          let decoded = 0
          for (const { object: sample, spec } of valid) {
            const object: Record<string, any> = {
              ...envelope,
              ...sample,
              // As it is stored: without the nulls that the server drops.
              ...(spec === undefined ? {} : { spec })
            }
            const resource = resources.find(({ apiVersion }) => apiVersion === object["apiVersion"])
            if (resource === undefined) continue
            const found = resource.decode(object)
            if (Result.isFailure(found)) {
              assert.fail(`${project}: ${JSON.stringify(object)}: ${JSON.stringify(found.failure)}`)
            }
            decoded++
          }
          assert.isAbove(decoded, 0, project)
        }
      }).pipe(Effect.scoped),
    120_000
  )

  it("names what it makes after the kind, and the version where there are several", () => {
    const version = (name: string, served = true) => ({
      name,
      served,
      storage: name === "v1",
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              required: ["size", "odd-name"],
              properties: {
                size: { type: "integer", minimum: 1, default: 1 },
                "odd-name": { type: "string", pattern: "^a/b$", nullable: true, description: "Odd." }
              }
            }
          }
        }
      }
    })
    const spec = { group: "example.com", scope: "Cluster", names: { kind: "Box", plural: "boxes" } }
    const one = crdToSchema({ spec: { ...spec, versions: [version("v1"), version("v0", false)] } } as never)
    assert.include(one, "export const Box = CustomResource.make({\n  group: \"example.com\",\n  version: \"v1\"")
    assert.include(one, "size: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).pipe(\n")
    assert.include(one, "Schema.withDecodingDefaultKey(Effect.succeed(1 as const))")
    assert.include(
      one,
      "\"odd-name\": Schema.NullOr(Schema.String.check(Schema.isPattern(/^a\\/b$/u)).annotate({ description: \"Odd.\" }))"
    )
    assert.notInclude(one, "CelRule")
    const two = crdToSchema({ spec: { ...spec, versions: [version("v1"), version("v2alpha1")] } } as never)
    assert.match(two, /export const BoxV1 =[\s\S]*export type BoxV2alpha1 = typeof BoxV2alpha1\.Type\n$/)
  })
})
