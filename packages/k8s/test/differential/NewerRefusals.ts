/**
 * `NewerRefusals`: requests that all releases refuse, in other words or with another code, since 1.22 or later; composed
 * with the other normalisations.
 */
import { at } from "./Path.ts"
import {
  everywhere,
  forPath,
  isObject,
  isStatus,
  type Json,
  messages,
  type Rewrite,
  without,
  withoutCauses
} from "./Rewrite.ts"
import type { Answer, Step } from "./Step.ts"
import type { Normalisation } from "./Normalisations.ts"

const messageOf = ({ body }: Answer): string => isObject(body) ? String(body["message"] ?? "") : ""

/** The answer of a refusal, brought to another code and message. */
const refused = (answer: Answer, code: number, reason: string, message: string): Answer => ({
  ...answer,
  status: code,
  body: { ...answer.body as Json, code, reason, message }
})

const missing: Rewrite = (answer) => {
  const [, resource, name] =
    /^Operation cannot be fulfilled on (\S+) (".*?"): StorageError: .*UID in object meta: $/.exec(messageOf(answer)) ??
      []
  return resource === undefined ? answer : refused(answer, 404, "NotFound", `${resource} ${name} not found`)
}

const version: Rewrite = (answer, step) => {
  const message = messageOf(answer)
  return answer.status === 500 && step.watch !== true &&
      /^resourceVersion: Invalid value: .*: strconv\.ParseUint: /.test(message)
    ? refused(answer, 400, "BadRequest", `invalid resource version: ${message}`)
    : answer
}

const unreadVersion: Rewrite = (answer) =>
  answer.status === 400 && messageOf(answer).startsWith("invalid resource version of ")
    ? refused(answer, 400, "BadRequest", "invalid resource version")
    : answer

/** A body that is sent to another namespace than it names. */
const strays = ({ body, path }: Step): boolean => {
  const namespace = body?._tag === "Json"
    ? at(body.value, ["metadata", "namespace"])
    : body?._tag === "Edited"
    ? body.edits.find((edit) => edit.path.join(".") === "metadata.namespace")?.value
    : undefined
  return typeof namespace === "string" && namespace !== "" && !path.includes(`/namespaces/${namespace}/`)
}

const misplaced: Rewrite = (answer, step) => {
  const message = messageOf(answer)
  return /^the namespace of the (?:provided )?object .*does not match the namespace/.test(message) ||
      (answer.status === 400 && strays(step) && message.startsWith("the name of the object ("))
    ? { ...answer, body: "misplaced" }
    : answer
}

const page: Rewrite = (answer, step) =>
  answer.status === 404 && !/^\/apis?(?:\/|$)/.test(step.path) && !isStatus(answer)
    ? { ...answer, headers: without(answer.headers, "content-type", "x-content-type-options") as {}, body: "no page" }
    : answer

const generated = ["controller-uid", "job-name"]

const counted = /should have at (?:least|most) \d+ properties|^Too many: /

/** Without what is said of the properties of an object that has too many or too few. */
const uncounted: Rewrite = everywhere((object) => {
  const causes = object["causes"]
  if (!Array.isArray(causes)) return object
  const objects = causes.flatMap(({ field, message }: Json) =>
    counted.test(String(message)) ? [`${String(field)}.`] : []
  )
  return objects.length === 0 ? object : {
    ...object,
    causes: causes.filter(({ field }: Json) => !objects.some((around) => String(field).startsWith(around)))
  }
})

/** What a list can be asked to be, which no server makes of it. */
const formless = /^(?:text\/html|application\/json;as=(?:Nope|PartialObjectMetadata);[^,]*)$/

const listOptions: ReadonlySet<string> = new Set([
  "continue",
  "fieldSelector",
  "labelSelector",
  "limit",
  "resourceVersion",
  "resourceVersionMatch",
  "timeoutSeconds"
])

/** A list with options, in a form that there is not: either is refused, by which comes first. */
const unformed: Rewrite = (answer, step) =>
  step.method === "GET" && formless.test(step.headers["accept"] ?? "") &&
    step.query.some(([name]) => listOptions.has(name)) && [400, 406, 422].includes(answer.status)
    ? { ...answer, status: 406, headers: {}, body: "refused" }
    : answer

