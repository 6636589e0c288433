/**
 * `SchemaChanges`: adapts sets of fields to a changed schema: parts of a value that has become atomic are replaced by
 * the whole.
 *
 * Stored sets outlive the schemas for which they were made. The opposite change, from atomic to granular, is not
 * handled: an owner of the whole continues to own just that.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/reconcile_schema.go.
 */
import * as FieldSet from "./FieldSet.ts"
import * as PathElement from "./PathElement.ts"
import * as Types from "./Types.ts"

class Walk {
  readonly changed = new FieldSet.Builder()

  visit(type: Types.Type, set: FieldSet.FieldSet | undefined, path: PathElement.Path, atomic: boolean): void {
    const { list, map, scalar } = type
    if (map !== undefined) {
      if (map.element === Types.deduced && map.fields.size === 0) return
      if (!atomic && map.atomic) {
        if (set !== undefined) this.changed.add(path)
        return
      }
      this.below(set, path, (element) => {
        const name = PathElement.fieldName(element)
        return name === undefined ? map.element : Types.fieldType(map, name)
      })
    } else if (scalar === undefined && list !== undefined) {
      if (!atomic && !list.associative) this.changed.add(path)
      else this.below(set, path, () => list.element)
    }
  }

  private below(
    set: FieldSet.FieldSet | undefined,
    path: PathElement.Path,
    typeOf: (element: PathElement.PathElement) => Types.Type | undefined
  ): void {
    if (set === undefined) return
    for (const [element, { below, member }] of set) {
      const type = typeOf(element)
      if (type !== undefined) this.visit(type, below, [...path, element], member && below === undefined)
    }
  }
}

/** The key under which a set stores the type that it matches. */
const fitting = Symbol("type")

type Fitting = FieldSet.FieldSet & { [fitting]?: Types.Type }

/** Marks a set as matching the type, because it was made from values of it or from a set that matches. */
export const fits = (type: Types.Type, set: FieldSet.FieldSet): FieldSet.FieldSet => {
  ;(set as Fitting)[fitting] = type
  return set
}

/** The set adapted to the type; the same set if it matches. */
export const reconcile = (type: Types.Type, set: FieldSet.FieldSet): FieldSet.FieldSet => {
  if ((set as Fitting)[fitting] === type) return set
  const walk = new Walk()
  walk.visit(type, set, [], false)
  const changed = walk.changed.set
  const out = FieldSet.isEmpty(changed) ? set : FieldSet.union(FieldSet.differenceBelow(set, changed), changed)
  return fits(type, out)
}
