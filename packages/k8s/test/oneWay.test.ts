/** Files know one another one way only, types included: each can be read without those that are built on it. */
import { assert, it } from "@effect/vitest"
import * as Graph from "effect/Graph"
import * as Option from "effect/Option"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

/** What a file imports from its own package. */
const imports = (file: string): ReadonlyArray<string> =>
  Array.from(
    Fs.readFileSync(file, "utf8").matchAll(/^(?:import|export)[^"]*from "(\.[^"]+)"/gm),
    ([, path]) => Path.join(Path.dirname(file), path!)
  )

/** The files of each circle. */
const circles = (known: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const graph = Graph.directed<string, undefined>((mutable) => {
    const nodes = new Map(Array.from(known.keys(), (file) => [file, Graph.addNode(mutable, file)]))
    for (const [file, others] of known) {
      for (const other of others) Graph.addEdge(mutable, nodes.get(file)!, nodes.get(other)!, undefined)
    }
  })
  return Graph.stronglyConnectedComponents(graph)
    .filter(({ length }) => length > 1)
    .map((circle) => circle.map((node) => Option.getOrThrow(Graph.getNode(graph, node))).toSorted())
}

it("finds a circle", () => {
  const known = new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]], ["d", ["a"]]])
  assert.deepStrictEqual(circles(known), [["b", "c"]])
})

/** What each file of a package imports from it. */
const importsOf = (name: string) => {
  const root = fileURLToPath(new URL(`../../${name}/src/`, import.meta.url))
  const files = Fs.readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
  const known = new Map(files.map((file) => [Path.join(root, file), imports(Path.join(root, file))]))
  assert.isAbove([...known.values()].flat().length, 300)
  return { root, known }
}

for (const name of ["core", "k8s"]) {
  it(`the files of ${name} are in no circle`, () => {
    const { known, root } = importsOf(name)
    assert.deepStrictEqual(circles(known).map((circle) => circle.map((file) => Path.relative(root, file))), [])
  })
}

it("the index of core lists each module after all that it is built on", () => {
  const { known, root } = importsOf("core")
  const builtOn = (file: string, found = new Set<string>()): ReadonlySet<string> => {
    for (const other of known.get(file)!) if (!found.has(other)) builtOn(other, found.add(other))
    return found
  }
  const listed = known.get(Path.join(root, "index.ts"))!
  assert.isAbove(listed.length, 40)
  const early = listed.flatMap((file, place) => {
    const needed = builtOn(file)
    return listed.slice(place + 1).filter((other) => needed.has(other))
      .map((other) => `${Path.relative(root, file)} before ${Path.relative(root, other)}`)
  })
  assert.deepStrictEqual(early, [])
})
