/**
 * `NewerApi`: what a new API server serves that an old one does not, and the other way round, as far as its documents
 * tell; composed with the other normalisations.
 */
import {
  cells,
  everywhere,
  fields,
  forPath,
  isObject,
  isStatus,
  type Json,
  messages,
  type Rewrite,
  without,
  withoutCauses
} from "./Rewrite.ts"
import type { Normalisation } from "./Normalisations.ts"

/** Groups, versions and resources that only one of two releases has. */
const groups =
  /^(?:extensions|policy|resource\.k8s\.io|storagemigration\.k8s\.io|internal\.apiserver\.k8s\.io|flowcontrol\.apiserver\.k8s\.io|discovery\.k8s\.io)$/

const resources =
  /^(?:selfsubjectreviews|(?:validating|mutating)admissionpolic\w+(?:\/status)?|cronjobs(?:\/status)?|csi(?:drivers|nodes|storagecapacities)|volumeattributesclasses|ipaddresses|servicecidrs(?:\/status)?|pods\/(?:ephemeralcontainers|resize))$/

const inOrder = (rules: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  rules.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

const newer: Rewrite = everywhere((object) => {
  const { groups: listed, kind, resources: served, versions } = object
  if (kind === "APIGroupList" && Array.isArray(listed)) {
    const kept = listed.filter(({ name }: Json) => !groups.test(String(name)) && !String(name).endsWith("example.com"))
    return { ...object, groups: kept.toSorted((a: Json, b: Json) => (String(a["name"]) < String(b["name"]) ? -1 : 1)) }
  }
  if (Array.isArray(served) && kind === "APIResourceList") {
    return { ...object, resources: served.filter(({ name }: Json) => !resources.test(String(name))) }
  }
  return Array.isArray(versions) && isObject(object["preferredVersion"])
    ? {
      ...object,
      versions: String(object["name"]).endsWith("example.com")
        ? versions
        : versions.filter(({ version }: Json) => /^v\d+$/.test(String(version)))
    }
    : object
})

export const newerApi: ReadonlyArray<Normalisation> = [
  { name: "newer APIs", reason: "groups, versions and kinds have come and gone", apply: newer },
  {
    name: "names of one",
    reason: "since 1.27 discovery says what one object of a built-in kind is called",
    apply: (answer, step) =>
      step.path.includes("example.com") ? answer : everywhere((object) => without(object, "singularName"))(answer, step)
  },
  {
    name: "stored versions",
    reason: "the hash of the version in which a built-in kind is stored changes with that version",
    apply: (answer, step) =>
      step.path.includes("example.com")
        ? answer
        : everywhere((object) => without(object, "storageVersionHash"))(answer, step)
  },
  {
    name: "verbs of Services",
    reason: "those of a namespace can be deleted together since 1.23",
    apply: everywhere((object) =>
      object["name"] === "services" && Array.isArray(object["verbs"])
        ? { ...object, verbs: object["verbs"].filter((verb) => verb !== "deletecollection") }
        : object
    )
  },
  {
    name: "the release",
    reason: "which it is, of course; and since 1.33 also with which ones it gets along",
    apply: forPath(/^\/version\/?$/, (answer, step) => {
      const shape = everywhere((object) =>
        "gitVersion" in object ? Object.fromEntries(Object.keys(object).map((key) => [key, "..."])) : object
      )(answer, step)
      return fields("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")(shape, step)
    })
  },
  {
    name: "checks of health",
    reason: "which things a server does after its start depends on the release",
    apply: forPath(/^\/(?:healthz|livez|readyz)/, (answer) =>
      typeof answer.body === "string"
        ? {
          ...answer,
          body: answer.body.replace(
            /^\[[+-]\](?:poststarthook\/|autoregister|etcd-readiness|terminating|shutdown|informer-sync).*\n/gm,
            ""
          )
        }
        : answer)
  },
  {
    name: "preferred versions",
    reason: "autoscaling/v2 came with 1.23, the v1 of an Eviction with 1.22",
    apply: everywhere((object) =>
      object["name"] === "autoscaling"
        ? without(object, "preferredVersion", "versions")
        : object["name"] === "pods/eviction"
        ? without(object, "version")
        : object
    )
  },
  {
    name: "tables of Scales",
    reason: "1.20 answers with the Scale itself",
    apply: forPath(
      /\/scale$/,
      (answer, step) =>
        answer.status === 200 && /as=(?:Table|PartialObjectMetadata)/.test(JSON.stringify(step))
          ? { ...answer, body: "..." }
          : answer
    )
  },
  {
    name: "absent parts of reviews",
    reason: "1.20 prints an absent value as a text",
    apply: messages(/Invalid value: "null": (exactly one of|cannot be specified)/g, "Invalid value: null: $1")
  },
  {
    name: "rules of somebody",
    reason: "bindings are asked in no order; since 1.28 everybody may ask who he is",
    apply: everywhere((object) =>
      Array.isArray(object["resourceRules"]) && Array.isArray(object["nonResourceRules"])
        ? {
          ...object,
          resourceRules: inOrder(
            object["resourceRules"].filter(({ resources }: Json) => !String(resources).includes("selfsubjectreviews"))
          ),
          nonResourceRules: inOrder(object["nonResourceRules"])
        }
        : object
    )
  },
  {
    name: "asked tokens",
    reason: "since 1.21 the answer says whose they are; and no token is another's",
    apply: forPath(/\/serviceaccounts\/[^/]+\/token/, (answer) => {
      const { body } = answer
      return !isObject(body) || !isObject(body["status"])
          || typeof body["status"]["token"] !== "string"
        ? answer
        : { ...answer, body: { ...without(body, "metadata"), status: { ...body["status"], token: "<token>" } } }
    })
  },
  {
    name: "reviewed tokens",
    reason: "no token is another's, 1.20 does not tell its number, and the library that reads it has moved",
    apply: forPath(/\/tokenreviews/, (answer, step) =>
      everywhere((object) => ({
        ...without(object, "extra"),
        ...(String(object["token"]).startsWith("ey") ? { token: "<token>" } : {}),
        ...(typeof object["error"] === "string"
          ? { error: object["error"].replace("square/go-jose", "go-jose/go-jose") }
          : {})
      }))(answer, step))
  },
  {
    name: "labels in selectors",
    reason: "since 1.21 a key or value that cannot be is told as a field is",
    apply: messages(
      /(unable to parse requirement: )(?:invalid label (?:key|value):? "[^"]*":(?: at key: "[^"]*":)?|(?:<nil>|values\[\d+\]\[[^\]]*\]): Invalid value: "[^"]*":)/g,
      "$1..."
    )
  },
  {
    name: "values of requirements",
    reason: "what a requirement of a selector in an object compares with is looked at since 1.24",
    apply: withoutCauses((field, message) =>
      /\.matchExpressions\[\d*\]\.values\[\d*\]$/.test(field) && message.startsWith("Invalid value: ")
    )
  },
  {
    name: "matches of watches",
    reason: "since 1.27 a watch may have one if it asks for initial events",
    apply: messages(/(resourceVersionMatch is forbidden for watch) unless sendInitialEvents is provided/g, "$1")
  },
  {
    name: "unreadable DeleteOptions",
    reason: "500 in 1.20, in the words of its decoder and, of a collection, with another list of kinds; 400 since 1.23",
    apply: (answer, step) =>
      step.method === "DELETE" && isStatus(answer) &&
        /^(?:v1\.DeleteOptions\.|json: cannot unmarshal|converting \(v1\.|no kind "|Object 'apiVersion' is missing|unmarshalerDecoder)/
          .test(String((answer.body as Json)["message"]))
        ? { ...answer, status: 400, body: "unreadable" }
        : answer
  },
  {
    name: "services of webhooks",
    reason:
      "1.20 says of a name or namespace that is not there what it is for, and of no URL that its host is to be provided",
    apply: (answer, step) =>
      messages(/host must be provided;/g, "host must be specified;")(
        messages(/(Required value): service (?:name|namespace) is required/g, "$1")(answer, step),
        step
      )
  },
  {
    name: "parts of signing requests",
    reason: "1.20 says of what is not there that it must be provided, and prints the request as Go does",
    apply: forPath(
      /\/certificatesigningrequests/,
      (answer, step) =>
        messages(/Invalid value: .*: PEM block/g, "Invalid value: ...: PEM block")(
          messages(/(Required value): (?:usages|signerName) must be provided/g, "$1")(answer, step),
          step
        )
    )
  },
  {
    name: "versions of what is scaled",
    reason: "since 1.27 they must be there, and have a group",
    apply: forPath(
      /\/horizontalpodautoscalers/,
      withoutCauses((field) => field === "spec.scaleTargetRef.apiVersion")
    )
  },
  {
    name: "targets of autoscalers",
    reason: "since 1.30 their column says what each number is of",
    apply: forPath(
      /\/horizontalpodautoscalers/,
      cells((cell) => typeof cell === "string" ? cell.replace(/^cpu: /, "") : cell)
    )
  },
  {
    name: "administrators",
    reason: "who asks here is called otherwise by either server",
    apply: forPath(/\/certificatesigningrequests/, fields("spec username", "spec uid"))
  },
  {
    name: "administrators in tables",
    reason: "the same",
    apply: forPath(
      /\/certificatesigningrequests/,
      cells((cell) => cell === "kubernetes-admin" ? "admin" : cell)
    )
  },
  {
    name: "addresses of keys",
    reason: "two servers have two addresses",
    apply: everywhere((object) => without(object, "jwks_uri"))
  }
]
