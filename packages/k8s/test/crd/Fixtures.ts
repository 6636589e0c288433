/** Schemas that use everything a definition can say, for the laws. */
import { CelRule, CustomResource, KubeSchema } from "@effect-operator/core"
import { Effect, Schema } from "effect"

const Name = Schema.String.check(
  Schema.isPattern(/^[a-z]([-a-z0-9]*[a-z0-9])?$/u),
  Schema.isMaxLength(20)
).pipe(Schema.brand("Name"))

class Limits extends Schema.Class<Limits>("Limits")({
  minimum: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
  maximum: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).pipe(Schema.withDecodingDefaultKey(Effect.succeed(3)))
}) {}

const numbers = Schema.Struct({
  small: Schema.Int.check(Schema.isInt32()),
  even: Schema.Int.check(Schema.isBetween({ minimum: -100, maximum: 100 }), Schema.isMultipleOf(2)),
  positive: Schema.Finite.check(Schema.isGreaterThan(0)),
  below: Schema.Finite.check(Schema.isLessThan(10), Schema.isGreaterThanOrEqualTo(-10)),
  any: Schema.Finite,
  port: KubeSchema.IntOrString,
  surge: KubeSchema.IntOrPercent,
  text: Schema.NumberFromString,
  level: Schema.Literals([1, 2, 3])
})

const texts = Schema.Struct({
  name: Name,
  short: Schema.String.check(Schema.isMaxLength(5)),
  filled: Schema.NonEmptyString,
  spaced: Schema.String.check(Schema.isPattern(/^\s?[a-c]+\s?$/)),
  twice: Schema.String.check(Schema.isPattern(/^[a-z]+$/u), Schema.isPattern(/a/u)),
  quantity: KubeSchema.Quantity,
  at: KubeSchema.DateTime,
  path: Schema.TemplateLiteral(["/", Schema.String]),
  id: Schema.String.check(Schema.isUUID())
})

const lists = Schema.Struct({
  some: Schema.NonEmptyArray(Schema.Boolean),
  few: Schema.Array(Schema.String).check(Schema.isMaxLength(3)),
  set: KubeSchema.listSet(Schema.Array(Schema.Literals(["a", "b", "c"]))),
  unique: Schema.Array(Schema.Int).check(Schema.isUnique()),
  ports: Schema.Array(Schema.Struct({ name: Name, port: Schema.Int, protocol: Schema.optionalKey(Schema.String) }))
    .pipe(
      KubeSchema.listMap("name")
    ),
  record: Schema.Record(Schema.String, Schema.Struct({ weight: Schema.Int })),
  open: Schema.Record(Schema.String, Schema.Unknown),
  nested: Schema.Array(Schema.Array(Schema.Int))
})

const absent = Schema.Struct({
  may: Schema.optionalKey(Schema.Int),
  nil: Schema.NullOr(Schema.String),
  either: Schema.optionalKey(Schema.NullOr(Schema.Literals(["on", "off"]))),
  loose: Schema.optional(Schema.Boolean),
  anything: Schema.optionalKey(Schema.Unknown)
})

const defaults = Schema.Struct({
  replicas: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
  limits: Limits,
  inner: Schema.Struct({
    mode: Schema.Literals(["Fast", "Safe"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("Safe" as const)))
  })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  names: Schema.Array(Schema.String).pipe(Schema.withDecodingDefaultKey(Effect.succeed(["a"]))),
  size: Schema.NumberFromString.pipe(Schema.withDecodingDefaultKey(Effect.succeed("5"))),
  hidden: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true), { encodingStrategy: "omit" })),
  typed: Schema.String.pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed("x")))
})

const unions = Schema.Struct({
  source: Schema.Union([
    Schema.TaggedStruct("Git", { url: Schema.NonEmptyString, depth: Schema.optionalKey(Schema.Int) }),
    Schema.TaggedStruct("Image", { image: Schema.NonEmptyString }),
    Schema.TaggedStruct("None", {})
  ]),
  target: Schema.Union([
    Schema.Struct({ pod: Schema.String, only: Schema.optionalKey(Schema.Boolean) }),
    Schema.Struct({ service: Schema.String })
  ]),
  port: Schema.Union([Schema.Literal("auto"), Schema.String.check(Schema.isPattern(/^[0-9]+$/u))]),
  mixed: Schema.Literals([1, "one", true])
})

const embedded = Schema.Struct({ template: KubeSchema.EmbeddedResource, extra: KubeSchema.AnyObject })

const ruled = Schema.Struct({
  low: Schema.Int,
  high: Schema.optionalKey(Schema.Int),
  mode: Schema.Literals(["Cron", "Once"]),
  schedule: Schema.optionalKey(Schema.String)
}).pipe(CelRule.rules(CelRule.atMost("low", "high"), CelRule.requiredWhen("schedule", { field: "mode", is: "Cron" })))

const make = (kind: string, spec: CustomResource.AnySchema) =>
  CustomResource.make({
    group: "laws.example.com",
    version: "v1",
    kind,
    spec,
    status: Schema.Struct({ ready: Schema.Boolean })
  })

/** Keys and values of labels, which a Schema refuses by a function that no generator can read. */
const word = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,40}[A-Za-z0-9])?$/u))
const words = Schema.optionalKey(Schema.Record(word, word))
const { metadata: _, ...identity } = KubeSchema.EmbeddedResource.schema.fields
const name = Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z0-9]{1,20}$/u)))

/** What values are generated from, where not from the Schema itself. */
export const generated: Readonly<Record<string, Schema.Codec<any, any, never, never>>> = {
  Template: Schema.Struct({
    template: Schema.StructWithRest(
      Schema.Struct({
        ...identity,
        metadata: Schema.optionalKey(Schema.Struct({ name, namespace: name, labels: words, annotations: words }))
      }),
      [KubeSchema.AnyObject]
    ),
    extra: KubeSchema.AnyObject
  })
}

/** Kinds whose Schema says all that the definition says. */
export const kinds = [
  make("Number", numbers),
  make("Text", texts),
  make("List", lists),
  make("Absent", absent),
  make("Default", defaults),
  make("Choice", unions),
  make("Template", embedded)
]

/** A kind with rules, which only a checked resource knows. */
export const Ruled = make("Ruled", ruled)

/** Everything else a definition can say. */
export const Full = CustomResource.make({
  group: "laws.example.com",
  version: "v1beta1",
  kind: "Full",
  description: "Says all there is to say.",
  shortNames: ["fu"],
  categories: ["laws"],
  scope: "Cluster",
  spec: Schema.Struct({
    replicas: Schema.Int.annotate({ description: "How many." }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
    selector: KubeSchema.mapAtomic(Schema.Struct({ app: Schema.String })),
    members: KubeSchema.listAtomic(Schema.Array(Schema.String))
  }),
  status: Schema.Struct({ replicas: Schema.Int, selector: Schema.String }),
  printerColumns: [{
    name: "Replicas",
    type: "integer",
    jsonPath: ".spec.replicas",
    priority: 1,
    description: "How many."
  }],
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector"
  },
  deprecated: "laws.example.com/v1beta1 Full is old"
})
