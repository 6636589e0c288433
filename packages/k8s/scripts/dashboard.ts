/**
 * The Grafana dashboard of an operator, written to `docs/grafana/effect-operator.json`:
 * `node --conditions=op-source packages/k8s/scripts/dashboard.ts`.
 */
import * as Fs from "node:fs"

interface Query {
  readonly expr: string
  readonly legend: string
}

interface Panel {
  readonly title: string
  readonly unit?: string
  readonly kind?: "timeseries" | "stat"
  readonly queries: ReadonlyArray<Query>
}

const query = (expr: string, legend: string): Query => ({ expr, legend })
const rate = (name: string, by: string, where = `controller=~"$controller"`) =>
  `sum by (${by}) (rate(${name}{${where}}[$__rate_interval]))`
const quantile = (q: number, name: string) =>
  `histogram_quantile(${q}, sum by (controller, le) (rate(${name}_bucket{controller=~"$controller"}[$__rate_interval])))`
const gauge = (name: string, by: string, where = `controller=~"$controller"`) => `sum by (${by}) (${name}{${where}})`
const ofWatch = (name: string, aggregate = "max") => `${aggregate} by (resource, namespace, selector) (${name})`
const watchLegend = "{{resource}} {{namespace}} {{selector}}"

const rows: ReadonlyArray<readonly [title: string, panels: ReadonlyArray<Panel>]> = [
  ["Health", [
    { title: "Watches degraded", kind: "stat", queries: [query("sum(effect_operator_watch_degraded)", "degraded")] },
    {
      title: "Replicas that share",
      kind: "stat",
      queries: [query("max by (name) (effect_operator_shard_members)", "{{name}}")]
    },
    { title: "Leader", kind: "stat", queries: [query("max by (name) (leader_election_master_status)", "{{name}}")] },
    {
      title: "Stalled, invalid, held back",
      queries: [
        query(rate("effect_operator_stalled_total", "controller"), "{{controller}} given up"),
        query(rate("effect_operator_invalid_objects_total", "controller"), "{{controller}} invalid"),
        query(
          rate("effect_operator_source_failures_total", "controller, source"),
          "{{controller}} source {{source}} failed"
        ),
        query(rate("effect_operator_hot_loops_total", "controller"), "{{controller}} hot loop"),
        query(rate("effect_operator_cache_sync_timeouts_total", "controller"), "{{controller}} caches not in sync"),
        query(rate("effect_operator_events_held_back_total", "controller"), "{{controller}} events held back"),
        query(rate("effect_operator_events_lost_total", "controller"), "{{controller}} events lost")
      ]
    }
  ]],
  ["Reconciles", [
    {
      title: "Reconciles per second",
      unit: "ops",
      queries: [query(rate("controller_runtime_reconcile_total", "controller, result"), "{{controller}} {{result}}")]
    },
    {
      title: "Errors per second",
      unit: "ops",
      queries: [
        query(rate("controller_runtime_reconcile_errors_total", "controller"), "{{controller}} errors"),
        query(rate("controller_runtime_terminal_reconcile_errors_total", "controller"), "{{controller}} terminal"),
        query(rate("controller_runtime_reconcile_panics_total", "controller"), "{{controller}} defects"),
        query(rate("controller_runtime_reconcile_timeouts_total", "controller"), "{{controller}} time-outs")
      ]
    },
    {
      title: "Duration",
      unit: "s",
      queries: [
        query(quantile(0.5, "controller_runtime_reconcile_time_seconds"), "{{controller}} p50"),
        query(quantile(0.99, "controller_runtime_reconcile_time_seconds"), "{{controller}} p99")
      ]
    },
    {
      title: "Workers",
      queries: [
        query(gauge("controller_runtime_active_workers", "controller"), "{{controller}} busy"),
        query(gauge("controller_runtime_max_concurrent_reconciles", "controller"), "{{controller}} all")
      ]
    }
  ]],
  ["Queue", [
    {
      title: "Depth",
      queries: [query(gauge("workqueue_depth", "controller, priority"), "{{controller}} {{priority}}")]
    },
    {
      title: "Added and retried per second",
      unit: "ops",
      queries: [
        query(rate("workqueue_adds_total", "controller"), "{{controller}} added"),
        query(rate("workqueue_retries_total", "controller"), "{{controller}} retried")
      ]
    },
    {
      title: "Wait",
      unit: "s",
      queries: [query(quantile(0.99, "workqueue_queue_duration_seconds"), "{{controller}} p99")]
    },
    {
      title: "Under way",
      unit: "s",
      queries: [
        query(gauge("workqueue_unfinished_work_seconds", "controller"), "{{controller}} together"),
        query(gauge("workqueue_longest_running_processor_seconds", "controller"), "{{controller}} longest"),
        query(quantile(0.99, "workqueue_work_duration_seconds"), "{{controller}} p99")
      ]
    }
  ]],
  ["Watches and caches", [
    { title: "Objects", queries: [query(ofWatch("effect_operator_cache_objects"), watchLegend)] },
    { title: "Memory", unit: "bytes", queries: [query(ofWatch("effect_operator_cache_bytes"), watchLegend)] },
    {
      title: "Since the last event",
      unit: "s",
      queries: [query(ofWatch("effect_operator_watch_last_event_age_seconds"), watchLegend)]
    },
    {
      title: "Relists, restarts, failures per hour",
      queries: [
        query(ofWatch("increase(effect_operator_watch_relists_total[1h])", "sum"), `${watchLegend} relists`),
        query(ofWatch("increase(effect_operator_watch_restarts_total[1h])", "sum"), `${watchLegend} restarts`),
        query(ofWatch("increase(effect_operator_watch_failures_total[1h])", "sum"), `${watchLegend} failures`)
      ]
    },
    {
      title: "Own writes not yet seen",
      queries: [query(ofWatch("effect_operator_cache_unconfirmed_writes"), watchLegend)]
    },
    { title: "Degraded", queries: [query(ofWatch("effect_operator_watch_degraded"), watchLegend)] }
  ]],
  ["API server", [
    {
      title: "Requests per second",
      unit: "ops",
      queries: [
        query(rate("rest_client_requests_total", "method, code", `host=~".+"`), "{{method}} {{code}}")
      ]
    }
  ]]
]

