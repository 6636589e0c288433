/**
 * Contestants as one deploys a program, in one file of JavaScript each: `bundle.ts FOLDER NAME...` prints the files. Run
 * from source, half the memory of a small program is that of what strips types. A process of its own, because the peak of
 * a process begins with the memory of its parent.
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
