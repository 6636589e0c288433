/**
 * Executes a container file without a container engine: every stage is a folder, `COPY` copies, and `RUN` runs in the
 * folder with the Node of this process. The contents of base images are missing, so that it shows if the program needs
 * anything of them but Node. Only instructions that `Manifests.containerfile` writes are supported.
 */
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"

export interface Image {
  /** The folder of the last stage: the root of its files. */
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly command: ReadonlyArray<string>
}

interface Stage {
  readonly root: string
  workdir: string
  readonly env: Record<string, string>
  user: string
  command: ReadonlyArray<string>
}

/** Names in `.dockerignore`: at the top, or at any depth after `**`. */
const ignores = (context: string): (path: string) => boolean => {
  const file = Path.join(context, ".dockerignore")
  const patterns = Fs.existsSync(file) ? Fs.readFileSync(file, "utf8").split("\n").filter((line) => line !== "") : []
  return (path) => {
    const parts = path.split(Path.sep)
    return patterns.some((pattern) =>
      pattern.startsWith("**/") ? parts.includes(pattern.slice(3)) : parts[0] === pattern
    )
  }
}

/** Executes a container file. Throws at the first unsupported instruction. */
export const build = (file: string, context: string, folder: string): Image => {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  const ignored = ignores(context)
  const inside = ({ root, workdir }: Stage, path: string) => Path.join(root, Path.resolve(workdir, path))
  const carryOut = (current: Stage, instruction: string, rest: string): void => {
    switch (instruction) {
      case "WORKDIR":
        current.workdir = Path.resolve(current.workdir, rest)
        Fs.mkdirSync(inside(current, "."), { recursive: true })
        return
      case "ENV": {
        const [name, value] = rest.split("=")
        current.env[name!] = value!
        return
      }
      case "USER":
        current.user = rest
        return
      case "CMD":
        current.command = JSON.parse(rest) as ReadonlyArray<string>
        return
      case "RUN":
        ChildProcess.execSync(rest, {
          cwd: inside(current, "."),
          env: { ...process.env, ...current.env, PATH: `${Path.dirname(process.execPath)}:/usr/bin:/bin` },
          stdio: ["ignore", "ignore", "inherit"]
        })
        return
      case "COPY": {
        const [, name, source, target] = /^(?:--from=(\S+) )?(\S+) (\S+)$/.exec(rest) ?? []
        if (source === undefined || target === undefined) throw new Error(`not understood: COPY ${rest}`)
        const from = name === undefined ? undefined : stages.get(name)
        if (name !== undefined && from === undefined) throw new Error(`COPY ${rest}: there is no stage ${name}`)
        const path = from === undefined ? Path.join(context, source) : inside(from, source)
        if (!Fs.existsSync(path)) throw new Error(`COPY ${rest}: ${source} does not exist`)
        Fs.cpSync(path, inside(current, target), {
          recursive: true,
          verbatimSymlinks: true,
          filter: (file) => from !== undefined || !ignored(Path.relative(context, file))
        })
        return
      }
      default:
        throw new Error(`not understood: ${instruction} ${rest}`)
    }
  }
  for (const line of Fs.readFileSync(file, "utf8").split("\n")) {
    const [, instruction, rest] = /^(\w+) (.*)$/.exec(line) ?? []
    if (instruction === undefined || rest === undefined) continue
    if (instruction === "FROM") {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? "image"
      const root = Path.join(folder, name)
      Fs.mkdirSync(root, { recursive: true })
      stage = { root, workdir: "/", env: {}, user: "0", command: [] }
      stages.set(name, stage)
    } else if (stage === undefined) throw new Error(`${instruction} before FROM`)
    else carryOut(stage, instruction, rest)
  }
  if (stage === undefined) throw new Error(`${file} has no FROM`)
  return stage
}

/** The libraries that a program is linked with, by path. */
const librariesOf = (program: string): ReadonlyArray<string> =>
  ChildProcess.execFileSync("ldd", [program], { encoding: "utf8" }).split("\n")
    .flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? [])

/** The path of Node in the base image, which is its entry point. */
export const entrypoint = "/nodejs/bin/node"

/** Adds what the base image contains: Node, and the libraries that it is linked with. */
export const addBase = ({ root }: Image): void => {
  const put = (from: string, to: string) => {
    Fs.mkdirSync(Path.dirname(Path.join(root, to)), { recursive: true })
    Fs.copyFileSync(from, Path.join(root, to))
  }
  put(process.execPath, entrypoint)
  for (const library of librariesOf(process.execPath)) put(library, library)
}

/** The files that a user who owns none of them can write. */
export const writable = (root: string, uid: number): ReadonlyArray<string> =>
  Fs.readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => {
    const { mode, uid: owner } = Fs.lstatSync(Path.join(root, name))
    return owner === uid || (mode & 0o120002) === 0o100002 || (mode & 0o040002) === 0o040002
  })
