/** Source made from definitions in the manner of well-known projects: it compiles, and their objects decode. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Crd from "../src/Crd.ts"
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

/** Keywords that a Schema of Effect has no word for: they are left to the server. */
const unsaid = new Set(["anyOf", "oneOf", "allOf", "not", "example", "externalDocs", "title"])

const isInner = (value: unknown): value is Readonly<Record<string, any>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A schema without what is not said again, and with one form where there are several of the same meaning. */
const schemaSaid = (schema: Readonly<Record<string, any>>): unknown => {
  const { default: filled, items, ...inner } = schema
  // What a server looks at in an embedded object anyway is said again.
  const { properties, required = [], ...rest } = inner["x-kubernetes-embedded-resource"] === true
    ? { ...inner, properties: undefined, required: [] }
    : inner
  const anything = rest["x-kubernetes-preserve-unknown-fields"] === true && rest["type"] === undefined
  // A default fills what is required, nested ones are part of one that encloses them, a pattern may look different.
  const needed = required.filter((name: string) => properties?.[name]?.default === undefined).toSorted()
  const words = Object.entries(rest).filter(([key, value]) =>
    !unsaid.has(key) && !(key === "pattern" && rest["x-kubernetes-int-or-string"] === true) &&
    // Absent and zero, granular and not atomic, null where anything may stand: the same.
    !(key.startsWith("min") && value === 0) && value !== "granular" && !(key === "nullable" && anything) &&
    value !== false
  )
  return {
    ...Object.fromEntries(words.map(([key, value]) => [key, key === "pattern" ? "a pattern" : within(key, value)])),
    ...(filled === undefined || isInner(filled) ? {} : { default: filled }),
    ...(items === undefined ? {} : { items: schemaSaid(items) }),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...(properties === undefined || Object.keys(properties).length === 0
      ? {}
      : {
        properties: Object.fromEntries(Object.entries<any>(properties).map(([key, value]) => [key, schemaSaid(value)]))
      })
  }
}

const within = (key: string, value: any): unknown =>
  key === "additionalProperties" && isInner(value) ? schemaSaid(value) : value

/** A version without what a server fills in, or asks for of every object; and what remarks in the source are about. */
const said = ({ schema, subresources = {}, additionalPrinterColumns = [], ...version }: any) => {
  const { properties: { spec, status }, required = [], ...root } = schema.openAPIV3Schema
  const properties = { ...(spec === undefined ? {} : { spec }), ...(status === undefined ? {} : { status }) }
  return {
    ...version,
    additionalPrinterColumns,
    subresources: status === undefined ? subresources : { ...subresources, status: {} },
    schema: schemaSaid({ ...root, properties, required: required.filter((name: string) => name !== "metadata") })
  }
}

describe("crdToSchema", () => {
  it("covers ten definitions and more", () => assert.isAtLeast(samples.length, 10))

  it.live("compiles under strict", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(bin("tsc"), ["-p", "."], yield* generated)
      assert.strictEqual(code, 0, output)
    }).pipe(Effect.scoped))

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
      }).pipe(Effect.scoped)
  )

  it.live(
    "makes the definition again, but for what a Schema cannot say",
    () =>
      Effect.gen(function*() {
        const path = yield* generated
        for (const { definition, project } of samples) {
          const module = yield* Effect.promise(() => import(/* @vite-ignore */ Path.join(path, `${project}.ts`)))
          for (const resource of Object.values<any>(module)) {
            const before = definition["spec"].versions.find(({ name }: any) => name === resource.version)
            // Where a definition says nothing of the fields there is nothing to say again.
            if (before.schema.openAPIV3Schema.properties === undefined) continue
            const [after] = JSON.parse(JSON.stringify(Crd.make(resource).spec.versions))
            const told = `${project} ${resource.version}`
            assert.deepStrictEqual(said(after), said({ ...before, storage: true }), told)
          }
        }
      }).pipe(Effect.scoped)
  )

  it("says what a kind has besides, and names one of small letters as types are named", () => {
    const properties = { spec: { type: "object" }, data: { type: "object" }, status: { type: "object" } }
    const versions = [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", properties } }
    }]
    const spec = {
      group: "acid.example.com",
      scope: "Namespaced",
      names: { kind: "postgresql", plural: "postgresqls" },
      versions
    }
    const source = crdToSchema({ spec } as never)
    assert.include(
      source,
      "/** Beside spec and status it has data: kept as they are, without a type. Its status is written with the object: " +
        "the definition has no status subresource. */\nexport const Postgresql = CustomResource.make({"
    )
    assert.include(source, "kind: \"postgresql\"")
  })

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
