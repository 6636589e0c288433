/**
 * `Generator`: a sequence of requests from a seed.
 *
 * It keeps a guess of what exists, so that most requests meet an object that earlier ones have made and sequences reach
 * deep states: written many times, half deleted, watched from the past. About one write in six is spoilt on purpose.
 */
import { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import { kinds } from "./Kinds.ts"
import * as Mutation from "./Mutation.ts"
import * as Reads from "./Reads.ts"
import { type Body, type Edit, edit, reference, type Sequence, type Step } from "./Step.ts"
import * as Strange from "./Strange.ts"
import {
  collection,
  type Draft,
  isAlone,
  itemPath,
  json,
  type Known,
  patchTypes,
  pickKind,
  pickKnown,
  pickName,
  type World
} from "./World.ts"

/** What a dry run was answered with is no object that could be written back. */
const remember = (world: World, kind: Kind, name: string, query: Step["query"] = []): void => {
  if (query.some(([key]) => key === "dryRun")) return
  const step = world.next
  const index = world.known.findIndex((known) => known.kind === kind && known.name === name)
  const steps = index < 0 ? [] : world.known[index]!.steps
  if (index >= 0) world.known.splice(index, 1)
  world.known.push({ kind, name, steps: [step, ...steps].slice(0, 4) })
}

const forget = (world: World, { kind, name }: Known): void => {
  const index = world.known.findIndex((known) => known.kind === kind && known.name === name)
  if (index >= 0) world.known.splice(index, 1)
}

const labels = (chance: Chance) => ({
  ...chance.maybe(0.7, () => ({ app: chance.pick(["x", "y"]) })),
  ...chance.maybe(0.4, () => ({ tier: chance.pick(["front", "back", ""]) })),
  ...chance.maybe(0.1, () => ({ size: chance.pick(["3", "10"]) }))
})

const owner = (world: World) => {
  const found = pickKnown(world)
  return {
    apiVersion: found.kind.apiVersion,
    kind: found.kind.kind,
    name: found.name,
    uid: found.steps.length > 0 ? reference(found.steps, "metadata", "uid") : "00000000-0000-0000-0000-000000000000",
    ...world.chance.maybe(0.3, () => ({ controller: true })),
    ...world.chance.maybe(0.3, () => ({ blockOwnerDeletion: true }))
  }
}

const metadata = (world: World, kind: Kind, name: object): Readonly<Record<string, unknown>> => {
  const { chance } = world
  const own = kind.namespaced ? {} : { seq: "{{id}}" }
  return {
    ...name,
    ...(kind.namespaced && !chance.chance(0.7) ? {} : { labels: { ...labels(chance), ...own } }),
    ...chance.maybe(0.3, () => ({ annotations: { note: chance.pick(["", "one", "two"]) } })),
    ...chance.maybe(0.12, () => ({ finalizers: ["example.com/hold"] })),
    ...chance.maybe(0.1, () => ({ ownerReferences: [owner(world)] })),
    ...chance.maybe(0.1, () => (kind.namespaced ? { namespace: "{{ns}}" } : {}))
  }
}

/** A change of metadata that is mostly allowed. */
const metadataEdit = (world: World): Edit => {
  const { chance } = world
  return chance.pick<Edit>([
    { path: ["metadata", "labels", chance.pick(["app", "tier"])], value: chance.pick(["x", "y", ""]) },
    { path: ["metadata", "labels", "tier"] },
    { path: ["metadata", "annotations", "note"], value: chance.pick(["", "three"]) },
    { path: ["metadata", "annotations"] },
    { path: ["metadata", "finalizers"], value: ["example.com/hold"] },
    { path: ["metadata", "finalizers"], value: ["example.com/hold", "example.com/more"] },
    { path: ["metadata", "finalizers"] },
    { path: ["metadata", "finalizers"], value: [] },
    { path: ["metadata", "ownerReferences"], value: [owner(world)] },
    { path: ["metadata", "ownerReferences"] }
  ])
}

/**
 * 1.20 does not judge the template of a StatefulSet, nor what a ControllerRevision holds; what is wrong with a Namespace
 * the server puts right; and an empty value of a Secret is stored in two forms.
 */
const unvalidated = (kind: Kind): boolean =>
  ["statefulsets", "namespaces", "secrets", "controllerrevisions"].includes(kind.plural)

/**
 * The first update of these is a new version in 1.20, whatever is in it: so it shall be on every server. Of a
 * NetworkPolicy an empty selector is a change, too, where there was none.
 */
const always = (world: World, { plural }: Kind): ReadonlyArray<Edit> =>
  plural.startsWith("persistentvolume") || plural === "jobs" || plural === "networkpolicies"
    ? [{ path: ["metadata", "annotations", "step"], value: String(world.next) }]
    : []

/** A change of an object, spoilt now and then. */
const change = (world: World, kind: Kind): Edit => {
  const found = anyChange(world, kind)
  const [root, key] = found.path
  // What becomes of the address of a Service without a spec, and how a Job tells that it has another uid, has changed.
  // Nor do releases agree on who owns a deletionTimestamp. Content that is there and empty is not told from none.
  const moved = key === "deletionTimestamp" ||
    (kind.plural === "configmaps" && key === undefined && isEmpty(found.value)) ||
    (kind.plural === "services" &&
      ((root === "spec" && key === undefined) || key === "uid" || key === "resourceVersion")) ||
    // Nothing of a CSIDriver could change in 1.20.
    (kind.plural === "csidrivers" && root === "spec") ||
    // A claim without a class may be given one later since 1.28.
    (kind.plural === "persistentvolumeclaims" && key === "storageClassName") ||
    (kind.plural === "jobs" && key === "uid") || (kind.plural === "secrets" && Array.isArray(found.value))
  return moved ? change(world, kind) : found
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0

const anyChange = (world: World, kind: Kind): Edit => {
  const { chance } = world
  return chance.weighted<() => Edit>([
    [10, () => kind.edit(chance)],
    [6, () => metadataEdit(world)],
    [1.5, () => Mutation.badMetadata(chance)],
    [unvalidated(kind) ? 0 : 1.5, () => Mutation.mutation(chance, kind.content(chance), kind.custom)],
    [kind.status === undefined ? 0 : 1, () => kind.status!(chance)]
  ])()
}

/** Query parameters of writes. */
const writeQuery = ({ chance }: World): Step["query"] => [
  ...chance.chance(0.06) ? [["dryRun", chance.pick(["All", "All", "All", "None", ""])] as const] : [],
  ...chance.chance(0.04) ? [["fieldManager", chance.pick(["me", "you", "x".repeat(129)])] as const] : [],
  ...chance.chance(0.03) ? [["pretty", "true"] as const] : []
]

const text = (chance: Chance, value: unknown, garbage = Mutation.garbage, twice = true): Body =>
  chance.chance(0.02)
    ? { _tag: "Text", text: chance.pick(garbage) }
    : twice && chance.chance(0.02)
    ? { _tag: "Text", text: JSON.stringify(value).replace(/^\{/, "{\"kind\":\"Dup\",") }
    : { _tag: "Json", value }

const create = (world: World): Draft => {
  const { chance } = world
  const kind = pickKind(world)
  const generated = chance.chance(0.08) && !isAlone(kind)
  const name = pickName(world, kind)
  const named = generated ? { generateName: `${name}-` } : { name }
  if (generated) world.madeUp.add(kind)
  const good = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: metadata(world, kind, named),
    ...kind.content(chance)
  }
  const spoilt = chance.chance(0.08) && !unvalidated(kind)
    ? [Mutation.mutation(chance, good, kind.custom)]
    : chance.chance(0.07)
    // An object of another kind has no generated name here, for which it is refused.
    ? [Mutation.badMetadata(chance)].filter(({ path }) =>
      path[0] !== "kind" || (!generated && kind.plural !== "shapes")
    )
    : []
  const faults = spoilt.filter(({ path: [root, key] }) =>
    !isAlone(kind) || root !== "metadata" || (key !== undefined && key !== "name")
  )
  const query = writeQuery(world)
  const step = world.next
  if (!query.some(([key]) => key === "dryRun")) {
    remember(world, kind, generated ? reference([step], "metadata", "name") : name)
  }
  return { method: "POST", path: collection(kind), query, headers: json, body: text(chance, edit(good, faults)) }
}

/** What a PUT says about the version it replaces. */
const versionEdit = ({ chance }: World, known: Known): ReadonlyArray<Edit> => {
  const path = ["metadata", "resourceVersion"]
  // 1.20 lets nobody overwrite a Service unseen.
  if (known.kind.plural === "services") return []
  return chance.weighted<() => ReadonlyArray<Edit>>([
    [20, () => []],
    [5, () => [{ path }]],
    [3, () => [{ path, value: reference(known.steps.slice(-1), "metadata", "resourceVersion") }]],
    [0.5, () => [{ path, value: "0" }]],
    [0.3, () => [{ path, value: "abc" }]],
    [0.3, () => [{ path, value: "99999999999" }]]
  ])()
}

const update = (world: World): Draft => {
  const { chance } = world
  const known = pickKnown(world)
  const { kind, name, steps } = known
  if (steps.length === 0) {
    // Since 1.23 this creates a Service.
    if (kind.plural === "services") return create(world)
    const value = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name }, ...kind.content(chance) }
    remember(world, kind, name)
    return { method: "PUT", path: itemPath(kind, name), query: [], headers: json, body: { _tag: "Json", value } }
  }
  const all = chance.chance(0.1) ? [] : chance.chance(0.7)
    ? [change(world, kind)]
    : [change(world, kind), change(world, kind)]
  // Which of several faults of a custom object's type is told first differs.
  const edits = kind.custom === true ? all.filter(({ path }) => path[0] !== "kind" && path[0] !== "apiVersion") : all
  const query = writeQuery(world)
  remember(world, kind, name, query)
  return {
    method: "PUT",
    path: itemPath(kind, name),
    query,
    headers: json,
    body: { _tag: "Edited", of: steps, edits: [...edits, ...always(world, kind), ...versionEdit(world, known)] }
  }
}

