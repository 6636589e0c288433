import { check } from "./planted/check.ts"
import { planted as manners } from "./planted/Manners.ts"

check("planted bugs: manners", manners)
