/**
 * `NormalisationsOfKinds`: where single kinds of objects of quotas, nodes, storage and classes have become other ones
 * since the oldest server compared.
 */
import type { Normalisation } from "./Normalisations.ts"
import { everywhere, fields, forPath, type Json, messages, type Rewrite, without, withoutCauses } from "./Rewrite.ts"

/** What an object is created with is the same. */
const unlessCreated = (apply: Rewrite): Rewrite => (answer, step) =>
  step.method === "POST" ? answer : apply(answer, step)

/** The field of a cause under its newer name. */
const fieldNamed = (older: string, newer: string) =>
  everywhere((object) => (object["field"] === older ? { ...object, field: newer } : object))

/** A table with other columns: `columns` says where they are now, by their names. */
const withColumns = (columns: (names: ReadonlyArray<string>) => ReadonlyArray<number>) => (object: Json): Json => {
  const { columnDefinitions, rows } = object
  if (!Array.isArray(rows) || !Array.isArray(columnDefinitions)) return object
  const places = columns(columnDefinitions.map((column: Json) => String(column["name"])))
  return {
    ...object,
    columnDefinitions: places.map((place) => columnDefinitions[place]),
    rows: rows.map((row: Json) => ({
      ...row,
      cells: places.map((place) => (row["cells"] as ReadonlyArray<unknown>)[place])
    }))
  }
}

const ageLast = withColumns((names) => {
  const places = [...names.keys()]
  const age = names.indexOf("Age")
  return age < 0 ? places : [...places.filter((place) => place !== age), age]
})

const withoutColumns = (...newer: ReadonlyArray<string>) =>
  withColumns((names) => [...names.keys()].filter((place) => !newer.includes(names[place]!)))

const suspendAsText = (object: Json): Json => {
  const { columnDefinitions, rows } = object
  if (!Array.isArray(rows) || !Array.isArray(columnDefinitions)) return object
  const at = columnDefinitions.findIndex((column: Json) => column["name"] === "Suspend")
  return {
    ...object,
    columnDefinitions: columnDefinitions.map((column: Json, index) =>
      index === at ? { ...column, type: "string" } : column
    ),
    rows: rows.map((row: Json) => ({
      ...row,
      cells: (row["cells"] as ReadonlyArray<unknown>).map((cell, index) =>
        index === at ? String(cell).toLowerCase() : cell
      )
    }))
  }
}

