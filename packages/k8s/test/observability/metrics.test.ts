/** The series of a running operator against controller-runtime's and client-go's lists, and what the dashboard asks for. */
import { Action, Controller, KubeClient, Reconciler, Source } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import { dashboard } from "../../scripts/dashboard.ts"
import { allow, cluster, everything, operate, Widget } from "./support.ts"

/** Name, type and labels (`le` of histograms apart), as controller-runtime 0.24 and client-go 0.36 have them. */
const theirs: ReadonlyArray<readonly [name: string, type: string, labels: ReadonlyArray<string>]> = [
  ["controller_runtime_reconcile_total", "counter", ["controller", "result"]],
  ["controller_runtime_reconcile_errors_total", "counter", ["controller"]],
  ["controller_runtime_terminal_reconcile_errors_total", "counter", ["controller"]],
  ["controller_runtime_reconcile_panics_total", "counter", ["controller"]],
  ["controller_runtime_reconcile_timeouts_total", "counter", ["controller"]],
  ["controller_runtime_reconcile_time_seconds", "histogram", ["controller"]],
  ["controller_runtime_max_concurrent_reconciles", "gauge", ["controller"]],
  ["controller_runtime_active_workers", "gauge", ["controller"]],
  ["workqueue_depth", "gauge", ["controller", "name", "priority"]],
  ["workqueue_adds_total", "counter", ["controller", "name"]],
  ["workqueue_queue_duration_seconds", "histogram", ["controller", "name"]],
  ["workqueue_work_duration_seconds", "histogram", ["controller", "name"]],
  ["workqueue_unfinished_work_seconds", "gauge", ["controller", "name"]],
  ["workqueue_longest_running_processor_seconds", "gauge", ["controller", "name"]],
  ["workqueue_retries_total", "counter", ["controller", "name"]],
  ["leader_election_master_status", "gauge", ["name"]]
]

const watch = ["namespace", "resource", "selector"]
const ours: typeof theirs = [
  ["effect_operator_cache_objects", "gauge", watch],
  ["effect_operator_cache_bytes", "gauge", watch],
  ["effect_operator_cache_unconfirmed_writes", "gauge", watch],
  ["effect_operator_watch_last_event_age_seconds", "gauge", watch],
  ["effect_operator_watch_degraded", "gauge", watch],
  ["effect_operator_watch_relists_total", "counter", watch],
  ["effect_operator_watch_restarts_total", "counter", watch],
  ["effect_operator_watch_failures_total", "counter", watch],
  ["effect_operator_invalid_objects_total", "counter", ["controller"]],
  ["effect_operator_source_failures_total", "counter", ["controller", "source"]],
  ["effect_operator_stalled_total", "counter", ["controller"]],
  ["effect_operator_hot_loops_total", "counter", ["controller"]],
  ["effect_operator_cache_sync_timeouts_total", "counter", ["controller"]],
  ["effect_operator_events_held_back_total", "counter", ["controller"]],
  ["effect_operator_events_lost_total", "counter", ["controller"]]
]

/** Where replicas share the objects: see core/Sharding. */
const sharing: typeof theirs = [["effect_operator_shard_members", "gauge", ["name"]]]

/** Families of a text: their types, and the labels of each series. */
const parse = (text: string) => {
  const types = new Map<string, string>()
  const labels = new Map<string, Set<string>>()
  for (const line of text.split("\n")) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line)
    if (type !== null) types.set(type[1]!, type[2]!)
    const series = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (series === null || line.startsWith("#")) continue
    const family = series[1]!.replace(/_(?:bucket|sum|count)$/, "")
    const names = [...(series[2] ?? "").matchAll(/([a-z_]+)="(?:[^"\\]|\\.)*"/g)].map(([, name]) => name!)
    labels.set(family, new Set([...labels.get(family) ?? [], names.filter((name) => name !== "le").sort().join()]))
  }
  return { types, labels }
}

