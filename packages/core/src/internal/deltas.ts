/** Deltas of a store's objects. `Unparsed` ones are parsed when somebody reads them. */
import type { Delta } from "../Delta.ts"
import type { KubeObject } from "../KubeObject.ts"
import { parsed, Unparsed } from "../Unparsed.ts"

/** An object was added or deleted. */
export const changed = <A extends KubeObject>(_tag: "Added" | "Deleted", object: A): Delta<A> =>
  object instanceof Unparsed ? new Later(_tag, object, object) : { _tag, object }

/** An object was updated. */
export const updated = <A extends KubeObject>(old: A, object: A): Delta<A> =>
  old instanceof Unparsed || object instanceof Unparsed
    ? new Later("Updated", old, object)
    : { _tag: "Updated", old, object }

/** A delta whose objects are parsed when somebody reads them. */
class Later<A extends KubeObject, Tag extends Exclude<Delta["_tag"], "Invalid">> {
  readonly _tag: Tag
  readonly #old: A
  readonly #object: A

  constructor(_tag: Tag, old: A, object: A) {
    this._tag = _tag
    this.#old = old
    this.#object = object
  }

  /** The state before an update. */
  get old(): A {
    return parsed(this.#old)
  }

  get object(): A {
    return parsed(this.#object)
  }
}
