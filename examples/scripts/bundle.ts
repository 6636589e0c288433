/**
 * `npm run bundle -- EXAMPLE|MAIN [FILE]`: an example, or the program of a main module, as one JavaScript file that needs
 * nothing but Node, packages and all.
 *
 * Loading hundreds of small modules is most of what a start costs; one file, and Node's compile cache
 * (`NODE_COMPILE_CACHE=/some/folder`), leave little of it. What a program imports only when it needs it, such as a YAML
 * parser, is in the file and stays asleep until then. Left out is `@kubernetes/client-node`, ten times the rest, which
 * only the `auth-provider` users of old kubeconfigs need, never a pod.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** Bundles the program whose main module is given. */
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
