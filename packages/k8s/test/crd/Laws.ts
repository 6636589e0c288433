/** What the laws are about: specs of a kind, and what its Schema makes of them. */
import { Arbitrary, Effect, Result, Schema } from "effect"
import { generated, kinds } from "./Fixtures.ts"
import type { Json } from "./Mutants.ts"

export type Kind = (typeof kinds)[number]

/** Specs of a kind as they are sent. */
export const specs = Effect.fnUntraced(
  function*(kind: Kind, options: { readonly count: number; readonly seed: number }) {
    const source = generated[kind.kind] ?? kind.schemas.spec
    const values = yield* Arbitrary.sampleEffect(Arbitrary.schema(Schema.toType(source)), options)
    return values.map((spec) => {
      const encoded = Result.getOrThrow(kind.encode(objectOf(kind, spec))) as { readonly spec: unknown }
      return JSON.parse(JSON.stringify(encoded.spec)) as Json
    })
  }
)

export const objectOf = (kind: Kind, spec: unknown) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { namespace: "default", name: "a" },
  spec
})

export const decoded = (kind: Kind, spec: Json) => kind.decode(objectOf(kind, spec))

/** What the Schema knows of a spec: unknown fields are pruned by the server and kept by the decoder. */
export const written = (kind: Kind, spec: unknown) =>
  Schema.decodeUnknownSync(Schema.toCodecJson(kind.schemas.spec))(
    Schema.encodeUnknownSync(Schema.toCodecJson(kind.schemas.spec))(spec)
  )
