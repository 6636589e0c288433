/** `kindsOf`: the kinds that a server lists in its discovery of a version (`APIResourceList`). */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as KubeError from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"

const Strings = Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))

const Listed = Schema.Struct({
  resources: Schema.Array(Schema.Struct({
    /** The plural, or `plural/subresource`. */
    name: Schema.NonEmptyString,
    singularName: Schema.optional(Schema.String),
    namespaced: Schema.Boolean,
    kind: Schema.NonEmptyString,
    shortNames: Strings,
    categories: Strings
  }))
})

const decode = Schema.decodeUnknownResult(Listed)

/** The kinds in the response for a version of a group. */
export const kindsOf = (
  apiVersion: string,
  body: unknown
): Result.Result<ReadonlyArray<Resource.Resource<KubeObject>>, KubeError.Decode> => {
  const [version = "", group = ""] = apiVersion.split("/").toReversed()
  return Result.mapBoth(decode(body), {
    onFailure: (error) =>
      new KubeError.Decode({ message: "the answer is not an APIResourceList", issues: [String(error)] }),
    onSuccess: ({ resources }) =>
      resources.flatMap(({ categories, kind, name: plural, namespaced, shortNames, singularName }) =>
        plural.includes("/") ? [] : [
          Resource.make<KubeObject>()({
            group,
            version,
            kind,
            plural,
            scope: namespaced ? "Namespaced" : "Cluster",
            ...(singularName === undefined || singularName === "" ? {} : { singular: singularName }),
            shortNames: shortNames ?? [],
            categories: categories ?? [],
            subresources: resources.flatMap(({ name }) =>
              name.startsWith(`${plural}/`) ? [name.slice(plural.length + 1)] : []
            )
          })
        ]
      )
  })
}
