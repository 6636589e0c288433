/** Every script. */
import type { Script } from "../Script.ts"
import { applying } from "./applying.ts"
import { changing } from "./changing.ts"
import { creating } from "./creating.ts"
import { deleting } from "./deleting.ts"
import { describing } from "./describing.ts"
import { discovering } from "./discovering.ts"
import { reading } from "./reading.ts"
import { refusing } from "./refusing.ts"
import { serverSide } from "./serverSide.ts"
import { working } from "./working.ts"

export const scripts: ReadonlyArray<Script> = [
  reading,
  creating,
  applying,
  changing,
  deleting,
  refusing,
  describing,
  discovering,
  working,
  serverSide
]
