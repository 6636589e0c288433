/**
 * Bundles contestants as a program would be deployed, each into one JavaScript file: `bundle.ts FOLDER NAME...` prints
 * the files. When running from source, stripping types takes half the memory of a small program. It runs in its own
 * process, because a process's peak memory starts with that of its parent.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { bundle } from "../../examples/scripts/bundle.ts"

const modules: Readonly<Record<string, string>> = {
  bytes: "floors",
  plain: "floors",
  clientNode: "clientNode",
  ours: "ours",
  lazy: "ours"
}

const [folder = ".", ...names] = process.argv.slice(2)
const module = (name: string) => JSON.stringify(Path.join(import.meta.dirname, `${name}.ts`))

const files = await Promise.all(names.map(async (name) => {
  const main = Path.join(folder, `${name}.ts`)
  const file = Path.join(folder, `${name}.mjs`)
  Fs.writeFileSync(
    main,
    `import { measure } from ${module("child")}\n` +
      `import { ${name} } from ${module(modules[name] ?? name)}\n` +
      `await measure(${name})\n`
  )
  await bundle(main, file)
  return file
}))
console.log(JSON.stringify(files))
