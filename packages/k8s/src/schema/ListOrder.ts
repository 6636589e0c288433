/**
 * `ListOrder`: the order of items in a merged list.
 *
 * Items of the patch keep the patch's order, items that only the server has keep the server's. A server item is placed
 * before the first patch item that it preceded on the server; the rest go to the end. The list follows the patch as far
 * as possible: new items go to the front unless `$setElementOrder` says otherwise.
 *
 * Source: normalizeElementOrder in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go.
 */
import * as JsonValue from "./JsonValue.ts"

type List = ReadonlyArray<unknown>

/** What identifies an item: the value of the merge key for objects, otherwise the item itself. */
export const identity = (item: unknown, mergeKey: string): unknown =>
  mergeKey !== "" && JsonValue.isObject(item) ? JsonValue.get(item, mergeKey) : item

const indexIn = (list: List, item: unknown, mergeKey: string): number => {
  const wanted = identity(item, mergeKey)
  return list.findIndex((other) => identity(other, mergeKey) === wanted)
}

/** The merged items in order. `patchOrder` and `serverOrder` need not contain all of them. */
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
