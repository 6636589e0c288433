/**
 * The program that `Description.read` runs: imports the given module, and writes to file descriptor 3 the manifests of
 * its export `operator`, or what is wrong with it. Then it exits, whatever the module has started.
 */
import * as Fs from "node:fs"
import * as Module from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Report } from "./Description.ts"

const main = process.argv[2]!
const sources = new Set<string>()

Module.registerHooks({
  load: (url, context, next) => {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) sources.add(fileURLToPath(url))
    return next(url, context)
  }
})

const answer = (report: Omit<Report, "sources">): void => {
  Fs.writeSync(3, JSON.stringify({ sources: [...sources], ...report }))
  process.exit(0)
}

/** The stack of an error without Node's own lines. */
const explain = (error: unknown): string => {
  if (!(error instanceof Error)) return `threw ${String(error)}`
  const lines = (error.stack ?? error.message).split("\n")
  return lines.filter((line) => !/^\s+at .*\b(node:|processTicksAndRejections)/.test(line)).join("\n").trimEnd()
}

sources.add(main)
try {
  const { of } = await import("./Exported.ts")
  const exports = await import(pathToFileURL(main).href) as Readonly<Record<string, unknown>>
  const description = of(exports)
  answer(description._tag === "Success" ? { description: description.success } : { fault: description.failure })
} catch (error) {
  answer({ fault: `cannot be imported\n${explain(error)}` })
}
