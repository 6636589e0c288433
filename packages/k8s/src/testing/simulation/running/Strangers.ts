/**
 * `Strangers`: objects that somebody else has in the namespaces of an operator, of the kinds that the operator creates.
 *
 * They have no owner, no labels and no annotations, and their Pods have labels of their own: nothing suggests that they
 * concern the operator. An operator that lists a kind and takes all of it for its own counts, changes or deletes them.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isElected } from "../recording/Fault.ts"
import { precious } from "../recording/Precious.ts"
import { accepted, madeByPeople, type Recording } from "../recording/Recording.ts"

/** The name of each of these objects. */
export const name = "somebody-elses"

const label = { "simulation.effect-operator/whose": name }

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Kinds that the cluster creates itself, and kinds of which a second object would not be equivalent (a volume, a
 * lease).
 */
const unlike: ReadonlySet<string> = new Set([
  ...precious,
  "Event",
  "Lease",
  "Endpoints",
  "EndpointSlice",
  "ControllerRevision"
])

/** Whether claims are created for an object, which outlive it. */
const claims = (object: KubeObject): boolean => {
  const { volumeClaimTemplates } = (object as { readonly spec?: { readonly volumeClaimTemplates?: unknown } }).spec ??
    {}
  return Array.isArray(volumeClaimTemplates) && volumeClaimTemplates.length > 0
}

/** Kinds that limit a number or a sum: one more of anything may be rejected. */
const limiting: ReadonlySet<string> = new Set(["ResourceQuota", "LimitRange"])

/** The uids of the objects that the operator created. */
const madeByOperator = (entries: Recording["entries"]): ReadonlySet<string> =>
  new Set(
    entries.flatMap((entry) =>
      entry._tag === "Call" && entry.status === 201 && accepted(entry) ? entry.object?.metadata.uid ?? [] : []
    )
  )

/** The kinds that people create in their steps. */
const kindsOfPeople = (entries: Recording["entries"]): ReadonlyArray<string> => {
  const theirs = new Set(madeByPeople(entries))
  return entries.flatMap((entry) =>
    entry._tag === "Change" && theirs.has(entry.change.object.metadata.uid) ? [entry.change.object.kind] : []
  )
}

/** Kinds that strangers get none of: people create them themselves, or two would not be equivalent. */
export const spared = ({ entries, kinds }: Pick<Recording, "entries" | "kinds">): ReadonlySet<string> =>
  new Set([...unlike, ...kinds, ...kindsOfPeople(entries)])

/** The namespaces that the operator created. */
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
 * The objects that strangers may get a copy of: created by the operator, or Pods created for those, in a namespace that
 * the operator did not create; the first of each kind and namespace. Kinds that people create in their steps are left
 * out, because the story has its own.
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
  /** Whether it was created for an object of the operator, however many controllers are in between. */
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

/** Strangers have one object per such place. */
export const placeOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace}`

/** A volume as strangers have it: a Pod that mounts another's claim would keep that claim. */
const volumeLike = (volume: Fields): Fields =>
  "persistentVolumeClaim" in volume ? { name: volume["name"], emptyDir: {} } : volume

/** A field as strangers have it. */
type Translation = (value: unknown, kind: string) => unknown

const given: Translation = () => undefined
const listed = (each: (item: Fields) => unknown): Translation => (items) =>
  Array.isArray(items) ? items.map((item) => isFields(item) ? each(item) : item) : items

/** Fields of specs that the server assigns, or that refer to other objects. */
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

/** A copy of an object, as somebody else would create it. */
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

/** The steps, from 0, after which something is at rest of a kind that strangers do not have yet. */
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
