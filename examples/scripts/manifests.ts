/**
 * `npm run manifests -- NAME`: prints the manifests of an example as one YAML stream. `-- --write` writes the files of
 * all examples below `deploy/`; `-- --check` fails if those files are out of date.
 */
import { Manifests } from "@effect-operator/k8s"
import * as Fs from "node:fs"
import { examples } from "../src/examples.ts"
import { manifests } from "../src/Example.ts"

const deploy = new URL("../deploy/", import.meta.url)

const fail = (message: string): never => {
  process.stderr.write(`manifests: ${message}\n`)
  process.exit(1)
}

const argument = process.argv[2] ?? fail(`an example is missing: one of ${examples.map(({ name }) => name).join(", ")}`)

if (argument === "--write" || argument === "--check") {
  for (const example of examples) {
    const folder = { ...Manifests.files(manifests(example)), "sample.yaml": [example.sample] }
    const files: Readonly<Record<string, string>> = {
      ...Object.fromEntries(Object.entries(folder).map(([file, objects]) => [file, Manifests.format(objects)])),
      // Built from the root of this repository: podman build -f examples/deploy/NAME/Containerfile .
      "Containerfile": Manifests.containerfile({
        main: "dist/main.mjs",
        build: `npm run bundle -- ${example.name} dist/main.mjs`
      })
    }
    for (const [file, text] of Object.entries(files)) {
      const url = new URL(`${example.name}/${file}`, deploy)
      if (argument === "--write") {
        Fs.mkdirSync(new URL(".", url), { recursive: true })
        Fs.writeFileSync(url, text)
      } else if (!Fs.existsSync(url) || Fs.readFileSync(url, "utf8") !== text) {
        fail(`deploy/${example.name}/${file} is not up to date: run npm run manifests -- --write`)
      }
    }
  }
} else {
  const example = examples.find(({ name }) => name === argument) ??
    fail(`${JSON.stringify(argument)} is no example: one of ${examples.map(({ name }) => name).join(", ")}`)
  process.stdout.write(Manifests.format(Manifests.stream(manifests(example))))
}
