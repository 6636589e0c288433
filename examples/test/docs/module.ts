import { Action, Cache, Controller, ServerSideApply, Source, Sync } from "@effect-operator/core"
import { Webhook } from "@effect-operator/k8s"
import { ConfigMap, Namespace, NetworkPolicy, Pod } from "@effect-operator/k8s/kinds"
import { Effect, Schedule, Stream } from "effect"

const hello = { "hello.example.com": "yes" }
const denyAll = { podSelector: {}, policyTypes: ["Ingress"] }

export const hooks = [
  // When(a.Pod).IsCreated().InNamespace("apps").WithLabel("hello.example.com", "yes").Mutate(…)
  Webhook.mutating(Pod, {
    operations: ["CREATE"],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "apps" } },
    objectSelector: { matchLabels: hello },
    mutate: ({ object }) =>
      Effect.succeed({
        ...object,
        metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...hello } }
      })
  }),
  // When(a.Pod).IsCreatedOrUpdated().WithNameRegex(/^web-/).Validate(…)
  Webhook.validating(Pod, {
    validate: ({ object }) =>
      object.metadata.name.startsWith("web-") && object.spec.hostNetwork === true
        ? Webhook.deny("spec.hostNetwork: true: a web server has no need of it")
        : Effect.void
  })
]

/** `Store`: a ConfigMap that belongs to the namespace. */
const count = Effect.fnUntraced(function*({ metadata: { name: namespace } }: Namespace) {
  const nights = Number((yield* Cache.get(ConfigMap, { namespace, name: "nights" }))?.data?.["count"] ?? 0)
  yield* ServerSideApply.apply(ConfigMap, { metadata: { namespace, name: "nights" }, data: { count: `${nights + 1}` } })
})

// When(a.Namespace).IsCreatedOrUpdated().WithLabel("hello.example.com", "yes").Reconcile(…)
export const controller = Controller.make("namespaces", {
  for: Namespace,
  labels: hello,
  owns: [NetworkPolicy, ConfigMap],
  reconcile: (namespace) =>
    Sync.children(namespace, [NetworkPolicy], [
      Sync.child(NetworkPolicy, { metadata: { namespace: namespace.metadata.name, name: "deny" }, spec: denyAll })
    ]).pipe(Effect.as(Action.done)),
  // OnSchedule({ name: "nightly", … })
  sources: [
    Source.stream(
      "nightly",
      Stream.fromSchedule(Schedule.cron("0 3 * * *", "UTC")).pipe(
        Stream.mapEffect(() => Effect.flatMap(Cache.list(Namespace), Effect.forEach(count)))
      ),
      () => []
    )
  ]
})