const updateStatus = (world: World): Draft | undefined => {
  const { chance } = world
  const known = pickKnown(world)
  const { kind, name, steps } = known
  if (kind.status === undefined || steps.length === 0) return undefined
  // Metadata that the status endpoint of a custom kind ignores has owners nevertheless, and so is a new version; with
  // another kind or version nobody owns anything any more since 1.21.
  const main = (chance.chance(0.2) ? [change(world, kind)] : []).filter(({ path: [first] }) =>
    kind.custom !== true || (first !== "metadata" && first !== "kind" && first !== "apiVersion")
  )
  const path = `${itemPath(kind, name)}/status`
  const wanted = chance.chance(0.1) ? { path: ["status", "bogus"], value: { a: 1 } } : kind.status(chance)
  if (chance.chance(0.4)) return patchWith(world, known, path, [wanted, ...main, ...always(world, kind)])
  const query = writeQuery(world)
  remember(world, kind, name, query)
  return {
    method: "PUT",
    path,
    query,
    headers: json,
    body: { _tag: "Edited", of: steps, edits: [wanted, ...main, ...always(world, kind), ...versionEdit(world, known)] }
  }
}

const scale = (world: World): Draft | undefined => {
  const { chance } = world
  const { kind, name } = pickKnown(world)
  if (kind.scale !== true) return undefined
  const path = `${itemPath(kind, name)}/scale`
  // Another number each time: whether the same again is a new version is a matter of managedFields.
  const replicas = chance.chance(0.85) ? 100 - world.next : chance.pick<unknown>([-1, "x"])
  switch (chance.int(3)) {
    case 0:
      return { method: "GET", path, query: [], headers: json }
    case 1:
      return {
        method: "PATCH",
        path,
        query: writeQuery(world),
        headers: { ...json, "content-type": patchTypes.merge },
        body: { _tag: "Json", value: { spec: { replicas } } }
      }
    default: {
      const value = {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name, namespace: "{{ns}}" },
        spec: { replicas }
      }
      return { method: "PUT", path, query: writeQuery(world), headers: json, body: { _tag: "Json", value } }
    }
  }
}

