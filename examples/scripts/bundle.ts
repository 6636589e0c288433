/**
 * `npm run bundle -- EXAMPLE|MAIN [FILE]`: bundles an example, or the program of a main module, into one JavaScript
 * file that needs nothing but Node.
 *
 * Loading hundreds of small modules is most of the cost of a start. One file, together with Node's compile cache
 * (`NODE_COMPILE_CACHE=/some/folder`), leaves little of it. Modules that a program imports only when it needs them,
 * such as a YAML parser, are in the file but are not evaluated until then. `@kubernetes/client-node` is left out: it is
 * ten times as large as the rest, and only the `auth-provider` users of old kubeconfigs need it, never a pod.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** Bundles the program of a main module. */
export const bundle = async (main: string, file: string): Promise<void> => {
  const built = await rolldown({
    input: main,
    platform: "node",
    external: ["@kubernetes/client-node"],
    resolve: { conditionNames: ["op-source", "node", "import", "default"] },
    logLevel: "warn"
  })
  await built.write({ file, format: "esm", codeSplitting: false, minify: true })
  await built.close()
}

if (import.meta.main) {
  const [program, named] = process.argv.slice(2)
  if (program === undefined) {
    console.error("bundle: name an example or a main module: npm run bundle -- autoscaler [FILE]")
    process.exit(2)
  }
  const isFile = /\.[cm]?[jt]s$/.test(program)
  const main = isFile
    ? Path.resolve(program)
    : Path.join(Path.dirname(fileURLToPath(import.meta.url)), `../src/${program}/main.ts`)
  if (!Fs.existsSync(main)) {
    console.error(`bundle: ${main} does not exist: name an example, or the file of a main module`)
    process.exit(2)
  }
  const file = named ?? `${isFile ? Path.basename(Path.dirname(Path.dirname(main))) : program}.mjs`
  await bundle(main, Path.resolve(file))
  console.log(`${file}: run it with: NODE_COMPILE_CACHE=.cache node ${file}`)
}