export const normalisationsOfKinds: ReadonlyArray<Normalisation> = [
  {
    name: "newer fields of CSIDrivers",
    reason: "tracked capacity came with 1.21, tokens with 1.22, SELinux with 1.27",
    apply: forPath(/csidrivers/, fields("spec storageCapacity", "spec requiresRepublish", "spec seLinuxMount"))
  },
  {
    name: "conditions of budgets",
    reason: "1.20 does not tell of the last disruption that a budget allowed; its API has no conditions of budgets",
    apply: forPath(/poddisruptionbudgets/, fields("status conditions"))
  },
  {
    name: "classes of Pods",
    reason: "1.20 takes the class off where a status leaves it out",
    apply: unlessCreated(forPath(/\/pods/, fields("status qosClass")))
  },
  {
    name: "ranges of Nodes",
    reason: "1.20 prints a range that is none in Go's form, and says less of it",
    apply: forPath(
      /\/nodes/,
      messages(/Invalid value: (?:"[^"]*"|\{\.\.\.\}): (?:must be a range|must be valid CIDR)/g, "no range")
    )
  },
  {
    name: "whole amounts",
    reason: "1.20 prints an amount that must be an integer in Go's form",
    apply: messages(/Invalid value: (?:"[^"]*"|\{\.\.\.\}): must be an integer/g, "must be an integer")
  },
  {
    name: "updates of Nodes",
    reason: "1.20 says besides what of a Node may change at all",
    apply: forPath(/\/nodes/, withoutCauses((field) => field === "[]"))
  },
  {
    name: "parameters of IngressClasses",
    reason: "1.20 says of what is missing that it is missing, and tells a group that is not there",
    apply: forPath(
      /ingressclasses/,
      (answer, step) =>
        everywhere((object) => object["apiGroup"] === null ? without(object, "apiGroup") : object)(
          messages(/(Required value): (?:name|kind) is required/g, "$1")(answer, step),
          step
        )
    )
  },
  {
    name: "scope of parameters",
    reason: "since 1.21 they may be in a namespace",
    apply: forPath(/ingressclasses/, fields("parameters scope"))
  },
  {
    name: "values of PriorityClasses",
    reason: "1.20 names the field by its Go name",
    apply: forPath(/priorityclasses/, fieldNamed("Value", "value"))
  },
  {
    name: "absent names of drivers",
    reason: "1.20 says of a name that is not there also what a name would have to look like",
    apply: forPath(
      /csinodes|volumeattachments/,
      withoutCauses((field, message) =>
        /(?:\.name|\.attacher)$/.test(field) && message.startsWith("Invalid value: \"\": ")
      )
    )
  },
  {
    name: "paths of tolerations",
    reason: "1.20 has the name of the field twice",
    apply: forPath(
      /runtimeclasses/,
      everywhere((object) =>
        typeof object["field"] === "string"
          ? { ...object, field: object["field"].replace("tolerations.tolerations", "tolerations") }
          : object
      )
    )
  },
  {
    name: "generation of CronJobs",
    reason: "they have one since 1.21",
    apply: forPath(/cronjobs/, fields("metadata generation"))
  },
  {
    name: "data of ControllerRevisions",
    reason: "1.20 asks for them in updates, too, which may not change them",
    apply: (answer, step) =>
      step.method !== "POST" && step.path.includes("/controllerrevisions/")
        ? withoutCauses((_, message) => message.endsWith("data is mandatory"))(answer, step)
        : answer
  },
  {
    name: "tables of CronJobs",
    reason: "since 1.29 they have the time zone, and say in a text whether they are suspended",
    apply: forPath(/cronjobs/, everywhere((object) => suspendAsText(withoutColumns("Timezone")(object))))
  },
  {
    name: "selectors of CronJobs",
    reason: "batch/v1 has no words of its own for a field that it does not know",
    apply: forPath(
      /cronjobs/,
      messages(
        /^(?:"([^"]*)" is not a known field selector: only .*|field label "([^"]*)" not supported for "?\w+"?)$/,
        "unknown field $1$2"
      )
    )
  },
  {
    name: "schedules",
    reason: "the words of the library that reads them were put right in 1.22",
    apply: forPath(
      /cronjobs/,
      everywhere((object) =>
        object["field"] === "spec.schedule" && typeof object["message"] === "string"
          ? {
            ...object,
            message: object["message"].replace(
              /: ([A-Z])(?=[a-z ]+)/g,
              (_, first: string) => `: ${first.toLowerCase()}`
            )
              .replace(/(found \d+: )\[?.*?\]?$/, "$1...")
          }
          : object
      )
    )
  },
  {
    name: "amounts of LimitRanges",
    reason: "1.20 prints an amount in Go's form",
    apply: forPath(
      /limitranges/,
      messages(/Invalid value: (?:"[^"]*"|\{\.\.\.\}): (min value|max value|default|ratio)/g, "$1")
    )
  },
  {
    name: "scopes that are not there",
    reason: "1.20 prints them in Go's form",
    apply: forPath(
      /resourcequotas/,
      messages(/Invalid value: (?:null|\{\.\.\.\}): (conflicting scopes|field is immutable)/g, "$1")
    )
  },
  {
    name: "operators of scopes",
    reason: "a scope that needs Exists came with 1.21, and the words were put right",
    apply: forPath(/resourcequotas/, messages(/must be 'Exists?' (?:only operator )?when scope is any of .*/g, "..."))
  },
  {
    name: "what quotas ask for",
    reason: "since 1.25 they say of which containers",
    apply: forPath(
      /\/pods/,
      (answer, step) => messages(/ for: [a-z0-9,-]+$/g, "")(messages(/ for: [a-z0-9,-]+; /g, ",")(answer, step), step)
    )
  },
  {
    name: "order of limits",
    reason: "a real server goes through the bounds of a LimitRange in the order of a map of Go: in any",
    apply: forPath(
      /\/(?:pods|persistentvolumeclaims)/,
      everywhere((object) =>
        typeof object["message"] === "string" && / is forbidden: \[.* usage per /.test(object["message"])
          ? { ...object, message: object["message"].split(/\[|, (?=m(?:ax|in)imum |\S+ max limit )|\]/).sort() }
          : object
      )
    )
  },
  {
    name: "missing Scales",
    reason: "1.20 misses that of a ReplicationController as a Scale",
    apply: (answer, step) =>
      /\/replicationcontrollers\/[^/]+\/scale$/.test(step.path) && answer.status === 404
        ? { ...answer, body: "missing" }
        : answer
  },
  {
    name: "tables of ResourceQuotas",
    reason: "the age is the last column since 1.32",
    apply: forPath(/resourcequotas/, everywhere(ageLast))
  },
  {
    name: "families of EndpointSlices",
    reason: "since 1.33 an address of the other family is told from what is no address",
    apply: forPath(
      /endpointslices/,
      everywhere((object) =>
        String(object["field"]).includes("].addresses") &&
          /must be an? (?:valid )?(?:IPv[46] )?address/.test(String(object["message"]))
          ? { ...object, field: "addresses", message: "none of the family" }
          : object
      )
    )
  },
  {
    name: "names of Nodes for drivers",
    reason: "they may be twice as long since 1.22",
    apply: forPath(/csinodes/, messages(/must be \d+ characters or less/g, "too long"))
  },
  {
    name: "keys of topology",
    reason: "1.20 prints a key that is none in Go's form",
    apply: forPath(
      /csinodes/,
      messages(/Invalid value: (?:"[^"]*"|\{\.\.\.\}): (name part|prefix part|a qualified)/g, "$1")
    )
  },
  {
    name: "newer columns of classes",
    reason: "PriorityClasses show their policy since 1.32, CSIDrivers tracked capacity and tokens since 1.21",
    apply: forPath(
      /priorityclasses|csidrivers/,
      everywhere(withoutColumns("PreemptionPolicy", "StorageCapacity", "TokenRequests", "RequiresRepublish"))
    )
  },
  {
    name: "generation of CSIDrivers",
    reason: "nothing of a CSIDriver can change in 1.20",
    apply: forPath(/csidrivers/, fields("metadata generation"))
  },
  {
    name: "labels of EndpointSlices",
    reason: "they count as a change of the slice, in 1.20 they do not",
    apply: unlessCreated(forPath(/endpointslices/, fields("metadata generation")))
  },
  {
    name: "endpoints that stay",
    reason: "since 1.28 those that do not change are not judged, also of another type of addresses",
    apply: forPath(
      /endpointslices/,
      everywhere((object) =>
        Array.isArray(object["causes"]) && object["causes"].some((cause: Json) => cause["field"] === "addressType")
          ? { ...object, causes: object["causes"].filter((cause: Json) => cause["field"] !== "addresses") }
          : object
      )
    )
  },
  {
    name: "drivers of CSINodes",
    reason: "1.20 names the type instead of the field",
    apply: forPath(/csinodes/, fieldNamed("CSINodeDriver", "spec.drivers"))
  }
]
