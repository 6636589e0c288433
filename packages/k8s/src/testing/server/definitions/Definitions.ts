/**
 * `Definitions`: the life cycle of CustomResourceDefinitions, from accepting names to deleting their objects.
 *
 * In the real server several controllers do this shortly after a write. Here `settle` does it before the write is
 * answered, in the same steps and so with the same events: names are accepted, then the definition is established; on
 * deletion, first the objects are deleted, then the definition. The response to the write contains the object as it was
 * written.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,finalizer}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Deletion from "../../../api/Deletion.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import { type Core, timestamp } from "../Exchange.ts"
import * as Strategy from "../Strategy.ts"
import * as Ownership from "../verbs/Ownership.ts"
import * as ConversionRules from "./ConversionRules.ts"
import * as CustomResources from "./CustomResources.ts"
import * as Approval from "./DefinitionApproval.ts"

const collection = CustomResources.definitions
const definitionType = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"

interface Condition {
  readonly type: string
  readonly status: "True" | "False"
  readonly reason: string
  readonly message: string
}

/** The object with a condition, whose transition time changes only with its status. */
const withCondition = (definition: KubeObject, condition: Condition, now: number): KubeObject => {
  const status = objectAt(definition, "status")
  const conditions = arrayAt(status, "conditions")
  const old = conditions.find((entry) => stringAt(entry, "type") === condition.type)
  const changed = stringAt(old, "status") !== condition.status
  const next = {
    type: condition.type,
    status: condition.status,
    lastTransitionTime: changed ? timestamp(now) : at(old, "lastTransitionTime"),
    reason: condition.reason,
    message: condition.message
  }
  return {
    ...definition,
    status: {
      ...status,
      conditions: old === undefined ? [...conditions, next] : conditions.map((entry) => (entry === old ? next : entry))
    }
  } as KubeObject
}

/** The accepted names of other definitions in the group. */
const taken = (core: Core, definition: KubeObject) => {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  const { get, keys } = core.storage.list(collection)
  for (const other of keys.map(get)) {
    if (other.metadata.name === definition.metadata.name) continue
    if (stringAt(other, "spec", "group") !== stringAt(definition, "spec", "group")) continue
    const names = objectAt(other, "status", "acceptedNames")
    for (const name of [names["plural"], names["singular"], ...arrayAt(names, "shortNames")]) {
      if (typeof name === "string" && name !== "") resources.add(name)
    }
    for (const name of [names["kind"], names["listKind"]]) if (typeof name === "string" && name !== "") kinds.add(name)
  }
  return { resources, kinds }
}

interface Naming {
  readonly names: JsonValue.JsonObject
  readonly condition: Condition
}

/** Which of the requested names are accepted. After a conflict, previously accepted names are kept. */
const naming = (core: Core, definition: KubeObject): Naming => {
  const wanted = objectAt(definition, "spec", "names")
  const before = objectAt(definition, "status", "acceptedNames")
  const { kinds, resources } = taken(core, definition)
  let names: JsonValue.JsonObject = wanted
  let condition: Condition = {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found"
  }
  const clash = (key: string, reason: string, names_: ReadonlyArray<string>) => {
    const value = before[key]
    names = value === undefined ? JsonValue.remove(names, key) : JsonValue.set(names, key, value)
    condition = {
      type: "NamesAccepted",
      status: "False",
      reason,
      message: names_.map((name) => `${JSON.stringify(name)} is already in use`).join(", ")
    }
  }
  const check = (key: string, reason: string, used: ReadonlySet<string>) => {
    const name = stringAt(wanted, key)
    if (used.has(name)) clash(key, reason, [name])
  }
  check("plural", "PluralConflict", resources)
  check("singular", "SingularConflict", resources)
  const short = arrayAt(wanted, "shortNames").map(String).filter((name) => resources.has(name))
  if (short.length > 0) clash("shortNames", "ShortNamesConflict", short)
  check("kind", "KindConflict", kinds)
  check("listKind", "ListKindConflict", kinds)
  return { names, condition }
}

const unestablished: Condition = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted"
}

const installing: Condition = {
  type: "Established",
  status: "False",
  reason: "Installing",
  message: "the initial names have been accepted"
}

const untrusted: Condition = {
  type: "Established",
  status: "False",
  reason: "InvalidCABundle",
  message: "The conversion webhook CABundle is invalid"
}

const established: Condition = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted"
}

const terminating = (status: "True" | "False", reason: string, message: string): Condition => ({
  type: "Terminating",
  status,
  reason,
  message
})

/** Stores a definition if it changed; returns what is stored. */
const put = (core: Core, before: KubeObject, after: KubeObject, now: number): KubeObject => {
  if (JsonValue.equals(before, after)) return before
  const owned = Ownership.statusTouched({ collection, definition: definitionType, now }, before, after)
  return core.storage.put(collection, after.metadata.name, "", owned).object
}

const approve = (core: Core, definition: KubeObject, now: number): KubeObject => {
  const state = Approval.stateOf(definition)
  return state === undefined
    ? definition
    : put(core, definition, withCondition(definition, Approval.conditionOf(state), now), now)
}

