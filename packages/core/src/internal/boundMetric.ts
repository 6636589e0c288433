/**
 * A metric with its labels, looked up in the registry once, so that an update is one call. The series exists from then
 * on, with 0.
 *
 * Effect looks a series up on every update. So Effect makes it in a separate registry, and it is added to the registry
 * in context under the same name.
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

export interface Bound<Input> {
  readonly update: (input: Input) => void
  readonly modify: (input: Input) => void
}

export const bind = <Input, State>(
  context: Context.Context<never>,
  metric: Metric.Metric<Input, State>,
  attributes: Record<string, string>
): Bound<Input> => {
  const made: Metric.MetricRegistry = new Map()
  Metric.withAttributes(metric, attributes).valueUnsafe(Context.add(context, Metric.MetricRegistry, made))
  const registry = Context.get(context, Metric.MetricRegistry)
  for (const [name, series] of made) if (!registry.has(name)) registry.set(name, series)
  const [name] = [...made.keys()]
  const { hooks }: Metric.Metric.Metadata<Input, State> = registry.get(name!)!
  return { update: (input) => hooks.update(input, context), modify: (input) => hooks.modify(input, context) }
}
