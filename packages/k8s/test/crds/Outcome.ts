/**
 * What a server makes of a sample, in a form that can be compared: conditions, discovery, stored objects, refusals.
 */
import { Effect } from "effect"
import { Target } from "../conformance/Target.ts"
import type { Json, Sample } from "./Sample.ts"

export interface Outcome {
  /** The definition's spec as stored, and its conditions as `type=status reason: message`. */
  readonly spec: Json
  readonly conditions: ReadonlyArray<string>
  /** What each version serves. */
  readonly resources: Json
  /** The objects that were taken: status code, spec, row. */
  readonly taken: ReadonlyArray<
    { readonly status: number; readonly spec: unknown; readonly cells: ReadonlyArray<unknown> }
  >
  /** The causes of each refusal; the message where there are none. */
  readonly refused: ReadonlyArray<{ readonly status: number; readonly causes: ReadonlyArray<string> }>
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** Served versions, the storage version first: objects are written in it. */
const versionsOf = ({ definition }: Sample): ReadonlyArray<string> =>
  [...definition["spec"].versions].sort((a, b) => Number(b.storage) - Number(a.storage))
    .filter(({ served }) => served).map(({ name }) => name)

const ageless =
  (columns: ReadonlyArray<{ readonly name: string; readonly type: string }>) => (cells: ReadonlyArray<unknown>) =>
    cells.filter((_, at) => at > 0 && columns[at]!.type !== "date")

/** Installs the sample's definition, tries its objects and takes it away again. */
export const run = Effect.fnUntraced(function*(sample: Sample) {
  const { minor, namespace: fresh, request, until } = yield* Target
  const { metadata, spec: { group, names, scope } } = sample.definition as Json & { readonly spec: Json }
  const [version] = versionsOf(sample)
  const namespace = yield* fresh
  const created = yield* request("POST", definitions, { body: sample.definition })
  if (created.status !== 201) return yield* Effect.die(new Error(`${sample.project}: ${JSON.stringify(created.body)}`))
  const collection = `/apis/${group}/${version}${scope === "Cluster" ? "" : `/namespaces/${namespace}`}/${names.plural}`
  yield* until(request("GET", collection), ({ status }) => status === 200)
  // What is served may be said to be established only a moment later.
  const { object: installed } = yield* until(
    request("GET", `${definitions}/${metadata["name"]}`),
    ({ object }) =>
      object["status"]?.conditions?.some(({ status, type }: Json) => type === "Established" && status === "True") ===
        true
  )
  const resources = yield* Effect.forEach(versionsOf(sample), (name) =>
    Effect.map(
      until(request("GET", `/apis/${group}/${name}`), ({ status }) => status === 200),
      ({ object }) => [name, object["resources"]] as const
    ))

  const body = (object: Json, name: string): Json => ({
    apiVersion: `${group}/${version}`,
    kind: names.kind,
    ...object,
    metadata: { ...object["metadata"], name }
  })
  const taken = yield* Effect.forEach(sample.valid, ({ object }, at) =>
    Effect.gen(function*() {
      const name = `taken-${at}`
      const { status } = yield* request("POST", collection, { body: body(object, name) })
      const { object: stored } = yield* request("GET", `${collection}/${name}`)
      const { object: table } = yield* request("GET", `${collection}/${name}`, {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
      })
      const cells = ageless(table["columnDefinitions"] ?? [])(table["rows"]?.[0]?.cells ?? [])
      return { status, spec: stored["spec"], cells }
    }))
  const refused = yield* Effect.forEach(
    sample.invalid.filter(({ since }) => since === undefined || since <= minor),
    ({ object }, at) =>
      Effect.map(request("POST", collection, { body: body(object, `refused-${at}`) }), ({ error, status }) => ({
        status,
        causes: [
          ...new Set(
            error.details?.causes?.map(({ field, message }) => `${field}: ${message}`) ?? [String(error.message)]
          )
        ].sort()
      }))
  )
  yield* request("DELETE", `${definitions}/${metadata["name"]}`)
  const { conditions = [] } = installed["status"] ?? {}
  return {
    spec: installed["spec"],
    conditions: conditions.map((condition: Json) =>
      `${condition["type"]}=${condition["status"]} ${condition["reason"]}: ${condition["message"]}`
    ),
    resources: Object.fromEntries(resources),
    taken,
    refused
  } satisfies Outcome
})
