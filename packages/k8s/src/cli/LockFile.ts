/**
 * `LockFile`: a `package-lock.json` that `npm ci` takes everywhere.
 *
 * A package with a program for each platform names all of them as optional. Of those that a registry does not have (a
 * mirror that was filled on one platform) npm writes nothing, and then refuses its own file as out of step. They are
 * noted as what they are: of that version, for that platform. Where a registry has all of them nothing changes.
 */

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  readonly packages: Readonly<Record<string, Entry>>
}

/** `@effect/tsgo-darwin-arm64` is for that platform. */
const platformOf = (name: string) => {
  const [, os, cpu] = /-(win32|darwin|linux|freebsd|android)-(x64|arm64|arm|ia32|ppc64|riscv64|s390x)\b/.exec(name) ??
    []
  return os === undefined || cpu === undefined ? undefined : { os: [os], cpu: [cpu] }
}

/** The text of the file, with what is missing. */
export const complete = (text: string): string => {
  const lock = JSON.parse(text) as Lock
  const missing = Object.values(lock.packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies).flatMap(([name, version]) => {
      const at = `node_modules/${name}`
      const platform = platformOf(name)
      // A range would have to be resolved, which only a registry can.
      if (lock.packages[at] !== undefined || platform === undefined || !/^\d/.test(version)) return []
      return [[at, { version, optional: true, ...platform, ...(dev === true ? { dev } : {}) }] as const]
    })
  )
  return missing.length === 0
    ? text
    : `${JSON.stringify({ ...lock, packages: { ...lock.packages, ...Object.fromEntries(missing) } }, null, 2)}\n`
}
