/**
 * `SlicePlan`: the EndpointSlices of a Service to create, update and delete, with as few writes as possible. Pure.
 *
 * An endpoint stays in its slice. New ones fill slices that change anyway, then one with room for all of them, then new
 * slices of up to 100. If one slice would be deleted and another created, the first is updated instead. A Service
 * without endpoints has one slice without ports.
 *
 * Source: k8s.io/endpointslice/reconciler.go.
 */
import type { Endpoint, EndpointSlice } from "../../kinds/discovery.v1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { type Group, portsKey } from "./ServiceEndpoints.ts"

export const defaults = {
  /** The maximum number of endpoints in a slice. */
  capacity: 100
} as const

export interface Plan {
  readonly create: ReadonlyArray<Group>
  readonly update: ReadonlyArray<{ readonly slice: EndpointSlice; readonly group: Group }>
  readonly remove: ReadonlyArray<EndpointSlice>
}

const identity = ({ addresses, targetRef }: Endpoint): string => `${targetRef?.uid}/${addresses.join()}`

interface Draft {
  readonly slice: EndpointSlice
  readonly endpoints: Array<Endpoint>
  changed: boolean
}

/**
 * The plan for the slices of one address family; `isCurrent` tells whether everything but the endpoints of a slice is
 * up to date.
 */
export const make = (
  existing: ReadonlyArray<EndpointSlice>,
  groups: ReadonlyMap<string, Group>,
  isCurrent: (slice: EndpointSlice) => boolean
): Plan => {
  const create: Array<Group> = []
  const update: Array<{ readonly slice: EndpointSlice; readonly group: Group }> = []
  const remove = existing.filter(({ ports }) => !groups.has(portsKey(ports)))
  for (const [key, { endpoints, ports }] of groups) {
    const wanted = new Map(endpoints.map((endpoint) => [identity(endpoint), endpoint]))
    const drafts = existing.filter((slice) => portsKey(slice.ports) === key).map((slice): Draft => {
      const before = slice.endpoints ?? []
      const kept = before.flatMap((endpoint) => {
        const next = wanted.get(identity(endpoint))
        wanted.delete(identity(endpoint))
        return next ?? []
      })
      return { slice, endpoints: kept, changed: !JsonValue.equals(before, kept) || !isCurrent(slice) }
    })
    const left = [...wanted.values()]
    const stay = drafts.filter((draft) => draft.endpoints.length > 0)
    const byFullness = stay.filter(({ changed }) => changed).sort((a, b) => b.endpoints.length - a.endpoints.length)
    for (const draft of byFullness) draft.endpoints.push(...left.splice(0, defaults.capacity - draft.endpoints.length))
    while (left.length > 0) {
      const roomy = stay.find((draft) => !draft.changed && draft.endpoints.length + left.length <= defaults.capacity)
      if (roomy === undefined) create.push({ ports, endpoints: left.splice(0, defaults.capacity) })
      else {
        roomy.endpoints.push(...left.splice(0))
        roomy.changed = true
      }
    }
    for (const draft of drafts) {
      if (draft.endpoints.length === 0) remove.push(draft.slice)
      else if (draft.changed) update.push({ slice: draft.slice, group: { ports, endpoints: draft.endpoints } })
    }
  }
  if (remove.length === existing.length && create.length === 0) {
    const [only] = remove
    const isPlaceholder = remove.length === 1 && (only?.endpoints ?? []).length + (only?.ports ?? []).length === 0
    if (isPlaceholder && isCurrent(only!)) return { create, update, remove: [] }
    create.push({ ports: [], endpoints: [] })
  }
  const reused = Math.min(create.length, remove.length)
  return {
    create: create.slice(reused),
    update: [...update, ...create.slice(0, reused).map((group, at) => ({ slice: remove[at]!, group }))],
    remove: remove.slice(reused)
  }
}