/** A JSON patch of the edits. */
const asJsonPatch = (chance: Chance, edits: ReadonlyArray<Edit>, strange: ReadonlyArray<unknown>): unknown => [
  ...chance.chance(0.1) ? [{ op: "test", path: "/metadata/name", value: chance.pick(["a", "b"]) }] : [],
  ...edits.map(({ path, value }) => {
    const pointer = `/${path.map((key) => key.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`
    return value === undefined
      ? { op: "remove", path: pointer }
      : { op: chance.pick(["add", "add", "replace"]), path: pointer, value }
  }),
  ...chance.chance(0.08) ? [chance.pick(strange)] : []
]

/** A merge patch of the edits; an index into a list replaces the whole list. */
const asMergePatch = (edits: ReadonlyArray<Edit>): unknown =>
  edits.reduce<unknown>((patch, { path, value }) => {
    const index = path.findIndex((key) => /^\d+$/.test(key))
    return index < 0
      ? edit(patch, [{ path, value: value === undefined ? null : value }])
      : path[index - 1] !== "containers"
      ? patch
      : edit(patch, [{ path: path.slice(0, index), value: [{ name: "main", image: "app:9" }] }])
  }, {})

const patchWith = (world: World, { kind, name }: Known, path: string, edits: ReadonlyArray<Edit>): Draft => {
  const { chance } = world
  // Two templates merged can be one that 1.20 does not judge in a StatefulSet.
  const merges = kind.plural === "statefulsets" && edits.some(({ path }) => path.length < 2 || path[1] === "template")
  const type = chance.weighted<keyof typeof patchTypes>([[5, "merge"], [4, "json"], [
    kind.custom === true ? 0.3 : kind.plural === "poddisruptionbudgets" || merges ? 0 : 4,
    "strategic"
  ]])
  const holdsNull = ({ value }: Edit) => value === null || (Array.isArray(value) && value.includes(null))
  const sound = edits.filter((edit) =>
    type === "strategic"
      // A null deep in what was not there before stayed there until 1.26.
      ? (edit.value !== undefined && !holdsNull(edit)) || edit.path.length < 2
      // A null in a list was dropped until 1.25.
      : !Array.isArray(edit.value) || !holdsNull(edit)
  )
  const ofStatus = kind.custom === true && path.endsWith("/status")
  const plain = type === "json"
    ? asJsonPatch(chance, edits, ofStatus ? Strange.operationsOnStatus : Strange.operations)
    : asMergePatch(sound)
  const value = type === "strategic" && !unvalidated(kind) && chance.chance(0.15)
    ? edit(plain, [chance.pick(Strange.directives)])
    : plain
  const query = writeQuery(world)
  remember(world, kind, name, query)
  return {
    method: "PATCH",
    path,
    query,
    headers: { ...json, "content-type": patchTypes[type] },
    body: text(chance, value, Mutation.broken, false)
  }
}

