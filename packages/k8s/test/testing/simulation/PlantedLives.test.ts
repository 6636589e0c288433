import { check } from "./planted/check.ts"
import { planted as course } from "./planted/Course.ts"
import { planted as lifecycle } from "./planted/Lifecycle.ts"
import { planted as loops } from "./planted/Loops.ts"
import { planted as parts } from "./planted/Parts.ts"
import { planted as work } from "./planted/Work.ts"

check("planted bugs: how things end", lifecycle)
check("planted bugs: loops", loops)
check("planted bugs: on the way", course)
check("planted bugs: work", work)
check("planted bugs: parts of what is wanted", parts)
