/** Operators that are wrong in one way each, after patterns of published bugs, and their corrected twins. */
import type * as B from "./planted/Box.ts"
import { planted as answers } from "./planted/Answers.ts"
import { planted as course } from "./planted/Course.ts"
import { planted as ends } from "./planted/Ends.ts"
import { planted as errors } from "./planted/Errors.ts"
import { planted as field } from "./planted/Field.ts"
import { planted as haste } from "./planted/Haste.ts"
import { planted as intermediate } from "./planted/Intermediate.ts"
import { planted as lifecycle } from "./planted/Lifecycle.ts"
import { planted as loops } from "./planted/Loops.ts"
import { planted as manners } from "./planted/Manners.ts"
import { planted as names } from "./planted/Names.ts"
import { planted as others } from "./planted/Others.ts"
import { planted as outside } from "./planted/Outside.ts"
import { planted as parts } from "./planted/Parts.ts"
import { planted as policies } from "./planted/Policies.ts"
import { planted as replicas } from "./planted/Replicas.ts"
import { planted as silences } from "./planted/Silences.ts"
import { planted as unseen } from "./planted/Unseen.ts"
import { planted as work } from "./planted/Work.ts"

export { Box, type Planted } from "./planted/Box.ts"

export const planted: ReadonlyArray<B.Planted> = [
  ...intermediate,
  ...errors,
  ...ends,
  ...unseen,
  ...silences,
  ...lifecycle,
  ...loops,
  ...outside,
  ...course,
  ...manners,
  ...others,
  ...field,
  ...haste,
  ...names,
  ...work,
  ...answers,
  ...replicas,
  ...parts,
  ...policies
]