const patch = (world: World): Draft => {
  const { chance } = world
  const known = pickKnown(world)
  const { kind, name, steps } = known
  const edits = chance.chance(0.6) ? [change(world, kind)] : [change(world, kind), change(world, kind)]
  const version = chance.chance(0.1) && steps.length > 0 && kind.plural !== "services"
    ? [{
      path: ["metadata", "resourceVersion"],
      value: reference(chance.chance(0.5) ? steps : steps.slice(-1), "metadata", "resourceVersion")
    }]
    : []
  return patchWith(world, known, itemPath(kind, name), [
    // Whether another kind or another version is told first differs.
    ...edits.filter(({ path }) =>
      kind.custom !== true || version.length === 0 || path.length > 1 || path[0] === "spec"
    ),
    ...always(world, kind),
    ...version
  ])
}

/** Options of a deletion, right and wrong. */
const deleteOptions = (
  { chance }: World,
  { plural }: Kind,
  steps: ReadonlyArray<number>
): Readonly<Record<string, unknown>> => {
  const uid = steps.length > 0 ? reference(steps, "metadata", "uid") : "no"
  const version = reference(chance.chance(0.7) ? steps : steps.slice(-1), "metadata", "resourceVersion")
  // Of a CronJob 1.20 is told what is the default today (see `Servers`), which would take back what was asked before.
  const isTold = plural === "cronjobs"
  const policies = isTold ? ["Background", "Nope"] : ["Foreground", "Background", "Orphan", "Orphan", "Nope"]
  return {
    ...chance.maybe(0.5, () => ({ apiVersion: "v1", kind: "DeleteOptions" })),
    ...chance.maybe(0.25, () => ({ gracePeriodSeconds: chance.pick([0, 1, 60, -1]) })),
    ...chance.maybe(0.4, () => ({ propagationPolicy: chance.pick(policies) })),
    ...chance.maybe(0.08, () => ({ orphanDependents: !isTold && chance.chance(0.5) })),
    ...chance.maybe(0.2, () => ({ preconditions: chance.chance(0.7) ? { uid } : { uid: "no" } })),
    ...chance.maybe(steps.length > 0 ? 0.15 : 0, () => ({ preconditions: { resourceVersion: version } })),
    ...chance.maybe(0.08, () => ({ dryRun: [chance.pick(["All", "All", "x"])] }))
  }
}