const failing = Controller.make("widgets", {
  for: Widget,
  sources: [Source.each("heart", Widget, () => Effect.fail("no heart"))],
  reconcile: ({ metadata, spec }) =>
    metadata.name === "bad"
      ? Effect.fail(new Reconciler.Terminal({ message: "never" }))
      : spec.size > 1
      ? Effect.die("a defect")
      : Effect.succeed(Action.done)
})

describe("/metrics", () => {
  it.effect("has every series of controller-runtime and client-go, and ours, by name, type and labels", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const leaderElection = { namespace: "default", name: "op", identity: "me" }
      const { get } = yield* operate([failing], { leaderElection })
      const client = yield* KubeClient.KubeClient
      for (const [name, size] of [["bad", 1], ["good", 1], ["ugly", 2]] as const) {
        yield* client.create(Widget, { metadata: { namespace: "default", name }, spec: { size } })
      }
      yield* TestClock.adjust("1 minute")
      const { body } = yield* get("/metrics")
      const { labels, types } = parse(body)
      for (const [name, type, names] of [...theirs, ...ours]) {
        assert.strictEqual(types.get(name), type, name)
        assert.deepStrictEqual([...labels.get(name) ?? []], [names.toSorted().join()], name)
      }
      for (const name of types.keys()) {
        assert.isTrue([...theirs, ...ours].some(([known]) => known === name), `${name} is in no list`)
      }
      for (
        const line of [
          `controller_runtime_reconcile_total{controller="widgets",result="success"} 1`,
          `controller_runtime_reconcile_total{controller="widgets",result="requeue_after"} 0`,
          `controller_runtime_terminal_reconcile_errors_total{controller="widgets"} 1`,
          `workqueue_depth{name="widgets",controller="widgets",priority="0"} 0`,
          `leader_election_master_status{name="op"} 1`,
          `effect_operator_cache_objects{resource="Widget.v1.observed.example.com",namespace="",selector=""} 3`
        ]
      ) assert.include(body, `${line}\n`)
      assert.match(body, /controller_runtime_reconcile_panics_total\{controller="widgets"\} [1-9]/)
      assert.match(body, /effect_operator_source_failures_total\{controller="widgets",source="heart"\} [1-9]/)
      assert.match(body, /# HELP workqueue_depth Current depth of workqueue/)
    }).pipe(
      Effect.provide(cluster(Widget)),
      // Of this operator alone.
      Effect.provideService(Metric.MetricRegistry, new Map())
    ))
})

describe("the Grafana dashboard", () => {
  const file = new URL("../../../../docs/grafana/effect-operator.json", import.meta.url)
  const text = Fs.readFileSync(file, "utf8")
  const expressions = [...text.matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map(([, expression]) => expression!)

  it("is what the script writes", () => {
    assert.strictEqual(text, `${JSON.stringify(dashboard, undefined, 2)}\n`)
  })

  it("asks for series that there are, by labels that they have", () => {
    const known = new Map<string, ReadonlyArray<string>>(
      [...theirs, ...ours, ...sharing].map(([name, , labels]) => [name, labels])
    )
    // Of the live client.
    known.set("rest_client_requests_total", ["code", "host", "method"])
    assert.isAbove(expressions.length, 15)
    for (const expression of expressions) {
      const names = [
        ...expression.matchAll(/\b((?:controller_runtime|workqueue|effect_operator|leader_election|rest_client)_\w+)/g)
      ]
        .map(([, name]) => name!.replace(/_(?:bucket|sum|count)$/, ""))
      assert.isAbove(names.length, 0, expression)
      for (const name of names) {
        assert.isTrue(known.has(name), `${name} in ${expression}`)
        for (const [, grouped] of expression.matchAll(/by ?\(([^)]*)\)/g)) {
          for (const label of grouped!.split(/, */)) {
            assert.isTrue(label === "le" || known.get(name)!.includes(label), `${label} of ${name} in ${expression}`)
          }
        }
      }
    }
  })

  it("shows every series of ours", () => {
    for (const [name] of ours) assert.isTrue(expressions.some((expression) => expression.includes(name)), name)
  })
})
