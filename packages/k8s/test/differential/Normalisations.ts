/**
 * `Normalisations`: where the newest Kubernetes, which the in-memory server is, knowingly answers otherwise than the
 * oldest one it is compared with.
 *
 * Each has a name and a reason, says exactly what it touches, and brings both answers to one form. Whatever no
 * normalisation names is compared as it is.
 */
import { newerApi } from "./NewerApi.ts"
import { newerRefusals } from "./NewerRefusals.ts"
import { normalisationsOfKinds } from "./NormalisationsOfKinds.ts"
import { at } from "./Path.ts"
import {
  everywhere,
  fields,
  forPath,
  isObject,
  isStatus,
  type Json,
  messages,
  reasons,
  type Rewrite,
  tables,
  without,
  withoutCauses,
  withoutIndices
} from "./Rewrite.ts"
import type { Answer, Step } from "./Step.ts"

export interface Normalisation {
  readonly name: string
  readonly reason: string
  readonly apply: Rewrite
}

/** Whether a path is that of the object an answer names, rather than of a collection. */
const namesOne = (path: string, { body }: Answer): boolean => {
  const details = isObject(body) ? body["details"] : undefined
  return isObject(details) && path.endsWith(`/${String(details["name"])}`)
}

const normalisations: ReadonlyArray<Normalisation> = [
  {
    name: "managedFields",
    reason: "compared by the tests of server-side apply; releases differ in what of status they track",
    apply: fields("managedFields")
  },
  {
    name: "rules at the root of a schema",
    reason: "rules in CEL came with 1.25",
    apply: messages(/(Example XPreserveUnknownFields) XValidations\]/g, "$1]")
  },
  {
    name: "taken names beside a prefix",
    reason: "1.20 says of a name that is taken that it has no time, if a prefix is given, too",
    apply: (answer) => {
      const { message, reason } = isObject(answer.body) ? answer.body : {}
      const { "retry-after": _, ...headers } = answer.headers
      const text = String(message)
      return reason === "ServerTimeout" && text.startsWith("The POST operation against") ||
          text.endsWith("the server was not able to generate a unique name for the object")
        ? { ...answer, status: 409, headers, body: "taken" }
        : answer
    }
  },
  {
    name: "null creationTimestamp",
    reason: "templates and other embedded metadata had `creationTimestamp: null` until 1.34",
    apply: everywhere((object) => object["creationTimestamp"] === null ? without(object, "creationTimestamp") : object)
  },
  {
    name: "field validation",
    reason:
      "unknown and repeated fields are told in Warning headers since 1.25, and finalizers without a domain since 1.29",
    apply: (answer) => {
      const { warning, ...headers } = answer.headers
      const kept = (warning ?? "").split(/, (?=299 )/).filter((text) =>
        text !== "" && !/^299 - "(?:unknown field|duplicate field|metadata.finalizers: )/.test(text)
      )
      return { ...answer, headers: kept.length === 0 ? headers : { ...headers, warning: kept.join(", ") } }
    }
  },
  {
    name: "warnings about content",
    reason: "since 1.22 a server says what is hardly meant in objects of its own kinds, and 1.20 calls other kinds old",
    apply: (answer, step) =>
      step.path.includes(".example.com/") ? answer : {
        ...answer,
        headers: Object.fromEntries(Object.entries(answer.headers).filter(([name]) => name !== "warning"))
      }
  },
  {
    name: "wording of options",
    reason: "1.20 prints a list in Go's form: []string{\"x\"}",
    apply: messages(/\[\]string\{("[^}]*")\}/g, "[$1]")
  },
  {
    name: "newer fields",
    reason: "defaults of fields that 1.20 does not have",
    apply: fields(
      "spec persistentVolumeClaimRetentionPolicy",
      "spec internalTrafficPolicy",
      // Of Services that are reached at addresses of their own.
      "spec externalTrafficPolicy",
      "spec ipFamilies",
      "spec ipFamilyPolicy",
      "spec completionMode",
      "spec suspend",
      "spec podReplacementPolicy",
      "spec manualSelector",
      "status lastPhaseTransitionTime",
      // Of claims, which say in both fields what they say in one.
      "spec dataSourceRef",
      "rollingUpdate maxSurge",
      "matchLabels batch.kubernetes.io/controller-uid",
      "matchLabels controller-uid",
      "labels batch.kubernetes.io/controller-uid",
      "labels batch.kubernetes.io/job-name",
      // Patches move labels there.
      "annotations batch.kubernetes.io/controller-uid",
      "annotations batch.kubernetes.io/job-name"
    )
  },
  {
    name: "labels of Namespaces",
    reason: "since 1.21 every Namespace is labelled with its name, which may be no fit value",
    apply: everywhere((object) => {
      if (object["kind"] === "Namespace" && Array.isArray(object["causes"])) {
        return { ...object, causes: object["causes"].filter((cause: Json) => cause["field"] !== "metadata.labels") }
      }
      const label = "kubernetes.io/metadata.name"
      // Patches carry labels to where annotations are.
      return ["labels", "annotations"].reduce((object, field) => {
        const labels = object[field]
        if (!isObject(labels) || !(label in labels)) return object
        const others = without(labels, label)
        return Object.keys(others).length === 0 ? without(object, field) : { ...object, [field]: others }
      }, object)
    })
  },
  {
    name: "finalizers of Namespaces",
    reason: "a real server goes through those of one that is deleted in the order of a map of Go: in any",
    apply: everywhere((object) => {
      const metadata = object["kind"] === "Namespace" ? object["metadata"] : undefined
      const finalizers = isObject(metadata) ? metadata["finalizers"] : undefined
      return isObject(metadata) && Array.isArray(finalizers)
        ? { ...object, metadata: { ...metadata, finalizers: finalizers.toSorted() } }
        : object
    })
  },
  {
    name: "search domains",
    reason: "since 1.32 a label of theirs may have an underscore",
    apply: messages(/\[(-?)a-z0-9_\]/g, "[$1a-z0-9]")
  },
  {
    name: "availableReplicas of StatefulSets",
    reason: "always there since 1.22",
    apply: forPath(
      /statefulsets/,
      everywhere((object) => object["availableReplicas"] === 0 ? without(object, "availableReplicas") : object)
    )
  },
  {
    name: "generation of Pods",
    reason: "Pods have a generation since 1.33, Jobs since 1.21",
    apply: forPath(/\/(?:pods|podtemplates|jobs)/, fields("metadata generation"))
  },
  {
    name: "generation of NetworkPolicies",
    reason: "a selector that is there and empty is read as absent, and counts as a change on a real server",
    apply: forPath(/\/networkpolicies/, fields("metadata generation"))
  },
  {
    name: "too long",
    reason: "1.20: must have at most N bytes; since 1.32: may not be more than N bytes",
    apply: messages(/must have at most (\d+) (bytes|characters)/g, "may not be more than $1 bytes")
  },
  {
    name: "labels too long",
    reason: "1.20 says characters of every name; of keys and values of labels it is bytes since 1.34",
    apply: everywhere((object) =>
      typeof object["message"] !== "string" ? object : {
        ...object,
        message: object["message"]
          .replace(/((?:name|prefix) part must be no more than \d+) characters/g, "$1 bytes")
          .replace(/((?:labels|selector): Invalid value: "[^"]*": must be no more than 63) characters/gi, "$1 bytes")
          .replace(/ characters$/, (text) => /(?:labels|selector)$/i.test(String(object["field"])) ? " bytes" : text)
      }
    )
  },
  {
    name: "embedded resources",
    reason: "1.20 says why an apiVersion or kind is required: must not be empty",
    apply: messages(/(Required value): must not be empty/g, "$1")
  },
  {
    name: "deleted Services",
    reason: "a deletion answers with the Service itself since 1.23",
    apply: (answer, step) =>
      step.method === "DELETE" && /\/services\/[^/]+$/.test(step.path) && answer.status < 300
        ? { ...answer, status: 200, body: "deleted" }
        : answer
  },
  {
    name: "pod updates",
    reason: "1.20 appends a comparison of the two specs in Go's form, and its list of mutable fields is shorter",
    apply: messages(/(Forbidden: pod updates may not change fields other than ).*$/s, "$1...")
  },
  {
    name: "refused structs",
    reason: "1.20 prints a refused part in Go's form, 1.35 as JSON",
    apply: messages(/(Invalid value: )(?:[\w.]+\{|\{|\[|map\[)(?!\w+\]\w+\(nil\): ).*?[}\]](: )/gs, "$1{...}$2")
  },
  {
    name: "values that are not there",
    reason: "of a map that is not there 1.20 prints its Go type",
    apply: messages(/(Invalid value: )[\w.[\]]+\(nil\)(: )/g, "$1null$2")
  },
  {
    name: "patched documents",
    reason: "a patched document that cannot be read is printed with the order and form of its release",
    apply: everywhere((object) =>
      object["field"] === "patch"
        ? { ...object, message: "..." }
        : typeof object["message"] === "string"
        ? { ...object, message: object["message"].replace(/(patch: Invalid value: ").*$/s, "$1...") }
        : object
    )
  },
  {
    name: "malformed JSON patches",
    reason: "since 1.25 the answer says that it was decoding a patch",
    apply: (answer, step) =>
      step.method === "PATCH" && answer.status === 400 && isStatus(answer) &&
        step.headers["content-type"]?.startsWith("application/json-patch") === true
        ? { ...answer, body: { ...(answer.body as Json), message: "..." } }
        : answer
  },
  {
    name: "places that differ",
    reason: "the address of the server, and which paths there are besides the API, depend on the release",
    apply: everywhere((object) => without(object, "serverAddressByClientCIDRs", "paths"))
  },
  {
    name: "order of custom resources",
    reason: "discovery lists them in the order in which their definitions happen to be known",
    apply: everywhere((object) =>
      object["kind"] === "APIResourceList" && Array.isArray(object["resources"])
        ? { ...object, resources: object["resources"].toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1)) }
        : object
    )
  },
  {
    name: "version of what is deleted",
    reason: "since 1.26 an object that a deletion answers with has the version of the deletion",
    apply: (answer, step) =>
      step.method === "DELETE" && answer.status === 200
        ? everywhere((object) => without(object, "resourceVersion"))(answer, step)
        : answer
  },
  {
    name: "descriptions of columns",
    reason: "the texts of fields are not in the server's tables",
    apply: everywhere((object) => "priority" in object && "format" in object ? without(object, "description") : object)
  },
  {
    name: "available representations",
    reason: "newer routers say what there is",
    apply: messages(/^(406: Not Acceptable)\n\nAvailable representations: .*$/s, "$1")
  },
  {
    name: "broken tokens",
    reason: "newer servers do not quote the version of a continue token, and its type is called otherwise",
    apply: messages(
      /(continue key is not valid: (?:server does not recognize|json: cannot unmarshal \w+ into Go value)).*$/s,
      "$1..."
    )
  },
  {
    name: "numbers in selectors",
    reason: "since 1.21 the value is printed",
    apply: messages(/values\[0\]: Invalid value: "[^"]*": (for 'Gt', 'Lt')/g, "$1")
  },
  {
    name: "printed times",
    reason: "1.20 prints a refused time as Go does",
    apply: messages(
      /Invalid value: (?:"?\d{4}-\d\d-\d\dT[^ ]*Z"?|\d{4}-\d\d-\d\d [0-9:]+ \+0000 UTC)/g,
      "Invalid value: <time>"
    )
  },
  {
    name: "two controllers",
    reason: "1.20 names the owners without their kinds",
    apply: messages(/(Found "true" in references for ).+? and .+?(?=$|[,\]])/g, "$1...")
  },
  {
    name: "immutable claims",
    reason: "1.20 appends a comparison of the two specs, and has no volumeAttributesClassName",
    apply: messages(/(spec is immutable after creation except resources\.requests).*$/s, "$1...")
  },
  {
    name: "dry-run Services",
    reason: "since 1.23 the answer has the addresses that the Service would have been given",
    apply: (answer, step) =>
      step.query.some(([key]) => key === "dryRun")
        ? fields("spec clusterIP", "spec clusterIPs", "ports nodePort")(answer, step)
        : answer
  },
  {
    name: "init containers",
    reason: "probes of init containers are Forbidden since 1.28, with another text",
    apply: everywhere((object) =>
      String(object["field"]).includes("initContainers") ? { ...object, message: "...", reason: "..." } : object
    )
  },
  {
    name: "StatefulSet updates",
    reason: "the fields that may change have become more",
    apply: messages(/(updates to statefulset spec for fields other than ).*$/s, "$1...")
  },
  {
    name: "Pods that are over",
    reason: "since 1.29 one that is being deleted is shown as what it has come to",
    apply: forPath(
      /\/pods/,
      everywhere((object) => ({
        ...object,
        ...(Array.isArray(object["cells"])
          ? { cells: object["cells"].map((cell) => cell === "Succeeded" || cell === "Failed" ? "Terminating" : cell) }
          : {})
      }))
    )
  },
  {
    name: "immutable volumes",
    reason: "1.20 appends a comparison of the two sources",
    apply: messages(/(spec\.persistentvolumesource is immutable after creation).*$/s, "$1")
  },
  {
    name: "keys of Secrets",
    reason: "1.20 prints the path of a missing one with a slip",
    apply: everywhere((object) =>
      typeof object["field"] === "string" ? { ...object, field: object["field"].replace("[%s]", "") } : object
    )
  },
  {
    name: "names of hosts",
    reason: "1.20 leaves the index out of their paths",
    apply: everywhere((object) =>
      typeof object["field"] === "string" && object["field"].includes("hostAliases")
        ? { ...object, field: withoutIndices(object["field"]) }
        : object
    )
  },
  {
    name: "special addresses",
    reason: "since 1.21 those of IPv6 are told, too",
    apply: messages(/(range \((?:127\.0\.0\.0\/8|169\.254\.0\.0\/16|224\.0\.0\.0\/24))[^)]*\)/g, "$1)")
  },
  {
    name: "nothing",
    reason:
      "1.20 prints lists and maps that are not there in Go's form, and one that is empty is read as one that is not",
    apply: messages(
      /(Invalid|Unsupported) value: (?:null|\{\.\.\.\}|[\w.]*\{\}|[\w.]+\(nil\))(: (?:either|supported values: "storage"))/g,
      "$1 value: nothing$2"
    )
  },
  {
    name: "addresses",
    reason: "since 1.30 a text that is none is told with examples of what is",
    apply: messages(
      /must be (?:a )?valid IP address(?:, \(e\.g\. 10\.9\.8\.7(?: or 2001:db8::ffff)?\))?/g,
      "must be an address"
    )
  },
  {
    name: "ranges of addresses",
    reason: "since 1.33 a text that is none is told with examples of what is",
    apply: messages(
      /not a valid CIDR|must be a valid CIDR value, \(e\.g\. 10\.9\.8\.0\/24 or 2001:db8::\/64\)/g,
      "must be a range"
    )
  },
  {
    name: "newer columns",
    reason:
      "restarts of Pods are text since 1.22, claims have a VolumeAttributesClass since 1.29, Jobs a status since 1.31 and longer labels",
    apply: everywhere((object) => tables(object))
  },
  {
    name: "indices in paths",
    reason: "1.20 leaves the index out of paths through the arrays of custom objects",
    apply: forPath(
      /\.example\.com\//,
      everywhere((object) =>
        typeof object["field"] === "string" && typeof object["message"] === "string"
          ? { ...object, field: withoutIndices(object["field"]), message: withoutIndices(object["message"]) }
          : object
      )
    )
  },
  {
    name: "values in messages about custom objects",
    reason:
      "without indices, 1.20 tells of several items that are wrong in the same way only one; of properties that are too few it prints how many there must be",
    apply: forPath(
      /\.example\.com\//,
      messages(/^(Invalid|Unsupported) value: .*: (?=\S* in body should|supported values)/s, "$1 value: ...: ")
    )
  },
  {
    name: "indices in defaults",
    reason: "1.20 leaves the index out of paths through the arrays of a default",
    apply: forPath(
      /customresourcedefinitions/,
      everywhere((object) => {
        const { field, message } = object
        if (typeof field !== "string" || typeof message !== "string" || !/\.default\.\[/.test(field)) return object
        return {
          ...object,
          field: field.replace(/\.default\.\[\d+\]/, ".default"),
          message: message.replace(/\[\d+\](?=\S* in body)/, "")
        }
      })
    )
  },
  {
    name: "null in messages",
    reason: "1.20 prints it as a text",
    apply: messages(/(?<=^(?:Unsupported|Invalid) value: )"null"(?=: (?:supported values|must be atomic))/, "null")
  },
  {
    name: "lengths and counts",
    reason: "1.20 has no FieldValueTooLong and FieldValueTooMany for custom objects and defaults",
    apply: forPath(
      /\.example\.com\/|customresourcedefinitions/,
      everywhere((object) =>
        typeof object["field"] === "string" && typeof object["message"] === "string" &&
          /^Too (?:long|many): |should (?:be at most|have at most)/.test(object["message"])
          ? { ...object, message: "too much", reason: "too much" }
          : object
      )
    )
  },
  {
    name: "objects of too many or too few properties",
    reason: "1.20 says nothing else of them and of what is in them",
    apply: forPath(/\.example\.com\//, (answer, step) => {
      const causes = at(answer.body, ["details", "causes"])
      const miscounted = (Array.isArray(causes) ? causes as ReadonlyArray<Json> : []).filter(({ message, reason }) =>
        reason === "too much" || /should have at least \d+ properties/.test(String(message))
      )
      return withoutCauses((field, message) => {
        // Of anyOf, oneOf and not the place stands in the message alone.
        const place = field === "<nil>" ? /^Invalid value: "": "([^"]*)" must /.exec(message)?.[1] ?? field : field
        return miscounted.some((cause) => place.startsWith(`${String(cause["field"])}.`))
      })(answer, step)
    })
  },
  {
    name: "malformed DeleteOptions",
    reason: "500 in 1.20, 400 since 1.23",
    apply: (answer, step) =>
      step.method === "DELETE" && isStatus(answer) &&
        String((answer.body as Json)["message"]).startsWith("couldn't get version/kind; json parse error")
        ? { ...answer, status: 400, body: "malformed" }
        : answer
  },
  {
    name: "label keys",
    reason: "since 1.35 a label key is called that; it was a qualified name",
    apply: messages(/a valid label key must consist/g, "a qualified name must consist")
  },
  {
    name: "labels of Jobs",
    reason: "since 1.27 they have a prefix, too",
    apply: forPath(/\/jobs/, withoutCauses((field) => field.includes("batch.kubernetes.io/")))
  },
  {
    name: "Scales of custom objects",
    reason: "1.20 words a Scale that cannot be read as a failure of its own",
    apply: messages(
      /(?:no kind is registered for the type v1\.Scale in scheme|Scale in version "v1" cannot be handled as a Scale: ).*$/s,
      "Scale ..."
    )
  },
  {
    name: "printed maps",
    reason: "1.20 prints a repeated item of a list in Go's form",
    apply: messages(
      /(Duplicate|Unsupported) value: (?:(?:map\[string\]interface \{\}|\[\]interface \{\}|[\w.]+)?\{.*\}|\[.*?\])/gs,
      "$1 value: {...}"
    )
  },
  {
    name: "malformed strategic merge patches",
    reason: "the decoder's words changed in 1.25",
    apply: (answer, step) =>
      step.method === "PATCH" && answer.status === 400 && isStatus(answer) &&
        step.headers["content-type"]?.startsWith("application/strategic") === true
        ? messages(/^(?:EOF|unexpected EOF|unexpected end of JSON input|invalid character.*)$/s, "malformed")(
          answer,
          step
        )
        : answer
  },
  {
    name: "missing Services",
    reason: "a PUT of a Service that is gone has been judged like any other since 1.23",
    apply: (answer, step) =>
      step.method === "PUT" && /\/services\//.test(step.path) && (answer.status === 409 || answer.status === 404) &&
        /not found|Precondition failed/.test(String((answer.body as Json)["message"]))
        ? { ...answer, status: 404, body: "missing" }
        : answer
  },
  {
    name: "null",
    reason: "1.20 prints an absent value as a text",
    apply: messages(/Invalid value: "null": (field is immutable|must not update)/g, "Invalid value: null: $1")
  },
  {
    name: "wording of Leases",
    reason: "the words of two bounds were put right in 1.29",
    apply: messages(/must to greater or equal than 0/g, "must be greater than or equal to 0")
  },
  {
    name: "access modes",
    reason: "ReadWriteOncePod came with 1.22",
    apply: messages(/, "ReadWriteOncePod"/g, "")
  },
  {
    name: "percentages",
    reason: "1.20 prints a refused number or percentage in Go's form",
    apply: messages(
      /Invalid value: (?:"[^"]*"|\{\.\.\.\}): (a valid percent string|must not be greater than 100%)/g,
      "$1"
    )
  },
  {
    name: "rollingUpdate of StatefulSets",
    reason: "since 1.35 it says how many may be unavailable",
    apply: forPath(/statefulsets/, fields("rollingUpdate maxUnavailable"))
  },
  {
    name: "rollingUpdate of DaemonSets",
    reason: "an amount of nothing is Required since 1.22, when there may be more instead",
    apply: everywhere((object) =>
      String(object["field"]).endsWith("rollingUpdate.maxUnavailable") && /cannot be 0/.test(String(object["message"]))
        ? { ...object, message: "cannot be 0", reason: "..." }
        : object
    )
  },
  {
    name: "names of StatefulSets",
    reason: "since 1.29 they must be fit for a host, not only for a domain",
    apply: forPath(
      /statefulsets/,
      everywhere((object) =>
        object["field"] === "metadata.name" && String(object["message"]).startsWith("Invalid value")
          ? { ...object, message: "no name" }
          : object
      )
    )
  },
  {
    name: "limits",
    reason: "since 1.26 the limit that a request exceeds is told",
    apply: messages(/(must be less than or equal to \S+ limit) of \S+/g, "$1")
  },
  {
    name: "names of ports",
    reason: "the words of a rule were put right in 1.33",
    apply: messages(
      /must contain at least one letter or number \(a-z, 0-9\)/g,
      "must contain at least one letter (a-z)"
    )
  },
  {
    name: "panics",
    reason: "1.20 panics where a JSON patch goes through a null",
    apply: (answer, step) =>
      step.method === "PATCH" && (answer.status === 0 ||
          (answer.status === 422 && String((answer.body as Json)["message"]).startsWith("the server rejected")))
        ? { status: 422, headers: {}, body: "refused" }
        : answer
  },
  {
    name: "fields of Jobs",
    reason: "1.20 names the package of the type that lacks a field",
    apply: messages(/not supported for batchv1\.Job/g, "not supported for Job")
  },
  {
    name: "smaller claims",
    reason: "since 1.23 a claim that is not bound may ask for less",
    apply: withoutCauses((field) => field === "spec.resources.requests.storage")
  },
  {
    name: "fileKeyRef",
    reason: "came with 1.34",
    apply: messages(/, `secretKeyRef` or `fileKeyRef`/g, " or `secretKeyRef`")
  },
  {
    name: "lists that were not stored",
    reason:
      "an empty list of rules is null once it has been in the store; 1.35 reads it as it is stored from the start",
    apply: forPath(
      /roles/,
      everywhere((object) =>
        Array.isArray(object["rules"]) && object["rules"].length === 0 ? { ...object, rules: null } : object
      )
    )
  },
  {
    name: "exact versions of the future",
    reason: "1.20 answers 500 with what etcd says, 1.35 the 504 of all other lists",
    apply: (answer, step) =>
      step.query.some(([key, value]) => key === "resourceVersionMatch" && value === "Exact") && answer.status >= 500
        ? { status: 504, headers: {}, body: "future" }
        : answer
  },
  {
    name: "remaining items",
    reason: "a list of metadata says since 1.22 how much is left",
    apply: (answer, step) =>
      everywhere((object) =>
        object["remainingItemCount"] === undefined
          ? object
          : isObject(answer.body) && answer.body["kind"] === "PartialObjectMetadataList"
          ? without(object, "remainingItemCount")
          : { ...object, remainingItemCount: "some" }
      )(answer, step)
  },
  {
    name: "refused tolerations",
    reason: "1.20 prints the toleration, 1.35 its value",
    apply: messages(/Invalid value: (?:"[^"]*"|\{\.\.\.\}): (value must be empty|operator must be Exists)/g, "$1")
  },
  {
    name: "operators of selectors",
    reason: "1.20 lists fewer of them, otherwise quoted",
    apply: messages(/(unable to parse requirement: found '[^']*', expected: ).*$/s, "$1...")
  },
  {
    name: "server-side apply",
    reason: "switched off in the server compared with: it would store a new version where only an owner changes",
    apply: messages(/, application\/apply-patch\+yaml/g, "")
  },
  {
    name: "malformed merge patches",
    reason: "500 in 1.20, 400 since 1.24",
    apply: (answer, step) =>
      step.method === "PATCH" && isStatus(answer) && (answer.body as Json)["message"] === "Invalid JSON Patch"
        ? {
          ...answer,
          status: 400,
          body: { ...(answer.body as Json), code: 400, reason: "BadRequest", message: "error decoding patch: ..." }
        }
        : answer
  },
  {
    name: "empty owner references",
    reason: "1.20 repeats the name of the field: uid must not be empty",
    apply: messages(/\b(?:uid|name|kind) must not be empty/g, "must not be empty")
  },
  {
    name: "0x0",
    reason: "1.20 prints an unsigned zero in hexadecimal",
    apply: messages(/Invalid value: 0x0\b/g, "Invalid value: 0")
  },
  {
    name: "type errors",
    reason: "FieldValueTypeInvalid is a reason of its own since 1.23",
    apply: reasons("FieldValueTypeInvalid", "FieldValueInvalid")
  },
  {
    name: "collections with preconditions",
    reason: "which object is refused first depends on the names that the servers have made up",
    apply: (answer, step) =>
      step.method === "DELETE" && isStatus(answer) && answer.status === 409 && !namesOne(step.path, answer)
        ? messages(/ on ([\w.]+) .*/, " on $1 ...")(everywhere((object) => without(object, "name"))(answer, step), step)
        : answer
  },
  {
    name: "exact lists of one name",
    reason: "1.20 gives them the version of today where there is no such object",
    apply: (answer, step) =>
      step.query.some(([, value]) => value === "Exact") &&
        step.query.some(([key, value]) => key === "fieldSelector" && String(value).startsWith("metadata.name="))
        ? fields("metadata resourceVersion")(answer, step)
        : answer
  },
  {
    name: "group of Ingresses and NetworkPolicies",
    reason: "1.20 still stores them, and refuses them and preconditions, under the group that they come from",
    apply: forPath(
      /networking\.k8s\.io/,
      everywhere((object) =>
        typeof object["message"] === "string" && isObject(object["details"]) &&
          object["details"]["group"] === "extensions"
          ? {
            ...object,
            message: object["message"].replace(/(^| on )(\w+)\.extensions /, "$1$2.networking.k8s.io "),
            details: { ...object["details"], group: "networking.k8s.io" }
          }
          : object
      )
    )
  },
  {
    name: "dry runs of Ingresses",
    reason:
      "1.20, which stores them in an older form, shows the default backend that an update in a dry run takes away",
    apply: (answer, step) =>
      /\/ingresses\//.test(step.path) && step.query.some(([key]) => key === "dryRun")
        ? fields("spec defaultBackend")(answer, step)
        : answer
  },
  {
    name: "selectors of affinity",
    reason: "1.20 names the wrong field on the way to their parts",
    apply: everywhere((object) =>
      typeof object["field"] === "string"
        ? { ...object, field: object["field"].replace(/(?<=\.)matchExpressions(?=\.match)/, "labelSelector") }
        : object
    )
  },
  {
    name: "foreign namespaces",
    reason:
      "since 1.24 the namespace of a new object is compared with that of its path before admission, not after, and " +
      "that of a binding is compared at all",
    apply: (answer, step) => {
      const wanted = step.body?._tag === "Json" ? at(step.body.value, ["metadata", "namespace"]) : undefined
      const foreign = typeof wanted === "string" && wanted !== "" && wanted !== "{{ns}}"
      const late = answer.status === 400 || answer.status === 403 || /\/pods\/[^/]+\/binding$/.test(step.path)
      return step.method === "POST" && foreign && late
        ? { status: 400, headers: {}, body: "refused" }
        : answer
    }
  },
  {
    name: "backends of Ingresses",
    reason: "1.20 says of what is missing that it is missing",
    apply: forPath(/ingresses/, messages(/(Required value): (?:name|kind) is required/g, "$1"))
  },
  {
    name: "absent versions",
    reason: "since 1.24 the document of a custom object must say of what version it is",
    apply: (answer, step) =>
      step.method === "PUT" && step.path.includes(".example.com/") && answer.status === 400
        ? messages(/^(?:the API version in the data \(\)|the name of the object \(.* was undeterminable).*/, "...")(
          answer,
          step
        )
        : answer
  },
  {
    name: "paths in a status",
    reason: "since 1.30 a status is judged alone, and messages name its parts from there",
    apply: messages(/(?<=: )status(?:\.(?=[\w.]+ in body )|(?= in body ))/g, "")
  },
  {
    name: "absent drivers",
    reason: "1.20 says of a name that is not there also what a name would have to look like",
    apply: withoutCauses((field, message) => field.endsWith(".driver") && message.startsWith("Invalid value: \"\": "))
  },
  {
    name: "decoding errors",
    reason: "1.20 decodes with json-iterator, whose messages differ",
    apply: (answer) =>
      answer.status === 400 && isStatus(answer)
        ? messages(/( cannot be handled as an? \w+: |json parse error: |error decoding \w+: ).*$/s, "$1...")(
          answer,
          undefined as never
        )
        : answer
  }
]

/** All of them, in their order. */
export const all: ReadonlyArray<Normalisation> = [
  ...newerRefusals,
  ...newerApi,
  ...normalisations,
  ...normalisationsOfKinds
]

/** An answer in the form that all releases have in common. */
export const normalise = (answer: Answer, step: Step): Answer =>
  all.reduce((current, { apply }) => apply(current, step), answer)
