import { example as autoscaler } from "./autoscaler/example.ts"
import { example as observing } from "./autoscaler-observing/example.ts"
import { example as basicdeployment } from "./basicdeployment/example.ts"
import { example as contracts } from "./contracts/example.ts"
import { example as database } from "./database/example.ts"
import type { Example } from "./Example.ts"
import { example as farm } from "./farm/example.ts"
import { example as kronjob } from "./kronjob/example.ts"
import { example as podset } from "./podset/example.ts"

import { example as volumebackup } from "./volumebackup/example.ts"

/** All examples, in teaching order. */
export const examples: ReadonlyArray<Example> = [
  autoscaler,
  podset,
  basicdeployment,
  kronjob,
  database,
  observing,
  volumebackup,
  contracts,
  farm
]
