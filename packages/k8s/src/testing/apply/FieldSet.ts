/**
 * `FieldSet`: a set of fields of an object, as a tree of path elements.
 *
 * A node may be a member itself, have members below it, or both: `.metadata.labels` and `.metadata.labels.app` are two
 * members. Sets are immutable and share common parts; no node is empty. `Builder` is the only mutable form, for
 * traversing objects.
 *
 * Source: sigs.k8s.io/structured-merge-diff/fieldpath/set.go.
 */
import * as PathElement from "./PathElement.ts"
import type { Type } from "./Types.ts"

export interface Node {
  /** Whether the path that ends here is a member. */
  readonly member: boolean
  /** The members below this path; undefined if there are none. */
  readonly below: FieldSet | undefined
}

export type FieldSet = ReadonlyMap<PathElement.PathElement, Node>

type Draft = Map<PathElement.PathElement, Node>

export const empty: FieldSet = new Map()

export const isEmpty = (set: FieldSet): boolean => set.size === 0

const some = (set: FieldSet): FieldSet | undefined => set.size === 0 ? undefined : set

const put = (draft: Draft, element: PathElement.PathElement, member: boolean, below: FieldSet | undefined): void => {
  if (member || below !== undefined) draft.set(element, { member, below })
}

/** A set under construction. */
export class Builder {
  private readonly root: Draft = new Map()
  /** Sets that this builder created and may mutate; grafted ones are shared. */
  private readonly own = new Set<FieldSet>()

  /** Adds a path. The empty path, which is the whole object, is ignored. */
  add(path: PathElement.Path): void {
    this.graft(path, undefined)
  }

  /** Adds a path and a set below it. */
  graft(path: PathElement.Path, under: FieldSet | undefined): void {
    let at = this.root
    if (path.length === 0 && under !== undefined) { for (const [element, node] of under) at.set(element, node) }
    for (let depth = 0; depth < path.length; depth++) {
      const element = path[depth]!
      const node = at.get(element)
      if (depth === path.length - 1) {
        const below = node?.below === undefined ? under : under === undefined ? node.below : union(node.below, under)
        at.set(element, { member: true, below })
        return
      }
      let below = node?.below as Draft | undefined
      if (below === undefined || !this.own.has(below)) {
        below = new Map(below)
        this.own.add(below)
        at.set(element, { member: node?.member ?? false, below })
      }
      at = below
    }
  }

  get set(): FieldSet {
    return this.root
  }
}

/** The set of the given paths. */
export const of = (...paths: ReadonlyArray<PathElement.Path>): FieldSet => {
  const builder = new Builder()
  for (const path of paths) builder.add(path)
  return builder.set
}

/** The set of one path of fields. */
export const ofFields = (...names: ReadonlyArray<string>): FieldSet => of(names.map(PathElement.field))

/** The members of either set. */
export const union = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a === b || b.size === 0) return a
  if (a.size === 0) return b
  const out: Draft = new Map(a)
  for (const [element, right] of b) {
    const left = a.get(element)
    if (left === undefined) out.set(element, right)
    else if (left !== right) {
      const below = left.below === undefined
        ? right.below
        : right.below === undefined
        ? left.below
        : union(left.below, right.below)
      out.set(element, { member: left.member || right.member, below })
    }
  }
  return out
}

/** The members of both sets. */
export const intersection = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a.size === 0 || b.size === 0) return empty
  const out: Draft = new Map()
  for (const [element, left] of a) {
    const right = b.get(element)
    if (right === undefined) continue
    const below = left.below === undefined || right.below === undefined
      ? undefined
      : some(intersection(left.below, right.below))
    put(out, element, left.member && right.member, below)
  }
  return out
}

/**
 * The members of `a` that are not in `b`. A path in `b` does not affect paths below it. Returns the same set if nothing
 * is removed.
 */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, false)

/** The members of `a` that are neither in `b` nor below a path in `b`. */
export const differenceBelow = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, true)

const subtract = (a: FieldSet, b: FieldSet, whole: boolean): FieldSet => {
  if (a.size === 0 || b.size === 0) return a
  let changed = false
  const out: Draft = new Map()
  for (const [element, left] of a) {
    const right = b.get(element)
    if (right === undefined) {
      out.set(element, left)
      continue
    }
    const member = left.member && !right.member
    const below = left.below === undefined || (whole && right.member)
      ? undefined
      : right.below === undefined
      ? left.below
      : some(subtract(left.below, right.below, whole))
    if (member === left.member && below === left.below) out.set(element, left)
    else {
      changed = true
      put(out, element, member, below)
    }
  }
  return changed ? out : a
}

/** Whether the path is a member. */
export const has = (set: FieldSet, path: PathElement.Path): boolean => {
  let at: FieldSet | undefined = set
  for (let depth = 0; depth < path.length; depth++) {
    const node: Node | undefined = at?.get(path[depth]!)
    if (node === undefined) return false
    if (depth === path.length - 1) return node.member
    at = node.below
  }
  return false
}

/** Whether both sets have the same members. */
export const equals = (a: FieldSet, b: FieldSet): boolean => {
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const [element, left] of a) {
    const right = b.get(element)
    if (right === undefined || left.member !== right.member) return false
    if ((left.below === undefined) !== (right.below === undefined)) return false
    if (left.below !== undefined && !equals(left.below, right.below!)) return false
  }
  return true
}

/** The elements of one level, in the order of managedFields. */
export const sorted = (set: FieldSet): Iterable<readonly [PathElement.PathElement, Node]> =>
  set.size < 2 ? set : [...set].sort(([a], [b]) => PathElement.compare(a, b))

/** All members: on each level those that end there before those below. */
export const paths = (set: FieldSet, prefix: PathElement.Path = []): ReadonlyArray<PathElement.Path> => {
  const nodes = [...sorted(set)]
  return [
    ...nodes.filter(([, node]) => node.member).map(([element]) => [...prefix, element]),
    ...nodes.flatMap(([element, { below }]) => below === undefined ? [] : paths(below, [...prefix, element]))
  ]
}

/**
 * The set with every declared field above a member: for `.spec.x`, also `.spec`. Keys of maps and items of lists are
 * not added, since they exist only together with their content.
 */
export const withNamedFields = (set: FieldSet, type: Type | undefined): FieldSet => {
  const out: Draft = new Map()
  for (const [element, node] of set) {
    const name = PathElement.fieldName(element)
    const declared = name === undefined ? undefined : type?.map?.fields.get(name)
    const inner = name !== undefined
      ? declared?.type ?? type?.map?.element
      : PathElement.isKeyed(element)
      ? type?.list?.element
      : undefined
    const below = node.below === undefined ? undefined : withNamedFields(node.below, inner)
    out.set(element, { member: node.member || (declared !== undefined && below !== undefined), below })
  }
  return out
}
