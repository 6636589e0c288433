/**
 * `KubeConfigWriter`: writes new tokens of a user back into the kubeconfig file that they came from, and reads what
 * others have written there.
 *
 * Comments and everything else stay unchanged. The file is replaced atomically, keeps its mode, and is locked as
 * kubectl locks it (`FILE.lock`), so that neither overwrites the other's changes.
 *
 * Source: client-go, tools/clientcmd/config.go (persister) and loader.go (lockFile).
 */
import { Transport } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Fs from "node:fs/promises"
import { codeOf } from "./FileSource.ts"
import type { RawUser } from "./KubeConfigDocument.ts"
import type { Tokens } from "./Oidc.ts"

export const saveTokens = (file: string, user: string, tokens: Tokens): Effect.Effect<void, Transport> =>
  Effect.acquireUseRelease(
    attempt(file, async () => {
      const lock = `${file}.lock`
      await (await Fs.open(lock, "wx", 0)).close()
      return lock
    }),
    () => attempt(file, () => replace(file, user, tokens)),
    (lock) => Effect.promise(() => Fs.rm(lock, { force: true }))
  )

/** The tokens of the user in the file; undefined if it cannot be read, or no longer has the user. */
export const readTokens = (file: string, user: string): Effect.Effect<Partial<Tokens> | undefined> =>
  Effect.orElseSucceed(
    Effect.tryPromise(async () => {
      const { parse } = await import("yaml")
      const { users } = parse(await Fs.readFile(file, "utf8")) as {
        readonly users?: ReadonlyArray<{ readonly name?: string; readonly user?: RawUser }>
      }
      const config = users?.find(({ name }) => name === user)?.user?.["auth-provider"]?.config
      if (config === undefined || config === null) return undefined
      const token = (name: string) => config[name] ? Redacted.make(config[name]) : undefined
      const [idToken, refreshToken] = [token("id-token"), token("refresh-token")]
      return {
        ...(idToken === undefined ? {} : { idToken }),
        ...(refreshToken === undefined ? {} : { refreshToken })
      }
    }),
    () => undefined
  )

const attempt = <A>(file: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new Transport({ message: `cannot write new tokens to ${file}: ${codeOf(cause)}` })
  })

const replace = async (file: string, user: string, tokens: Tokens): Promise<void> => {
  const { parseDocument } = await import("yaml")
  // The file itself if the name is a symbolic link.
  const target = await Fs.realpath(file)
  const document = parseDocument(await Fs.readFile(target, "utf8"))
  const { users } = document.toJS() as { readonly users?: ReadonlyArray<{ readonly name?: string }> }
  const at = users?.findIndex(({ name }) => name === user) ?? -1
  if (at < 0) throw Object.assign(new Error(), { code: `it no longer has the user ${user}` })
  const config = ["users", at, "user", "auth-provider", "config"]
  document.setIn([...config, "id-token"], Redacted.value(tokens.idToken))
  document.setIn([...config, "refresh-token"], Redacted.value(tokens.refreshToken))
  const next = `${target}.new`
  const { mode } = await Fs.stat(target)
  await Fs.writeFile(next, document.toString(), { mode })
  await Fs.rename(next, target)
}
