/** The parts of the simulation know only those before them: what judges a run cannot have a say in it. */
import { assert, it } from "@effect/vitest"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../src/testing/simulation/", import.meta.url))

const layers = ["world", "recording", "state", "story", "running", "oracles", "exploring", "telling"]

/** What a file imports from the simulation, by paths that begin there. */
const imports = (file: string): ReadonlyArray<string> =>
  Array.from(
    Fs.readFileSync(Path.join(root, file), "utf8").matchAll(/^(?:import|export)[^"]*from "(\.[^"]+)"/gm),
    ([, path]) => Path.join(Path.dirname(file), path!)
  ).filter((path) => !path.startsWith(".."))

const layerOf = (file: string): number => layers.indexOf(Path.dirname(file))

it("every part knows only those before it", () => {
  const files = layers.flatMap((layer) => Fs.readdirSync(Path.join(root, layer)).map((file) => Path.join(layer, file)))
  const upwards = files.flatMap((file) =>
    imports(file).filter((other) => layerOf(other) > layerOf(file)).map((other) => `${file} knows ${other}`)
  )
  assert.deepStrictEqual(upwards, [])
  assert.isAbove(files.flatMap(imports).length, 200)
})
