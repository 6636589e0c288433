/**
 * `Legacy`: a replica that takes over from another first reads what that one has written.
 *
 * Its caches are warm, but a watch may be behind: a Pod that the former leader has just created would be created again.
 * So each replica publishes in its lease how far its writes have come, for each cache, and its successor waits until
 * its own caches have come as far. This covers creations and changes, including those of earlier replicas, but not
 * deletions, whose resourceVersion the writer does not learn. Old writes are visible everywhere: of many caches only
 * those written to last are listed, so that the annotation never becomes too long.
 */
import * as Effect from "effect/Effect"
import type { Informer } from "../Informers.ts"
import { defaults as informers, idOf } from "../Informers.ts"
import { compareResourceVersions } from "../KubeObject.ts"
import { onChange } from "./reader.ts"

export const defaults = {
  /** How long caches may take, in milliseconds. Then a warning is logged, and work goes on with what they show. */
  patience: 30_000,
  /** Maximum number of caches listed in a lease. */
  caches: informers.written
} as const

/** Annotation of a lease. */
export const annotation = "effect-operator.dev/wrote"

const isText = (value: unknown): value is string => typeof value === "string" && /^\d+$/.test(value)

export class Legacy {
  /** The resourceVersions of the last writes of others, by informer. */
  #inherited = new Map<string, string>()
  readonly #written: () => ReadonlyMap<string, string>
  readonly #active: () => ReadonlyArray<Informer>

  /** Takes what this process has written so far, and its caches. */
  constructor(written: () => ReadonlyMap<string, string>, active: () => ReadonlyArray<Informer>) {
    this.#written = written
    this.#active = active
  }

  /** The annotation to write; undefined if nothing has been written. */
  get text(): string | undefined {
    return this.textOf(() => true)
  }

  /** The same for some informers, chosen by id. */
  textOf(isMeant: (id: string) => boolean): string | undefined {
    const all = new Map(this.#inherited)
    for (const [id, version] of this.#written()) raise(all, id, version)
    const meant = latest([...all].filter(([id]) => isMeant(id)))
    return meant.length === 0 ? undefined : JSON.stringify(Object.fromEntries(meant))
  }

  /** Takes the annotation of another's lease. One that cannot be read is another program's. */
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

  /** An informer without a list is not behind: its list will have everything. */
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
        // They may have caught up since the last check.
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
            // They may be behind for good, if the server was restored: they are not waited for again.
            for (const informer of behind) this.#inherited.delete(idOfInformer(informer))
            const kinds = behind.map(({ resource }) => resource.id).join(", ")
            return Effect.logWarning(`continuing although caches do not show yet what another replica wrote: ${kinds}`)
          }
        })
      )
    })
  }
}

const idOfInformer = ({ resource, selection }: Informer): string => idOf({ ...selection, resource })

/** The versions written last, most recent first. */
const latest = (versions: ReadonlyArray<readonly [id: string, version: string]>) =>
  versions.toSorted(([, a], [, b]) => compareResourceVersions(b, a)).slice(0, defaults.caches)

const raise = (versions: Map<string, string>, id: string, version: string): void => {
  const known = versions.get(id)
  if (known === undefined || compareResourceVersions(known, version) < 0) versions.set(id, version)
}
