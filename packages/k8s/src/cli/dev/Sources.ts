/**
 * `Sources`: notices that a program's sources changed.
 *
 * Folders are watched rather than files, since editors replace files; only the followed files count. While the program
 * cannot be read, any source in those folders counts, as the one that is missing may be among them. Changes close
 * together are one: editors and checkouts write in bursts.
 */
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as FileSystem from "effect/FileSystem"
import type * as Duration from "effect/Duration"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Path from "node:path"

export const defaults = {
  /** For how long it must be quiet after a change. */
  quiet: "150 millis"
} as const

export interface Sources {
  /** Follows these files from now on, `anything` beside them too. */
  readonly follow: (files: ReadonlyArray<string>, anything: boolean) => Effect.Effect<void>
  /** Waits for a change since `follow`, and until it is quiet; gives one of the files that changed. */
  readonly changed: Effect.Effect<string>
}

const isSource = (file: string): boolean => /\.([cm]?[jt]sx?|json|ya?ml)$/.test(file)

/** Waits for a change, and then until none comes for a while; gives the first. */
export const burst = Effect.fnUntraced(function*(changes: Queue.Dequeue<string>, quiet: Duration.Input) {
  const first = yield* Queue.take(changes)
  yield* Queue.take(changes).pipe(Effect.timeoutOption(quiet), Effect.repeat({ while: ({ _tag }) => _tag === "Some" }))
  return first
})

/** Follows nothing, until told to. */
export const make = (
  quiet: Duration.Input = defaults.quiet
): Effect.Effect<Sources, never, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const watches = yield* FiberMap.make<string>()
    const changes = yield* Queue.sliding<string>(1)
    let followed = new Set<string>()
    let any = false

    const counts = (file: string) => followed.has(file) || (any && isSource(file))
    const watch = (folder: string) =>
      files.watch(folder).pipe(
        Stream.map(({ path }) => Path.resolve(folder, path)),
        Stream.filter(counts),
        Stream.runForEach((file) => Queue.offer(changes, file)),
        // A folder that is gone has nothing to say; it is watched again when it is followed again.
        Effect.ignore
      )
    return {
      follow: Effect.fnUntraced(function*(names: ReadonlyArray<string>, anything: boolean) {
        followed = new Set([...anything ? followed : [], ...names.map((name) => Path.resolve(name))])
        any = anything
        for (const folder of new Set([...followed].map((file) => Path.dirname(file)))) {
          yield* FiberMap.run(watches, folder, watch(folder), { onlyIfMissing: true, startImmediately: true })
        }
      }),
      changed: burst(changes, quiet)
    }
  })
