/**
 * `Sources`: notices changes to a program's sources.
 *
 * It watches folders rather than files, since editors replace files; only the followed files count, and source files in
 * a folder that is followed itself. While the program cannot be read, every source file in those folders counts, as a
 * missing file may be among them. A folder may be replaced, too, as by the checkout of another branch. Changes in quick
 * succession count as one, since editors and checkouts write in bursts.
 */
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as FileSystem from "effect/FileSystem"
import type * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Path from "node:path"

export const defaults = {
  /** How long it must be quiet after a change. */
  quiet: "150 millis"
} as const

export interface Sources {
  /** Follows these files and folders from now on, and with `anything` all source files beside them. */
  readonly follow: (files: ReadonlyArray<string>, anything: boolean) => Effect.Effect<void>
  /** Waits for a change since `follow`, and until it is quiet; returns one of the changed files. */
  readonly changed: Effect.Effect<string>
}

const isSource = (file: string): boolean => /\.([cm]?[jt]sx?|json|ya?ml)$/.test(file)

/** Waits for a change, and then until none has come for a while; returns the first. */
export const burst = Effect.fnUntraced(function*(changes: Queue.Dequeue<string>, quiet: Duration.Input) {
  const first = yield* Queue.take(changes)
  yield* Queue.take(changes).pipe(Effect.timeoutOption(quiet), Effect.repeat({ while: ({ _tag }) => _tag === "Some" }))
  return first
})

/** Follows nothing until `follow` is called. */
export const make = (
  quiet: Duration.Input = defaults.quiet
): Effect.Effect<Sources, never, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const watches = yield* FiberMap.make<string>()
    const changes = yield* Queue.sliding<string>(1)
    let followed = new Set<string>()
    let any = false
    /** The watched folders, and what distinguishes each from another in its place. */
    const folders = new Map<string, string>()

    const identity = (folder: string) =>
      Effect.map(
        Effect.option(files.stat(folder)),
        Option.match({
          onNone: () => "",
          onSome: ({ birthtime, dev, ino }) =>
            [dev, Option.getOrUndefined(ino), Option.getOrUndefined(birthtime)?.getTime()].join(" ")
        })
      )
    const counts = Effect.fnUntraced(function*(file: string) {
      if (followed.has(file) || (isSource(file) && (any || followed.has(Path.dirname(file))))) return true
      return folders.has(file) && folders.get(file) !== (yield* identity(file))
    })
    const watch = (folder: string) =>
      files.watch(folder).pipe(
        Stream.map(({ path }) => Path.resolve(folder, path)),
        Stream.filterEffect(counts),
        Stream.runForEach((file) => Queue.offer(changes, file)),
        // A folder that is gone has no changes; the next `follow` watches the one in its place.
        Effect.ignore
      )
    return {
      follow: Effect.fnUntraced(function*(names: ReadonlyArray<string>, anything: boolean) {
        followed = new Set([...anything ? followed : [], ...names.map((name) => Path.resolve(name))])
        any = anything
        const isFolder = (file: string) =>
          Effect.map(Effect.option(files.stat(file)), Option.exists(({ type }) => type === "Directory"))
        const own = yield* Effect.filter(followed, isFolder)
        for (const folder of new Set([...followed].map((file) => Path.dirname(file)).concat(own))) {
          const now = yield* identity(folder)
          const isSame = folders.get(folder) === now
          folders.set(folder, now)
          yield* FiberMap.run(watches, folder, watch(folder), { onlyIfMissing: isSame, startImmediately: true })
        }
      }),
      changed: burst(changes, quiet)
    }
  })