const source = { type: "prometheus", uid: "${datasource}" }

const panels = () => {
  const all: Array<unknown> = []
  let y = 0
  for (const [title, inRow] of rows) {
    all.push({ id: all.length + 1, type: "row", title, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y } })
    y += 1
    const width = inRow.length === 1 ? 24 : inRow.length === 3 ? 8 : 12
    for (const [i, { kind = "timeseries", queries, title, unit = "short" }] of inRow.entries()) {
      all.push({
        id: all.length + 1,
        type: kind,
        title,
        datasource: source,
        gridPos: { h: 8, w: width, x: (i * width) % 24, y: y + Math.floor((i * width) / 24) * 8 },
        fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
        targets: queries.map(({ expr, legend }, n) => ({
          refId: String.fromCharCode(65 + n),
          datasource: source,
          expr,
          legendFormat: legend
        }))
      })
    }
    y += Math.ceil((inRow.length * width) / 24) * 8
  }
  return all
}

export const dashboard = {
  title: "Operator",
  uid: "effect-operator",
  tags: ["kubernetes", "operator"],
  schemaVersion: 39,
  version: 1,
  editable: true,
  refresh: "30s",
  time: { from: "now-1h", to: "now" },
  templating: {
    list: [
      { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
      {
        name: "controller",
        type: "query",
        label: "Controller",
        datasource: source,
        query: "label_values(controller_runtime_max_concurrent_reconciles, controller)",
        refresh: 2,
        includeAll: true,
        multi: true,
        current: { text: "All", value: "$__all" }
      }
    ]
  },
  panels: panels()
}

if (import.meta.main) {
  const file = new URL("../../../docs/grafana/effect-operator.json", import.meta.url)
  Fs.mkdirSync(new URL(".", file), { recursive: true })
  Fs.writeFileSync(file, `${JSON.stringify(dashboard, undefined, 2)}\n`)
}
