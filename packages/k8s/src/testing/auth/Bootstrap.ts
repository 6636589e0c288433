/**
 * `Bootstrap`: fills a new store with what a server has from the start: roles, bindings, flow schemas, priority
 * classes.
 *
 * The content is shared by all servers. Each object has its own uid (derived from one random number), creation time and
 * resourceVersion. This takes a few hundred microseconds per server.
 *
 * A real server creates roles, bindings and priority classes through its own API, and so owns the fields. It writes
 * flow schemas and API services in other ways or in parts; here they have no owner.
 */
import type { KubeObject, ManagedFieldsEntry } from "@effect-operator/core/KubeObject"
import { asObject, freeze, objectAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import type { ServedGroup } from "../../kinds/tables.ts"
import type * as JsonValue from "../../schema/JsonValue.ts"
import * as ApiServices from "../aggregation/ApiServices.ts"
import * as BuiltinTypes from "../apply/BuiltinTypes.ts"
import * as Comparison from "../apply/Comparison.ts"
import * as FieldManager from "../apply/FieldManager.ts"
import * as FieldSet from "../apply/FieldSet.ts"
import * as FieldsV1 from "../apply/FieldsV1.ts"
import { storageKey, timestamp, uuid } from "../server/Exchange.ts"
import { definitionOf } from "../server/go/BuiltinSchema.ts"
import * as BootstrapFlows from "./BootstrapFlows.ts"
import * as BootstrapPolicy from "./BootstrapPolicy.ts"
import * as BootstrapPriorities from "./BootstrapPriorities.ts"

/** Uids that differ from all others of the server: a common prefix and a counter. */
const uids = (random: () => number): () => string => {
  const part = (digits: number) => Math.floor(random() * 16 ** digits).toString(16).padStart(digits, "0")
  const beginning = `${part(8)}-${part(4)}-4${part(3)}-8${part(3)}`
  let count = 0
  return () => `${beginning}-${(count++).toString(16).padStart(12, "0")}`
}

const withTimes = (object: object, time: string): object => {
  const { conditions } = objectAt(object, "status")
  return Array.isArray(conditions)
    ? {
      ...object,
      status: { conditions: conditions.map((condition: object) => ({ ...condition, lastTransitionTime: time })) }
    }
    : object
}

const everything = (groups: ReadonlyArray<ServedGroup>) => [
  ...ApiServices.initial(groups).map((object) => ({
    collection: ApiServices.collection,
    namespace: "",
    object,
    owned: false
  })),
  ...BootstrapFlows.objects().map((entry) => ({ ...entry, owned: false })),
  ...[...BootstrapPriorities.objects(), ...BootstrapPolicy.objects()].map((entry) => ({ ...entry, owned: true }))
]

/** The manager of what a server creates at its start. */
export const manager = "kube-apiserver"

const owned = new WeakMap<KubeObject, JsonValue.JsonObject>()

/** The fields that the server owns in an object that it created. Aggregated rules are not among them. */
const fieldsOf = (object: KubeObject): JsonValue.JsonObject => {
  const known = owned.get(object)
  if (known !== undefined) return known
  const [group = "", version = ""] = object.apiVersion.split("/")
  const type = BuiltinTypes.ofDefinition(definitionOf(group, version, object.kind) ?? "")
  const { rules: _, ...unaggregated } = object as KubeObject & { readonly rules?: unknown }
  const written = "aggregationRule" in object ? unaggregated : object
  const fields = freeze(
    FieldsV1.encode(FieldSet.difference(Comparison.compare(type, {}, written, "structs").changed, FieldManager.unowned))
  )
  owned.set(object, fields)
  return fields
}

/** The managedFields of an object that the server created. */
export const entriesOf = (object: KubeObject, time: string): ReadonlyArray<ManagedFieldsEntry> => [{
  manager,
  operation: "Update",
  apiVersion: object.apiVersion,
  time,
  fieldsType: "FieldsV1",
  fieldsV1: fieldsOf(object)
}]

/** An object as the server writes it, without generated metadata. */
export interface Own {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** Stores an object of the server itself. An existing one keeps its metadata. */
export const store = (
  storage: Storage,
  collection: string,
  own: Own,
  now: number,
  random: () => number
): void => {
  const { name, namespace = "" } = own.metadata
  const key = storageKey(namespace, name)
  const creationTimestamp = timestamp(now)
  const metadata = storage.get(collection, key)?.metadata ?? {
    ...own.metadata,
    uid: uuid(random),
    creationTimestamp,
    managedFields: entriesOf(asObject(own), creationTimestamp)
  }
  storage.put(collection, key, namespace, asObject({ ...own, metadata }))
}

/** Stores everything that a new server with these groups has. */
export const install = (
  storage: Storage,
  groups: ReadonlyArray<ServedGroup>,
  now: number,
  random: () => number
): void => {
  const uid = uids(random)
  const creationTimestamp = timestamp(now)
  for (const { collection, namespace, object, owned } of everything(groups)) {
    const { annotations, generation, labels, name } = object.metadata
    const metadata = {
      name,
      ...(namespace === "" ? {} : { namespace }),
      uid: uid(),
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(owned ? { managedFields: entriesOf(object, creationTimestamp) } : {})
    }
    storage.put(
      collection,
      storageKey(namespace, name),
      namespace,
      asObject({ ...withTimes(object, creationTimestamp), metadata })
    )
  }
}
