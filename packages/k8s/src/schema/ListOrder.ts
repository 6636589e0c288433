/**
 * `ListOrder`: where the items of a merged list go.
 *
 * Items of the patch come in the patch's order, items only the server has in the server's; the server's are put
 * before those of the patch that they preceded before, and after everything else. A list is in patch order as far as
 * possible: new items go to the front unless `$setElementOrder` says otherwise.
 *
 * Source: normalizeElementOrder in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go.
 */
import * as JsonValue from "./JsonValue.ts"

type List = ReadonlyArray<unknown>

/** What tells items apart: the merge key's value for objects, the item itself otherwise. */
export const identity = (item: unknown, mergeKey: string): unknown =>
  mergeKey !== "" && JsonValue.isObject(item) ? JsonValue.get(item, mergeKey) : item

const indexIn = (list: List, item: unknown, mergeKey: string): number => {
  const wanted = identity(item, mergeKey)
  return list.findIndex((other) => identity(other, mergeKey) === wanted)
}

/** The merged items in their order. `patchOrder` and `serverOrder` need not hold all of them. */
export const arrange = (merged: List, patchOrder: List, serverOrder: List, mergeKey: string): List => {
  const inPatch = merged.filter((item) => indexIn(patchOrder, item, mergeKey) >= 0)
  const serverOnly = merged.filter((item) => indexIn(patchOrder, item, mergeKey) < 0)
  return interleave(
    sortBy(serverOnly, serverOrder, mergeKey),
    sortBy(inPatch, patchOrder, mergeKey),
    serverOrder,
    mergeKey
  )
}

const sortBy = (list: List, order: List, mergeKey: string): List => {
  const at = (item: unknown): number => {
    const index = indexIn(order, item, mergeKey)
    return index < 0 ? order.length : index
  }
  return list.toSorted((a, b) => at(a) - at(b))
}

const interleave = (left: List, right: List, order: List, mergeKey: string): List => {
  const out: Array<unknown> = []
  let at = 0
  for (const item of right) {
    const place = indexIn(order, item, mergeKey)
    while (at < left.length) {
      const other = indexIn(order, left[at], mergeKey)
      if (other < 0 || other >= place) break
      out.push(left[at])
      at++
    }
    out.push(item)
  }
  return [...out, ...left.slice(at)]
}
