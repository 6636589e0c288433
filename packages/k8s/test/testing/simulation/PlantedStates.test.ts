import { check } from "./planted/check.ts"
import { planted as answers } from "./planted/Answers.ts"
import { planted as ends } from "./planted/Ends.ts"
import { planted as errors } from "./planted/Errors.ts"
import { planted as intermediate } from "./planted/Intermediate.ts"

check("planted bugs: half of the work", intermediate)
check("planted bugs: errors", errors)
check("planted bugs: ends", ends)
check("planted bugs: answers", answers)
