/**
 * `Bootstrap`: puts into a new store what a server has from its start: roles, bindings, flow schemas,
 * priority classes.
 *
 * The content is shared by all servers; of its own an object has a uid, made from one random number for all of them, the
 * time, and its resourceVersion. A new server spends a few hundred microseconds here.
 */
import * as ApiServices from "../aggregation/ApiServices.ts"
import { asObject, objectAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import { storageKey, timestamp } from "../server/Exchange.ts"
import * as BootstrapFlows from "./BootstrapFlows.ts"
import * as BootstrapPolicy from "./BootstrapPolicy.ts"
import * as BootstrapPriorities from "./BootstrapPriorities.ts"

/** Unlike any other uid of the server: all of them begin alike and are numbered. */
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

const everything = () => [
  ...ApiServices.initial.map((object) => ({ collection: ApiServices.collection, namespace: "", object })),
  ...BootstrapFlows.objects(),
  ...BootstrapPriorities.objects(),
  ...BootstrapPolicy.objects()
]

/** Stores everything a new server has. */
export const install = (storage: Storage, now: number, random: () => number): void => {
  const uid = uids(random)
  const creationTimestamp = timestamp(now)
  for (const { collection, namespace, object } of everything()) {
    const { annotations, generation, labels, name } = object.metadata
    const metadata = {
      name,
      ...(namespace === "" ? {} : { namespace }),
      uid: uid(),
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations })
    }
    storage.put(
      collection,
      storageKey(namespace, name),
      namespace,
      asObject({ ...withTimes(object, creationTimestamp), metadata })
    )
  }
}