const remove = (world: World): Draft => {
  const { chance } = world
  const known = pickKnown(world)
  const body = chance.chance(0.5) ? deleteOptions(world, known.kind, known.steps) : undefined
  // A PUT of a Service that is gone is another thing since 1.23.
  if (chance.chance(0.6) || known.kind.plural === "services") forget(world, known)
  return {
    method: "DELETE",
    path: itemPath(known.kind, known.name),
    query: chance.chance(0.1)
      ? [chance.pick([
        ["gracePeriodSeconds", "0"],
        ["propagationPolicy", known.kind.plural === "cronjobs" ? "Background" : "Foreground"],
        ["dryRun", "All"]
      ])]
      : [],
    headers: json,
    ...(body === undefined ? {} : { body: { _tag: "Json" as const, value: body } })
  }
}

const removeAll = (world: World): Draft | undefined => {
  const { chance } = world
  const { kind } = pickKnown(world)
  // Services cannot be deleted together before 1.23.
  if (kind.plural === "services") return undefined
  const query = kind.namespaced
    ? Reads.selectors(world, kind)
    : [["labelSelector", "seq={{id}}"] as const]
  return {
    method: "DELETE",
    path: collection(kind),
    query,
    headers: json,
    ...chance.maybe(0.4, () => {
      const { preconditions, ...others } = deleteOptions(world, kind, [])
      // Which of them is refused first, and so what becomes of the others, goes by their names.
      const value = world.madeUp.has(kind) ? others : { ...others, preconditions }
      return { body: { _tag: "Json" as const, value } }
    })
  }
}

type Maker = (world: World) => Draft | undefined

const makers: ReadonlyArray<readonly [weight: number, make: Maker]> = [
  [14, create],
  [15, update],
  [6, updateStatus],
  [4, scale],
  [16, patch],
  [7, remove],
  [1.2, removeAll],
  [5, Reads.get],
  [7, Reads.list],
  [3, Reads.watch],
  [2, Reads.discovery],
  [3, Strange.request]
]

/** The sequence of a seed, about all kinds or some. */
export const generate = (seed: number, length = 50, among = kinds): Sequence => {
  const world: World = { chance: new Chance(seed), kinds: among, known: [], lists: [], madeUp: new Set(), next: 1 }
  const steps: Array<Step> = []
  while (steps.length < length) {
    // The first steps make what the others are about.
    const make = world.next <= 4 ? create : world.chance.weighted(makers)
    const draft = make(world)
    if (draft === undefined) continue
    steps.push({ id: world.next, ...draft })
    world.next += 1
  }
  return { seed, steps }
}
