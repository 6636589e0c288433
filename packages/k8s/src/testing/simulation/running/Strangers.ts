/**
 * `Strangers`: what somebody else has for himself in the namespaces of an operator, of the kinds that the operator makes.
 *
 * It has no owner, no labels and no annotations, and its Pods have labels of their own: nothing says that it is any
 * business of the operator's. One that lists a kind and takes all of it for its own counts it, changes it or deletes it.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isElected } from "../recording/Fault.ts"
import { precious } from "../recording/Precious.ts"
import { accepted, madeByPeople, type Recording } from "../recording/Recording.ts"

/** What every one of them is called. */
export const name = "somebody-elses"

const label = { "simulation.effect-operator/whose": name }

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Kinds of the cluster's own making that nobody makes beside them, and what is not the same for two (a volume, a lease). */
const unlike: ReadonlySet<string> = new Set([
  ...precious,
  "Event",
  "Lease",
  "Endpoints",
  "EndpointSlice",
  "ControllerRevision"
])

/** Whether claims are made for an object, which outlive it. */
const claims = (object: KubeObject): boolean => {
  const { volumeClaimTemplates } = (object as { readonly spec?: { readonly volumeClaimTemplates?: unknown } }).spec ??
    {}
  return Array.isArray(volumeClaimTemplates) && volumeClaimTemplates.length > 0
}

/** Kinds whose number, or sum, somebody limits: one more of anything may be refused. */
const limiting: ReadonlySet<string> = new Set(["ResourceQuota", "LimitRange"])

/** The uids of what the operator has made. */
const madeByOperator = (entries: Recording["entries"]): ReadonlySet<string> =>
  new Set(
    entries.flatMap((entry) =>
      entry._tag === "Call" && entry.status === 201 && accepted(entry) ? entry.object?.metadata.uid ?? [] : []
    )
  )

/** The kinds that people make in their steps. */
const kindsOfPeople = (entries: Recording["entries"]): ReadonlyArray<string> => {
  const theirs = new Set(madeByPeople(entries))
  return entries.flatMap((entry) =>
    entry._tag === "Change" && theirs.has(entry.change.object.metadata.uid) ? [entry.change.object.kind] : []
  )
}

/** Kinds that somebody else has none of: people make their own, or two are not alike. */
export const spared = ({ entries, kinds }: Pick<Recording, "entries" | "kinds">): ReadonlySet<string> =>
  new Set([...unlike, ...kinds, ...kindsOfPeople(entries)])

/** The namespaces that the operator has made. */
export const ownNamespaces = (
  { entries }: Pick<Recording, "entries">,
  objects: ReadonlyArray<KubeObject>
): ReadonlySet<string> => {
  const own = madeByOperator(entries)
  return new Set(
    objects.flatMap(({ kind, metadata }) => kind === "Namespace" && own.has(metadata.uid) ? [metadata.name] : [])
  )
}

/**
 * Objects that somebody else may have one like: made by the operator, or Pods made for what it has made, in a namespace
 * that it has not made; the first of each kind and namespace. Of kinds that people make in their steps they have their
 * own in the story.
 */
export const models = (
  { entries, kinds }: Pick<Recording, "entries" | "kinds">,
  objects: ReadonlyArray<KubeObject>
): ReadonlyArray<KubeObject> => {
  if (objects.some(({ kind }) => limiting.has(kind))) return []
  const own = madeByOperator(entries)
  const none = spared({ entries, kinds })
  const byUid = new Map(objects.map((object) => [object.metadata.uid, object]))
  const isOwn = ({ metadata }: KubeObject): boolean => own.has(metadata.uid)
  /** Whether it was made for what the operator has made, whichever controllers come between. */
  const comesOfOwn = ({ metadata: { ownerReferences = [] } }: KubeObject): boolean =>
    ownerReferences.some(({ uid }) => {
      const owner = byUid.get(uid)
      return owner !== undefined && (isOwn(owner) || comesOfOwn(owner))
    })
  const namespaces = ownNamespaces({ entries }, objects)
  const found = objects.filter((object) => {
    const { kind, metadata: { namespace } } = object
    if (namespace === undefined || namespaces.has(namespace) || none.has(kind)) return false
    if (isTerminating(object) || isElected(object) || claims(object)) return false
    return isOwn(object) || (kind === "Pod" && comesOfOwn(object))
  })
  return [...Map.groupBy(found, placeOf).values()].map(([first]) => first!)
}

/** What there is one of for somebody else. */
export const placeOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace}`

/** Whose a volume is: who mounts the claim of another keeps it. */
const volumeLike = (volume: Fields): Fields =>
  "persistentVolumeClaim" in volume ? { name: volume["name"], emptyDir: {} } : volume

/** A field as somebody else has it. */
type Translation = (value: unknown, kind: string) => unknown

const given: Translation = () => undefined
const listed = (each: (item: Fields) => unknown): Translation => (items) =>
  Array.isArray(items) ? items.map((item) => isFields(item) ? each(item) : item) : items

/** Fields of specs that the server gives out, or that speak of others. */
const translations: Readonly<Record<string, Translation>> = {
  clusterIP: given,
  clusterIPs: given,
  ipFamilies: given,
  ipFamilyPolicy: given,
  healthCheckNodePort: given,
  nodeName: given,
  podSelector: () => ({ matchLabels: label }),
  ports: listed((port) => ({ ...port, nodePort: undefined })),
  scaleTargetRef: (target) => isFields(target) ? { ...target, name } : target,
  selector: (_, kind) =>
    kind === "Service" || kind === "Job"
      ? undefined
      : kind === "ReplicationController"
      ? label
      : { matchLabels: label },
  template: (template, kind) =>
    isFields(template)
      ? { ...template, metadata: { labels: label }, spec: specLike(template["spec"], kind) }
      : template,
  volumes: listed(volumeLike)
}

const asIs: Translation = (value) => value

const specLike = (spec: unknown, kind: string): unknown =>
  isFields(spec)
    ? Object.fromEntries(
      Object.entries(spec)
        .map(([key, value]) => [key, (translations[key] ?? asIs)(value, kind)] as const)
        .filter(([, value]) => value !== undefined)
    )
    : spec

/** The like of an object, made by somebody for himself. */
export const like = (model: KubeObject): object => {
  const { apiVersion, kind, metadata: { namespace }, spec, status: _, ...fields } = model as KubeObject & Fields
  const own = specLike(spec, kind)
  return {
    ...fields,
    ...(isFields(own) ? { spec: kind === "CronJob" ? { ...own, suspend: true } : own } : {}),
    apiVersion,
    kind,
    metadata: { name, namespace }
  }
}

/** After which steps, from 0, there is at rest something of a kind of which somebody else has none yet. */
export const steps = (run: Recording): ReadonlySet<number> => {
  const known = new Set<string>()
  const found = new Set<number>()
  for (const step of run.steps.keys()) {
    const objects = step === run.steps.length - 1 ? run.objects : run.rests[step]?.objects ?? []
    const fresh = models(run, objects).map(placeOf).filter((place) => !known.has(place))
    if (fresh.length > 0) found.add(step)
    for (const place of fresh) known.add(place)
  }
  return found
}
