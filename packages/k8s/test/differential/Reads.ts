/** `Reads`: gets, lists, watches and discovery, with every option and form they take. */
import type { Kind } from "./Kind.ts"
import { reference, type Step } from "./Step.ts"
import { collection, type Draft, itemPath, json, pickKind, pickKnown, type World } from "./World.ts"

type Query = Step["query"]

const legalLabels = [
  "app=x",
  "app==y",
  "app!=x",
  "app in (x,y)",
  "app notin (x)",
  "app notin (x,y),tier",
  "tier notin (front)",
  "tier",
  "!tier",
  "tier=",
  "app=x,tier=front",
  "tier in ()",
  "size>2",
  "size<5",
  "",
  "app,!app"
]

const illegalLabels = ["size>x", "app in x", "=x", "app=x,", "bad key=1", "app=x y"]

const fieldSelectors = [
  "metadata.name=a",
  "metadata.name!=a",
  "metadata.namespace={{ns}}",
  "spec.nope=1",
  "metadata.name",
  ""
]

const ofKind: Readonly<Record<string, ReadonlyArray<string>>> = {
  "status.phase": ["Pending", "Running", "Active"],
  "spec.nodeName": ["", "n1"],
  "spec.restartPolicy": ["Always"],
  type: ["Opaque", "Normal"],
  reason: ["Started"],
  "status.replicas": ["0", "1"]
}

/** Selectors of a list, mostly legal. */
export const selectors = ({ chance }: World, kind: Kind): Query => {
  const own = kind.namespaced ? [] : [["labelSelector", "seq={{id}}"] as const]
  const labels = chance.chance(0.85) ? legalLabels : illegalLabels
  const label = kind.namespaced && chance.chance(0.5) ? [["labelSelector", chance.pick(labels)] as const] : own
  if (!chance.chance(0.25)) return label
  const named = kind.fields === undefined || chance.chance(0.4) ? undefined : chance.pick(kind.fields)
  const field = named === undefined
    ? chance.pick(fieldSelectors)
    : `${named}${chance.pick(["=", "==", "!="])}${chance.pick(ofKind[named] ?? ["a", ""])}`
  return [...label, ["fieldSelector", field]]
}

const accepts = [
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
  "application/json;as=Nope;v=v1;g=meta.k8s.io",
  "*/*",
  "text/html",
  "text/html,*/*;q=0.1",
  "application/*",
  ""
]

const accepting = ({ chance }: World): Step["headers"] =>
  chance.chance(0.25) ? { ...json, accept: chance.pick(accepts) } : json

const tableQuery = ({ chance }: World): Query =>
  chance.chance(0.05) ? [["includeObject", chance.pick(["None", "Object", "Metadata", "x"])]] : []

/** A resourceVersion that a read may name: of the object's past, or nonsense. */
const versions = (world: World, kind: Kind): { readonly query: Query; readonly cached: boolean } => {
  const { chance } = world
  // The cache of a kind that nothing happens to does not learn of versions of other kinds.
  const known = world.known.filter((known) => known.kind === kind)
  const steps = known.length === 0 ? [] : chance.pick(known).steps
  const past = reference(chance.chance(0.5) ? steps : steps.slice(-1), "metadata", "resourceVersion")
  // Events are in no cache that could wait for a version.
  const future = kind.plural === "events" ? 0 : 0.1
  const value = chance.weighted([[8, past], [4, "0"], [0.5, ""], [0.3, "abc"], [future, "99999999999"]])
  return { query: [["resourceVersion", value]], cached: value === "0" }
}

const settled = (kind: Kind, cached: boolean): Pick<Step, "settle"> => cached ? { settle: collection(kind) } : {}

