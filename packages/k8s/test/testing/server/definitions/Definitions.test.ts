import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import {
  type Answer,
  crds,
  del,
  get,
  layer,
  patch,
  post,
  put,
  watch,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.message}`

const name = "widgets.example.com"

const conditions = ({ body }: Answer) =>
  Object.fromEntries(body.status.conditions.map((entry: any) => [entry.type, `${entry.status} ${entry.reason}`]))

const withVersions = (edit: (version: any) => ReadonlyArray<unknown>) => {
  const { spec: { versions } } = widgetDefinition() as any
  return widgetDefinition({ versions: edit(versions[0]) })
}

describe("definitions", () => {
  it.effect("accepted names are names, too, but need not be there", () =>
    Effect.gen(function*() {
      const { body } = yield* post(crds, widgetDefinition())
      const url = `${crds}/${body.metadata.name}/status`
      const write = (acceptedNames: object) => patch(url, "merge", { status: { acceptedNames } })
      assert.strictEqual((yield* write({ singular: "", shortNames: null })).status, 200)
      const refused = yield* write({ kind: "B_", categories: ["A"] })
      assert.deepStrictEqual(refused.body.details.causes.map(({ field }: { readonly field: string }) => field), [
        "status.acceptedNames.kind",
        "status.acceptedNames.categories[0]"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("in a group that the server has by itself are established, and nothing comes of it", () =>
    Effect.gen(function*() {
      for (const version of ["v1", "v9"]) {
        const { spec } = widgetDefinition() as any
        const metadata = {
          name: "widgets.networking.k8s.io",
          annotations: { "api-approved.kubernetes.io": "unapproved, of a test" }
        }
        const versions = [{ ...spec.versions[0], name: version }]
        const defined = yield* post(crds, {
          ...widgetDefinition({ group: "networking.k8s.io", versions }),
          metadata
        })
        assert.strictEqual(defined.status, 201)
        assert.strictEqual(
          conditions(yield* get(`${crds}/${metadata.name}`))["Established"],
          "True InitialNamesAccepted"
        )
        const path = `/apis/networking.k8s.io/${version}`
        const words = "404 the server could not find the requested resource"
        assert.strictEqual(message(yield* get(`${path}/namespaces/default/widgets`)), words)
        const discovered = (yield* get(path)).body?.resources ?? []
        assert.notInclude(discovered.map((resource: any) => resource.name), "widgets")
        const service = yield* get(`/apis/apiregistration.k8s.io/v1/apiservices/${version}.networking.k8s.io`)
        assert.strictEqual(service.status, 200)
        assert.strictEqual((yield* del(`${crds}/${metadata.name}`)).status, 200)
        assert.strictEqual((yield* get(`${crds}/${metadata.name}`)).status, 404)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("that keep unknown fields have no defaults", () =>
    Effect.gen(function*() {
      const schema = (inner: object) => ({
        type: "object",
        properties: { spec: { type: "object", properties: inner } }
      })
      const refused = (inner: object) =>
        Effect.map(
          post(crds, {
            ...widgetDefinition(),
            spec: {
              ...(widgetDefinition() as any).spec,
              preserveUnknownFields: true,
              versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema(inner) } }]
            }
          }),
          ({ body }) => body.details.causes.map(({ message }: { readonly message: string }) => message)
        )
      const always = "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in " +
        "spec.versions[*].schema instead"
      const withDefaults = "Invalid value: true: must be false in order to use defaults in the schema"
      assert.deepStrictEqual(yield* refused({ default: { type: "string" } }), [always])
      assert.deepStrictEqual(yield* refused({ a: { type: "string", default: "x" } }), [withDefaults, always])
    }).pipe(Effect.provide(layer)))

  it.effect("accept their names, then are established", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const since = yield* server.revision
      const created = yield* post(crds, widgetDefinition())
      assert.deepStrictEqual(created.body.status, {
        conditions: null,
        acceptedNames: { plural: "", kind: "" },
        storedVersions: ["v1"]
      })
      assert.deepStrictEqual(created.body.spec.names, {
        plural: "widgets",
        kind: "Widget",
        singular: "widget",
        listKind: "WidgetList"
      })
      const stored = yield* get(`${crds}/${name}`)
      assert.deepStrictEqual(conditions(stored), {
        NamesAccepted: "True NoConflicts",
        Established: "True InitialNamesAccepted"
      })
      const steps = (yield* server.log(since)).filter(({ collection }) => collection.startsWith("customresource"))
      assert.deepStrictEqual(
        steps.map(({ object }) =>
          (object as any).status.conditions?.map((entry: any) => `${entry.type}=${entry.status}`)
        ),
        [undefined, ["NamesAccepted=True", "Established=False"], ["NamesAccepted=True", "Established=True"]]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("have names that are labels, each told once; what must be there is missing, the rest is wrong", () =>
    Effect.gen(function*() {
      const { spec } = widgetDefinition() as any
      const long = "A".repeat(64)
      const answer = yield* post(
        crds,
        widgetDefinition({
          names: { ...spec.names, plural: "", kind: long, shortNames: ["", "a_b"] },
          versions: [{ ...spec.versions[0], name: "" }]
        })
      )
      const causes = answer.body.details.causes.map(({ field, message }: any) => `${field}: ${message}`)
      const label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for " +
        "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
      assert.includeMembers(causes, [
        "spec.names.plural: Required value",
        `spec.names.kind: Invalid value: "${long}": may have mixed case, but should otherwise match: must be no more than 63 characters`,
        `spec.names.shortNames[0]: Invalid value: "": ${label}`,
        `spec.names.shortNames[1]: Invalid value: "a_b": ${label}`,
        `spec.versions[0].name: Invalid value: "": ${label}`
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("nothing is served before and after", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get(widgets)).status, 404)
      yield* post(crds, widgetDefinition())
      assert.strictEqual((yield* get(widgets)).status, 200)
      yield* del(`${crds}/${name}`)
      assert.strictEqual((yield* get(widgets)).body, "404 page not found\n")
      assert.strictEqual((yield* get(`${crds}/${name}`)).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("a name that is taken is refused to the second definition, and given when it is free", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const second = {
        ...widgetDefinition({ names: { plural: "gadgets", kind: "Widget", singular: "widget" } }),
        metadata: { name: "gadgets.example.com" }
      }
      yield* post(crds, second)
      const clashing = yield* get(`${crds}/gadgets.example.com`)
      assert.deepStrictEqual(conditions(clashing), {
        NamesAccepted: "False ListKindConflict",
        Established: "False NotAccepted"
      })
      assert.deepStrictEqual(clashing.body.status.acceptedNames, { plural: "gadgets", kind: "" })
      yield* del(`${crds}/${name}`)
      assert.strictEqual(
        conditions(yield* get(`${crds}/gadgets.example.com`))["Established"],
        "True InitialNamesAccepted"
      )
    }).pipe(Effect.provide(layer)))

  const told = (definition: object) =>
    Effect.map(
      post(crds, definition),
      ({ body }) => body.details.causes.map(({ field, message }: any) => `${field}: ${message}`)
    )

  it.effect("versions that are wrong together are printed by the names of Go, without what they share", () =>
    Effect.gen(function*() {
      const version = (name: string, more: string) =>
        `{"Name":"${name}","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,${more}}`
      const none = "\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null"
      const twice = `[${version("v1", none)},${version("v1", none)}]`
      assert.deepStrictEqual(yield* told(withVersions((one) => [one, one])), [
        `spec.versions: Invalid value: ${twice}: must contain unique version names`,
        `spec.versions: Invalid value: ${twice}: must have exactly one version marked as storage version`,
        "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v1"
      ])
      const column = { name: "A", type: "string", jsonPath: ".spec.a" }
      const plain = {
        openAPIV3Schema: { type: "object", properties: { spec: { type: "array", items: { type: "string" } } } }
      }
      const faults = yield* told(withVersions((one) => [{ ...one, schema: plain }, {
        ...one,
        name: "v2",
        schema: { openAPIV3Schema: { type: "object" } },
        additionalPrinterColumns: [column]
      }]))
      assert.include(
        faults[0],
        "\"AdditionalPrinterColumns\":[{\"Name\":\"A\",\"Type\":\"string\",\"Format\":\"\",\"Description\":\"\"," +
          "\"Priority\":0,\"JSONPath\":\".spec.a\"}],\"SelectableFields\":null}]: must have exactly one"
      )
      assert.include(faults[0], "\"Properties\":{\"spec\":{\"ID\":\"\",\"Schema\":\"\",\"Ref\":null,")
      assert.include(faults[0], "\"Items\":{\"Schema\":{\"ID\":\"\",")
      assert.strictEqual(faults[1], "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v2")
    }).pipe(Effect.provide(layer)))

  it.effect("without a storage version nothing is stored", () =>
    Effect.gen(function*() {
      const faults = yield* told(withVersions((one) => [{ ...one, storage: false }]))
      assert.strictEqual(faults[1], "status.storedVersions: Invalid value: null: must have at least one stored version")
    }).pipe(Effect.provide(layer)))

  it.effect("a warning is that of a deprecated version, and one that can be printed", () =>
    Effect.gen(function*() {
      const warned = (deprecated: boolean, deprecationWarning: string) =>
        told(withVersions((one) => [{ ...one, deprecated, deprecationWarning }]))
      const told_ = (value: string, why: string) =>
        `spec.versions[0].deprecationWarning: Invalid value: ${value}: ${why}`
      assert.deepStrictEqual(yield* warned(false, "x"), [
        told_("\"x\"", "can only be set for deprecated versions")
      ])
      assert.deepStrictEqual(yield* warned(true, ""), [told_("\"\"", "must not be an empty string")])
      assert.deepStrictEqual(yield* warned(true, "é\n"), [told_(
        "\"é\\n\"",
        "must only contain printable UTF-8 characters; non-printable character found at index 2"
      )])
      const long = "w".repeat(257)
      assert.deepStrictEqual(yield* warned(true, long), [told_(`"${long}"`, "must be <= 256 characters long")])
    }).pipe(Effect.provide(layer)))

  it.effect("short names are told before a list of the kind's name; of the root of a schema one field", () =>
    Effect.gen(function*() {
      const { spec } = widgetDefinition() as any
      const faults = yield* told(
        widgetDefinition({ names: { ...spec.names, kind: "A", listKind: "A", shortNames: ["-"], categories: ["-"] } })
      )
      assert.deepStrictEqual(faults.map((fault: string) => fault.split(":")[0]), [
        "spec.names.shortNames[0]",
        "spec.names.listKind",
        "spec.names.categories[0]"
      ])
      const schema = { openAPIV3Schema: { type: "array", items: { type: "string" }, maxProperties: 3 } }
      const root = yield* told(withVersions((one) => [{ ...one, schema, subresources: { status: {} } }]))
      assert.strictEqual(
        root[0],
        "spec.validation.openAPIV3Schema.type: Invalid value: \"array\": only \"object\" is allowed as the type at the root " +
          "of the schema if the status subresource is enabled"
      )
      assert.isFalse(root.some((fault: string) => fault.includes("fields are allowed at the root")))
    }).pipe(Effect.provide(layer)))

  it.effect.each<[string, any, string]>([
    ["name", { ...widgetDefinition(), metadata: { name: "x" } }, "must be spec.names.plural+\".\"+spec.group"],
    ["versions", withVersions(() => []), "must have exactly one version marked as storage version"],
    [
      "schema",
      withVersions((version) => [{ ...version, schema: undefined }]),
      "spec.versions[0].schema.openAPIV3Schema: Required value"
    ],
    ["scope", widgetDefinition({ scope: "x" }), "spec.scope: Unsupported value: \"x\""],
    [
      "structure",
      withVersions((version) => [{ ...version, schema: { openAPIV3Schema: { properties: { a: {} } } } }]),
      "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"
    ],
    [
      "group",
      { ...widgetDefinition({ group: "x.k8s.io" }), metadata: { name: "widgets.x.k8s.io" } },
      "protected groups must have approval annotation"
    ]
  ])("refuses a bad %s", ([, definition, why]) =>
    Effect.gen(function*() {
      const refused = yield* post(crds, definition)
      assert.strictEqual(refused.status, 422)
      assert.include(refused.body.message, why)
    }).pipe(Effect.provide(layer)))

  const fields = ({ body }: Answer) => body.details.causes.map(({ field }: any) => field)
  const paths = ["spec.group", "spec.scope", "spec.versions"]
  const names = ["plural", "singular", "kind", "listKind"].map((key) => `spec.names.${key}`)

  it.effect("tells faults in the order of a real server, what is missing before what is wrong", () =>
    Effect.gen(function*() {
      const empty = { ...widgetDefinition(), spec: {} }
      assert.deepStrictEqual(fields(yield* post(crds, empty)), [
        "metadata.name",
        ...paths,
        ...names,
        "status.storedVersions"
      ])
      const named = { plural: "A b", singular: "", kind: "", listKind: "x_y", shortNames: ["A"], categories: ["B"] }
      assert.deepStrictEqual(fields(yield* post(crds, widgetDefinition({ names: named }))), [
        "metadata.name",
        ...["singular", "kind", "plural", "listKind", "shortNames[0]", "categories[0]"].map((key) =>
          `spec.names.${key}`
        )
      ])
      const twice = withVersions((version) => [version, { ...version, name: "v2" }, { ...version, storage: false }])
      const refused = yield* post(crds, twice)
      assert.deepStrictEqual(
        refused.body.details.causes.map(({ field, message }: any) => [field, message.replace(/.*: /s, "")]),
        [
          ["spec.versions", "must contain unique version names"],
          ["spec.versions", "must have exactly one version marked as storage version"],
          ["status.storedVersions", "must have the storage version v2"]
        ]
      )
      const misnamed = withVersions((version) => [{ ...version, name: "V_1" }])
      assert.deepStrictEqual(fields(yield* post(crds, misnamed)), ["spec.versions[0].name", "spec.version"])
    }).pipe(Effect.provide(layer)))

  it.effect("a group that is no domain at all is not told to have no dot", () =>
    Effect.gen(function*() {
      for (
        const [group, why] of [["BAD_group", "RFC 1123 subdomain"], ["bad", "should be a domain with at least one dot"]]
      ) {
        const refused = yield* post(crds, widgetDefinition({ group }))
        assert.deepStrictEqual(fields(refused), ["metadata.name", "spec.group"])
        assert.include(message(refused), why!)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("a name is judged by the group once: that a group cannot change is all that is said of one that does", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const refused = yield* patch(`${crds}/${name}`, "merge", { spec: { group: "other.com" } })
      assert.deepStrictEqual(fields(refused), ["spec.group"])
      assert.include(message(refused), "field is immutable")
    }).pipe(Effect.provide(layer)))

  it.effect("a schema has none of the keywords that are not supported, some of them not even empty", () =>
    Effect.gen(function*() {
      const having = (keywords: object) =>
        withVersions((
          version
        ) => [{ ...version, subresources: {}, schema: { openAPIV3Schema: { type: "object", ...keywords } } }])
      const path = "spec.validation.openAPIV3Schema"
      for (
        const [key, value] of Object.entries({
          dependencies: {},
          $ref: "",
          additionalItems: false,
          definitions: { a: {} }
        })
      ) {
        const refused = yield* post(crds, having({ [key]: value }))
        assert.include(message(refused), `${path}.${key}: Forbidden: ${key} is not supported`)
      }
      assert.include(
        message(yield* post(crds, having({ $schema: "x" }))),
        `${path}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`
      )
      const none = having({ definitions: {}, patternProperties: {}, id: "" })
      assert.strictEqual((yield* post(crds, none)).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("versions that were stored are never none: the storage version is put back", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      for (const path of [`${crds}/${name}/status`, `${crds}/${name}`]) {
        for (const status of [{ storedVersions: [] }, { storedVersions: null }, null]) {
          const patched = yield* patch(path, "merge", { status })
          assert.deepStrictEqual([patched.status, patched.body.status.storedVersions], [200, ["v1"]])
        }
      }
    }).pipe(Effect.provide(layer)))

  it.effect("every served version shows every object, stored in one of them", () =>
    Effect.gen(function*() {
      const definition = withVersions((
        v1
      ) => [v1, { ...v1, name: "v2", storage: false }, { ...v1, name: "v3", served: false, storage: false }])
      yield* post(crds, definition)
      const inV2 = widgets.replace("/v1/", "/v2/")
      yield* post(inV2, { ...widget("a"), apiVersion: "example.com/v2" })
      assert.strictEqual((yield* get(`${widgets}/a`)).body.apiVersion, "example.com/v1")
      const shown = yield* get(`${inV2}/a`)
      assert.strictEqual(shown.body.apiVersion, "example.com/v2")
      assert.strictEqual(
        (yield* put(`${inV2}/a`, shown.body)).body.metadata.resourceVersion,
        shown.body.metadata.resourceVersion
      )
      assert.strictEqual((yield* get(widgets.replace("/v1/", "/v3/"))).status, 404)
      const events = yield* Stream.runCollect(Stream.take(watch(inV2), 1))
      assert.strictEqual((events[0] as any).object.apiVersion, "example.com/v2")
      const stored = (yield* (yield* ApiServer).snapshot).find(({ kind }) => kind === "Widget")
      assert.strictEqual(stored?.apiVersion, "example.com/v1")
    }).pipe(Effect.provide(layer)))

  it.effect("a version objects are stored in cannot be dropped, a new storage version is remembered", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const { body } = yield* get(`${crds}/${name}`)
      const [v1] = body.spec.versions
      const versions = [{ ...v1, storage: false }, { ...v1, name: "v2" }]
      const changed = yield* put(`${crds}/${name}`, { ...body, spec: { ...body.spec, versions } })
      assert.deepStrictEqual(changed.body.status.storedVersions, ["v1", "v2"])
      assert.strictEqual(changed.body.metadata.generation, 2)
      const { body: now } = yield* get(`${crds}/${name}`)
      const dropped = yield* put(`${crds}/${name}`, {
        ...now,
        spec: { ...now.spec, versions: [{ ...v1, name: "v2" }] }
      })
      assert.include(
        message(dropped),
        "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, " +
          "and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes " +
          "v1 from status.storedVersions"
      )
      const rescoped = yield* patch(`${crds}/${name}`, "merge", { spec: { scope: "Cluster" } })
      assert.include(
        message(rescoped),
        "422 CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.com\" is invalid: spec.scope"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a changed schema shows in objects that were stored before, and ends watches", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a", { spec: { color: "red" } }))
      const fiber = yield* Effect.forkChild(Stream.runDrain(watch(widgets)))
      yield* TestClock.adjust(0)
      yield* patch(`${crds}/${name}`, "json", [
        {
          op: "add",
          path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size",
          value: { type: "string", default: "M" }
        },
        { op: "remove", path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color" }
      ])
      yield* Fiber.join(fiber)
      const { body } = yield* get(`${widgets}/a`)
      assert.deepStrictEqual(body.spec, { replicas: 1, size: "M" })
    }).pipe(Effect.provide(layer)))

  it.effect("deletion waits for objects with finalizers, and takes nothing new meanwhile", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a", { metadata: { finalizers: ["x/y"] } }))
      yield* post(widgets, widget("b"))
      const deleted = yield* del(`${crds}/${name}`)
      assert.deepStrictEqual(deleted.body.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"])
      assert.strictEqual(conditions(deleted)["Terminating"], "True InstanceDeletionPending")
      assert.strictEqual(conditions(yield* get(`${crds}/${name}`))["Terminating"], "True InstanceDeletionInProgress")
      assert.strictEqual((yield* get(`${widgets}/b`)).status, 404)
      assert.strictEqual(
        message(yield* post(widgets, widget("c"))),
        "403 widgets.example.com \"c\" is forbidden: create not allowed while custom resource definition is terminating"
      )
      yield* patch(`${widgets}/a`, "merge", { metadata: { finalizers: null } })
      assert.strictEqual((yield* get(`${crds}/${name}`)).status, 404)
      yield* post(crds, widgetDefinition())
      assert.deepStrictEqual((yield* get(widgets)).body.items, [])
    }).pipe(Effect.provide(layer)))

  it.effect("a deprecated version warns", () =>
    Effect.gen(function*() {
      yield* post(crds, withVersions((version) => [{ ...version, deprecated: true }]))
      assert.strictEqual((yield* get(widgets)).headers["warning"], "299 - \"example.com/v1 Widget is deprecated\"")
      const missing = yield* get(`${widgets}/a`)
      assert.strictEqual(missing.status, 404)
      assert.strictEqual(missing.headers["warning"], "299 - \"example.com/v1 Widget is deprecated\"")
    }).pipe(Effect.provide(layer)))
})