const accept = (core: Core, written: KubeObject, now: number): KubeObject => {
  const definition = approve(core, written, now)
  const { condition, names } = naming(core, definition)
  const accepted = condition.status === "True"
  const was = CustomResources.conditionIsTrue(definition, "Established")
  let next = withCondition(
    { ...definition, status: { ...objectAt(definition, "status"), acceptedNames: names } } as KubeObject,
    condition,
    now
  )
  if (!was) next = withCondition(next, accepted ? installing : unestablished, now)
  const named = put(core, definition, next, now)
  if (!accepted || was) return named
  const decided = ConversionRules.hasBrokenBundle(named) ? untrusted : established
  return put(core, named, withCondition(named, decided, now), now)
}

const collectionOf = (definition: KubeObject): string =>
  `${stringAt(definition, "spec", "names", "plural")}.${stringAt(definition, "spec", "group")}`

/** Deletes the objects of a definition that is being deleted. Their finalizers are respected. */
const deleteInstances = (core: Core, definition: KubeObject, now: number): void => {
  const name = collectionOf(definition)
  const strategy = Strategy.make({ generation: true })
  const { get, keys } = core.storage.list(name)
  for (const key of keys) {
    const stored = get(key)
    const namespace = stored.metadata.namespace ?? ""
    const outcome = Deletion.decide(stored, strategy, { dryRun: [] }, now)
    if (outcome._tag === "Mark") core.storage.put(name, key, namespace, outcome.object)
    else if (outcome._tag === "Remove") core.storage.remove(name, key, namespace)
  }
}

const terminate = (core: Core, definition: KubeObject, now: number): void => {
  if (!(definition.metadata.finalizers ?? []).includes(Deletion.customResourceCleanup)) return
  const owned = collectionOf(definition)
  const progress = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
  const current = put(core, definition, withCondition(definition, progress, now), now)
  deleteInstances(core, current, now)
  if (core.storage.count(owned) > 0) return
  const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== Deletion.customResourceCleanup)
  if (finalizers.length === 0) {
    core.storage.remove(collection, current.metadata.name, "")
    return
  }
  const done = terminating("False", "InstanceDeletionCompleted", "removed all instances")
  put(core, current, withCondition({ ...current, metadata: { ...current.metadata, finalizers } }, done, now), now)
}

/** Updates the registry when stored definitions change. */
export class Definitions {
  private readonly core: Core
  /** Definitions that changed, or that lost objects, since the last `settle`. */
  private readonly dirty = new Set<string>()
  /** The spec and names that are served, by name of the definition. */
  private readonly serving = new Map<string, unknown>()

  constructor(core: Core) {
    this.core = core
    core.storage.listen((change) => {
      if (change.collection === collection) this.dirty.add(change.key)
      else if (change.type === "DELETED" && core.storage.get(collection, change.collection) !== undefined) {
        // The name of a definition is that of its collection.
        this.dirty.add(change.collection)
      }
    })
  }

  /** Serves the definitions in the initial content of the store. */
  begin(now: number): void {
    for (const name of this.core.storage.list(collection).keys) this.dirty.add(name)
    this.settle(now)
  }

  /** Processes the changes since the last call. */
  settle(now: number): void {
    for (let rounds = 0; this.dirty.size > 0 && rounds < 1000; rounds++) {
      const [name] = this.dirty
      this.dirty.delete(name!)
      this.step(name!, now)
    }
  }

  private step(name: string, now: number): void {
    const { core } = this
    const definition = core.storage.get(collection, name)
    if (definition === undefined) return this.forget(name)
    if (definition.metadata.deletionTimestamp === undefined) {
      const accepted = accept(core, definition, now)
      // Its own changes need not be processed again.
      this.dirty.delete(name)
      this.serve(accepted)
    } else {
      this.serve(definition)
      terminate(core, definition, now)
      this.dirty.delete(name)
      const left = core.storage.get(collection, name)
      if (left === undefined) this.forget(name)
      // While other finalizers remain, the definition is served as before, and new objects can be created again.
      else this.serve(left)
    }
  }

  private serve(definition: KubeObject): void {
    const { hub, registry } = this.core
    const { name } = definition.metadata
    const shown = [
      at(definition, "spec"),
      at(definition, "status", "acceptedNames"),
      CustomResources.conditionIsTrue(definition, "Established"),
      CustomResources.conditionIsTrue(definition, "Terminating")
    ]
    const before = this.serving.get(name) as typeof shown | undefined
    if (JsonValue.equals(before, shown)) return
    this.serving.set(name, shown)
    registry.setCustom(name, CustomResources.served(definition, this.core))
    registry.setUnready(name, CustomResources.unready(definition))
    if (before !== undefined && !JsonValue.equals(before.slice(0, 2), shown.slice(0, 2))) hub.renew(name)
  }

  private forget(name: string): void {
    const { hub, registry, storage } = this.core
    if (!this.serving.delete(name)) return
    registry.setCustom(name, [])
    registry.setUnready(name, [])
    hub.renew(name)
    // Names that were taken may be free now.
    for (const other of storage.list(collection).keys) this.dirty.add(other)
  }
}
