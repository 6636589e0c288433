import { example as autoscaler } from "./autoscaler/example.ts"
import type { Example } from "./Example.ts"
import { example as podset } from "./podset/example.ts"

/** Every example, in the order in which they teach. */
export const examples: ReadonlyArray<Example> = [autoscaler, podset]
