import { check } from "./planted/check.ts"
import { planted as manners } from "./planted/Manners.ts"
import { planted as others } from "./planted/Others.ts"

check("planted bugs: manners", manners)
check("planted bugs: others", others)
