/**
 * `LockFile`: a `package-lock.json` that `npm ci` accepts on every platform.
 *
 * A package with platform-specific binaries lists all of them as optional dependencies. npm omits those that the
 * registry does not have (for instance a mirror that was filled on one platform), and then rejects its own file as out
 * of sync. The missing ones are added with their version and platform. If the registry has all of them, nothing
 * changes.
 */

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  readonly packages: Readonly<Record<string, Entry>>
}

/** The platform in a package name: `@effect/tsgo-darwin-arm64`. */
const platformOf = (name: string) => {
  const [, os, cpu] = /-(win32|darwin|linux|freebsd|android)-(x64|arm64|arm|ia32|ppc64|riscv64|s390x)\b/.exec(name) ??
    []
  return os === undefined || cpu === undefined ? undefined : { os: [os], cpu: [cpu] }
}

/** The text of the file with the missing entries. */
export const complete = (text: string): string => {
  const lock = JSON.parse(text) as Lock
  const missing = Object.values(lock.packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies).flatMap(([name, version]) => {
      const at = `node_modules/${name}`
      const platform = platformOf(name)
      // A version range can only be resolved by a registry.
      if (lock.packages[at] !== undefined || platform === undefined || !/^\d/.test(version)) return []
      return [[at, { version, optional: true, ...platform, ...(dev === true ? { dev } : {}) }] as const]
    })
  )
  return missing.length === 0
    ? text
    : `${JSON.stringify({ ...lock, packages: { ...lock.packages, ...Object.fromEntries(missing) } }, null, 2)}\n`
}