export const get = (world: World): Draft => {
  const { kind, name } = pickKnown(world)
  const { cached, query } = world.chance.chance(0.2) ? versions(world, kind) : { cached: false, query: [] }
  const part = world.chance.chance(0.15) ? "/status" : ""
  return {
    method: "GET",
    path: `${itemPath(kind, name)}${part}`,
    query: [...query, ...tableQuery(world)],
    // Old releases give the status in no other form.
    headers: part === "" ? accepting(world) : json,
    // A version that is reached may still be ahead of the object's own cache.
    ...settled(kind, cached)
  }
}

/** The next page of an earlier list. */
const nextPage = (world: World): Draft | undefined => {
  const list = world.lists.at(-1)
  if (list === undefined) return undefined
  const step = world.next
  const query: Query = [
    ["limit", world.chance.pick(["1", "2", "0"])],
    ["continue", reference([list.step], "metadata", "continue")]
  ]
  world.lists.push({ kind: list.kind, step })
  return { method: "GET", path: collection(list.kind), query, headers: json }
}

const matches = ["Exact", "NotOlderThan", "NotOlderThan", "Nope"]

export const list = (world: World): Draft | undefined => {
  const { chance } = world
  if (chance.chance(0.25)) return nextPage(world)
  const kind = chance.chance(0.9) ? pickKnown(world).kind : pickKind(world)
  const versioned = chance.chance(0.2) ? versions(world, kind) : { cached: false, query: [] }
  const match: Query = chance.chance(versioned.query.length > 0 ? 0.5 : 0.02)
    ? [["resourceVersionMatch", chance.pick(matches)]]
    : []
  // Pages of a version that is not there yet come from the store in one release, from the cache in another.
  const paged = kind.namespaced && versioned.query[0]?.[1] !== "99999999999" && !world.madeUp.has(kind)
  const limit: Query = paged && chance.chance(0.35) ? [["limit", chance.pick(["1", "1", "2", "3", "500"])]] : []
  if (limit.length > 0) world.lists.push({ kind, step: world.next })
  return {
    method: "GET",
    path: collection(kind),
    query: [...selectors(world, kind), ...versioned.query, ...match, ...limit, ...tableQuery(world)],
    headers: accepting(world),
    ...settled(kind, versioned.query.length > 0)
  }
}

/** Kinds whose tables have more or other columns in newer releases. */
const withOtherColumns = [
  "pods",
  "jobs",
  "cronjobs",
  "persistentvolumeclaims",
  "resourcequotas",
  "priorityclasses",
  "csidrivers"
]

/** A watch from a version of the past, which the server ends after a second. */
export const watch = (world: World): Draft | undefined => {
  const { chance } = world
  const found = pickKnown(world)
  if (found.steps.length === 0) return undefined
  // From now on would be another watch.
  const since = reference(found.steps.slice(chance.chance(0.7) ? -1 : 0), "metadata", "resourceVersion")
  return {
    method: "GET",
    path: collection(found.kind),
    query: [
      ["watch", "true"],
      ["timeoutSeconds", "1"],
      ["resourceVersion", since],
      ...(chance.chance(0.4) || !found.kind.namespaced ? selectors(world, found.kind) : [])
    ],
    // Only the first event of a table says what its columns are.
    headers: chance.chance(0.15) && !withOtherColumns.includes(found.kind.plural)
      ? { ...json, accept: chance.pick(accepts.slice(0, 4)) }
      : json,
    watch: true,
    settle: collection(found.kind)
  }
}

const discoveryPaths = [
  "/api",
  "/apis/fuzz.example.com",
  "/apis/fuzz.example.com/v1",
  "/apis/fuzz.example.com/v1beta1",
  "/apis/fuzz.example.com/v9",
  "/apis/apps",
  "/apis/nope",
  "/apis/nope/v1",
  "/apis/apps/v9",
  "/api/v2",
  "/apis/apps/v1/nope",
  "/api/v1/namespaces/{{ns}}/nope",
  "/healthz",
  "/nope"
]

export const discovery = ({ chance }: World): Draft => ({
  method: "GET",
  path: chance.pick(discoveryPaths),
  query: [],
  headers: json
})
