/**
 * `Names`: validates the names of projects and kinds before anything is created.
 *
 * The rules are those of the API server for definitions (group, version, plural), and those of source code: a kind
 * becomes a constant and a type beside the framework's.
 */
import * as Effect from "effect/Effect"
import * as Failure from "./Failure.ts"

/** A kind with its group and version. */
export interface Kind {
  readonly kind: string
  readonly group: string
  readonly version: string
}

/** A version in a project. */
export interface Version {
  /** `v2`. */
  readonly version: string
  /** `WebsiteV2`. */
  readonly name: string
  /** `v2.ts`, in the folder of the kind. */
  readonly file: string
}

const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

/** Names that the sources of a new kind import. */
const taken = new Set(
  ("Action Cache Conditions Controller ConversionProof CustomResource CustomResourceVersions Deployment Effect KubeClient " +
    "Layer LiveClient Manager Manifests ObjectStatus RbacProof Schema Simulation StoredVersions Sync TestClock " +
    "TestCluster TestWebhooks Webhook").split(" ")
)

/** Words that cannot be a variable beside those of the sources: a kind's object is called as the kind in lower case. */
const words = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null operator package private " +
    "protected public ready replicas return static super switch this throw true try typeof var void while with yield")
    .split(" ")
)

const refuse = (what: string, value: string, rule: string) =>
  Effect.fail(Failure.make(`${what} ${JSON.stringify(value)}: ${rule}`))

/** The kind, if its names are valid. */
export const kind = Effect.fnUntraced(function*({ group, kind, version }: Kind) {
  if (!/^[A-Z][A-Za-z0-9]{0,62}$/.test(kind)) {
    return yield* refuse(
      "the kind",
      kind,
      "must be letters and digits, at most 63, beginning with a capital, such as Website"
    )
  }
  if (taken.has(kind)) {
    return yield* refuse("the kind", kind, `is also a name that its sources import: choose ${kind}Config, or another`)
  }
  if (!group.includes(".") || group.length > 253 || !group.split(".").every((part) => label.test(part))) {
    return yield* refuse("the group", group, "must be a domain that you own, such as apps.example.com")
  }
  if (!/^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/.test(version)) {
    return yield* refuse("the version", version, "must have a form such as v1, v1beta1 or v2alpha1")
  }
  return { group, kind, version }
})

/** As `kind`, for one whose sources are yet to be made. */
export const newKind = Effect.fnUntraced(function*(wanted: Kind) {
  if (words.has(wanted.kind.toLowerCase())) {
    return yield* refuse(
      "the kind",
      wanted.kind,
      `is in lower case a word that its sources cannot use as a name: choose ${wanted.kind}Config, or another`
    )
  }
  return yield* kind(wanted)
})

/** The name of a project, which is also that of its Deployment and namespace. */
export const project = Effect.fnUntraced(function*(name: string) {
  if (!label.test(name) || name.length > 50) {
    return yield* refuse(
      "the name",
      name,
      "must be lower-case letters, digits and -, at most 50, beginning with a letter: the Deployment has this name, too"
    )
  }
  return name
})

/** The kind of a project that names none: `MySite` for `my-site`. */
export const kindOf = (project: string): string =>
  project.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")
