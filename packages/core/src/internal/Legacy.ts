/**
 * `Legacy`: who takes over from another replica reads what that one has written, before it does anything.
 *
 * Its caches are warm, but a watch may be behind: a Pod that the former leader has just made would be made again. So each
 * replica says in its lease how far its writes have come, by what is cached, and whoever follows waits until its own
 * caches have come as far. Known of are creations and changes, also of those before; a deletion has no resourceVersion
 * that its writer is told. What was written long ago everybody has seen: of many caches those count that were written to
 * last, so that what a lease says never becomes too long.
 */
import * as Effect from "effect/Effect"
import type { Informer } from "../Informers.ts"
import { defaults as informers, idOf } from "../Informers.ts"
import { compareResourceVersions } from "../KubeObject.ts"
import { onChange } from "./reader.ts"

export const defaults = {
  /** How long caches may take, in milliseconds: then it is told, and work goes on with what they show. */
  patience: 30_000,
  /** Of so many caches a lease tells at most. */
  caches: informers.written
} as const

/** Of a lease. */
export const annotation = "effect-operator.dev/wrote"

const isText = (value: unknown): value is string => typeof value === "string" && /^\d+$/.test(value)

export class Legacy {
  /** The resourceVersions of what others wrote last, by informer. */
  #inherited = new Map<string, string>()
  readonly #written: () => ReadonlyMap<string, string>
  readonly #active: () => ReadonlyArray<Informer>

  /** Of a process that has written so far, and has these caches. */
  constructor(written: () => ReadonlyMap<string, string>, active: () => ReadonlyArray<Informer>) {
    this.#written = written
    this.#active = active
  }

  /** What is to stand in a lease; nothing where nothing has been written. */
  get text(): string | undefined {
    return this.textOf(() => true)
  }

  /** The same of some informers, by what tells them apart. */
  textOf(isMeant: (id: string) => boolean): string | undefined {
    const all = new Map(this.#inherited)
    for (const [id, version] of this.#written()) raise(all, id, version)
    const meant = latest([...all].filter(([id]) => isMeant(id)))
    return meant.length === 0 ? undefined : JSON.stringify(Object.fromEntries(meant))
  }

  /** Takes note of what stands in the lease of another. What cannot be read is that of another program. */
  inherit(text: string | undefined): void {
    if (text === undefined) return
    let found: unknown
    try {
      found = JSON.parse(text)
    } catch {
      return
    }
    if (typeof found !== "object" || found === null) return
    for (const [id, version] of Object.entries(found)) if (isText(version)) raise(this.#inherited, id, version)
    this.#inherited = new Map(latest([...this.#inherited]))
  }

  /** Completes when the caches show what others wrote. */
  get caughtUp(): Effect.Effect<void> {
    return Effect.suspend(() => this.#behind().length === 0 ? Effect.void : this.#wait)
  }

  /** What has no list yet is not behind: the list will have all of it. */
  #behind(): ReadonlyArray<Informer> {
    return this.#active().filter((informer) => {
      const version = this.#inherited.get(idOfInformer(informer))
      const { resourceVersion } = informer.store
      return version !== undefined && resourceVersion !== "0" && compareResourceVersions(resourceVersion, version) < 0
    })
  }

  get #wait(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      yield* Effect.callback<void>((resume) => {
        const behind = this.#behind()
        // They may have come as far since somebody looked.
        if (behind.length === 0) return resume(Effect.void)
        const off = onChange(behind.map(({ store }) => store), () => {
          if (this.#behind().length > 0) return
          off()
          resume(Effect.void)
        })
        return Effect.sync(off)
      }).pipe(
        Effect.timeoutOrElse({
          duration: defaults.patience,
          orElse: () => {
            const behind = this.#behind()
            // Of a server that was restored since, say: nobody waits for it again.
            for (const informer of behind) this.#inherited.delete(idOfInformer(informer))
            const kinds = behind.map(({ resource }) => resource.id).join(", ")
            return Effect.logWarning(`goes on with caches that do not show yet what another replica wrote: ${kinds}`)
          }
        })
      )
    })
  }
}

const idOfInformer = ({ resource, selection }: Informer): string => idOf({ ...selection, resource })

/** Those that were written to last, the last first. */
const latest = (versions: ReadonlyArray<readonly [id: string, version: string]>) =>
  versions.toSorted(([, a], [, b]) => compareResourceVersions(b, a)).slice(0, defaults.caches)

const raise = (versions: Map<string, string>, id: string, version: string): void => {
  const known = versions.get(id)
  if (known === undefined || compareResourceVersions(known, version) < 0) versions.set(id, version)
}
