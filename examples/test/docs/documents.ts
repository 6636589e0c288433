import { Action, Controller, CustomResource, ObjectStatus, Reconciler } from "@effect-operator/core"
import { Context, Data, Effect, Metric, Ref, Schedule, Schema } from "effect"

export const Document = CustomResource.make({
  group: "kube.rs",
  version: "v1",
  kind: "Document",
  shortNames: ["doc"],
  spec: Schema.Struct({ title: Schema.String, hide: Schema.Boolean, content: Schema.String }),
  status: Schema.Struct({ hidden: Schema.optionalKey(Schema.Boolean) })
})

export class IllegalDocument extends Data.TaggedError("IllegalDocument")<{ readonly title: string }> {}

/** What is in kube-rs' `Context`. */
export class Diagnostics extends Context.Service<Diagnostics, Ref.Ref<string>>()("docs/Diagnostics") {}

const reconciliations = Metric.counter("doc_controller_reconciliations", { incremental: true }) // on /metrics

export const controller = Controller.make("documents", {
  for: Document,
  finalizer: "kube.rs/documents",
  // `error_policy`: five minutes for what is wrong with the document, and soon for what the server failed at.
  retry: Schedule.exponential("1 second").pipe(
    Schedule.setInputType<Reconciler.Retried<IllegalDocument>>(),
    Schedule.modifyDelay(({ duration, input }) =>
      Effect.succeed(input?._tag === "IllegalDocument" ? "5 minutes" : duration)
    )
  ),
  // `Event::Apply`
  reconcile: Effect.fn("reconcile")(function*(doc, { events }) {
    const { hide, title } = doc.spec
    yield* Metric.update(reconciliations, 1)
    yield* Ref.set(yield* Diagnostics, doc.metadata.name)
    if (title === "illegal") return yield* new IllegalDocument({ title })
    if (hide && doc.status?.hidden !== true) {
      yield* events.normal({ reason: "HideRequested", action: "Hiding", note: `hiding ${doc.metadata.name}` })
    }
    yield* ObjectStatus.write(Document, doc, { hidden: hide })
    return Action.requeueAfter("5 minutes")
  }),
  // `Event::Cleanup`
  finalize: (doc, { events }) =>
    events.normal({ reason: "DeleteRequested", action: "Deleting", note: `deleting ${doc.metadata.name}` }).pipe(
      Effect.as(Action.done)
    )
})