export const newerRefusals: ReadonlyArray<Normalisation> = [
  {
    name: "options of lists in a form that there is not",
    reason: "1.20 looks at the form first, newer releases at the options",
    apply: unformed
  },
  {
    name: "numbers of properties",
    reason: "in 1.20 nothing else is said of an object that has too many or too few",
    apply: uncounted
  },
  {
    name: "pages",
    reason: "a path nobody serves was told the paths there are, and is no page since 1.22",
    apply: page
  },
  {
    name: "missing objects with a uid",
    reason: "1.20 compares the uid of what is not there, too; later releases look whether it is there first",
    apply: missing
  },
  { name: "no versions", reason: "500 of most lists in 1.20, later 400", apply: version },
  { name: "no versions of resources", reason: "the words of a deleted collection", apply: unreadVersion },
  {
    name: "other namespaces",
    reason: "since 1.22 one text for all requests, which goes before what is said of the name",
    apply: misplaced
  },
  {
    name: "unrecognized objects",
    reason: "1.20 calls an object without a kind by that of the path",
    apply: messages(
      /^(?:\w+ in version "[^"]*" cannot be handled as a \w+: |the object provided is unrecognized \(must be of type \w+\): ).*(Object 'Kind' is missing) in .*$/s,
      "$1"
    )
  },
  {
    name: "missing Scales",
    reason: "1.20 misses the Scale of a Deployment or ReplicaSet, later releases what is scaled",
    apply: forPath(
      /\/scale$/,
      (answer, step) =>
        everywhere((object) =>
          typeof object["kind"] === "string" && object["kind"].endsWith("/scale")
            ? { ...object, kind: object["kind"].replace(/\/scale$/, "") }
            : object
        )(messages(/^(\w+)\/scale\./, "$1.")(answer, step), step)
    )
  },
  {
    name: "selectors of Services",
    reason: "since 1.31 Services have fields of their own to be selected by",
    apply: forPath(
      /\/services$/,
      messages(/^("[^"]*") is not a known field selector: only .*$/, "field label not supported: $1")
    )
  },
  {
    name: "fields of Services",
    reason: "as above, without quotes",
    apply: forPath(/\/services$/, messages(/^(field label not supported: )"(.*)"$/, "$1$2"))
  },
  {
    name: "labels of Jobs",
    reason: "1.20 writes the labels it makes up for the template through to the Job",
    apply: forPath(
      /\/jobs/,
      everywhere((object) =>
        isObject(object["metadata"]) && isObject(object["metadata"]["labels"]) &&
          at(object, ["spec", "template", "spec"]) !== undefined
          ? {
            ...object,
            metadata: { ...object["metadata"], labels: without(object["metadata"]["labels"], ...generated) }
          }
          : object
      )
    )
  },
  {
    name: "creating by applying",
    reason: "1.20 does not say what the user may not",
    apply: messages(/(is forbidden: )User ".*" cannot create resource .*$/, "$1")
  },
  {
    name: "matches of watches that initial events go without",
    reason: "since 1.27 what is no match at all is told, too",
    apply: withoutCauses((field, message) =>
      field === "resourceVersionMatch" && /^Unsupported value: .*: supported values: "NotOlderThan"$/.test(message)
    )
  },
  {
    name: "labels in selectors that are too long",
    reason: "1.20 counts characters, newer releases bytes",
    apply: messages(/^(unable to parse requirement: .*must be no more than \d+) characters$/s, "$1 bytes")
  },
  {
    name: "reviews in a namespace",
    reason: "since 1.22 a review is told the namespace of its path",
    apply: forPath(
      /\/localsubjectaccessreviews$/,
      (answer, step) =>
        strays(step) || (step.body?._tag === "Json" && at(step.body.value, ["metadata", "namespace"]) === undefined)
          ? { ...answer, status: 0, headers: {}, body: "told" }
          : answer
    )
  },
  {
    name: "roles to bind",
    reason: "a role that is not there is missed by 1.20 as a role, later as a binding",
    apply: forPath(/bindings$/, (answer, step) => {
      const told = messages(/^(?:cluster)?(?:roles|rolebindings)(\.rbac\.\S+ ".*" not found)$/, "roles$1")(answer, step)
      return answer.status !== 404 ?
        answer :
        everywhere((object) =>
          /^(?:cluster)?rolebindings$|^clusterroles$/.test(String(object["kind"]))
            ? { ...object, kind: "roles" }
            : object
        )(told, step)
    })
  }
]
