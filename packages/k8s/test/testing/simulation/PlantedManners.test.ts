import { check } from "./planted/check.ts"
import { planted as haste } from "./planted/Haste.ts"
import { planted as field } from "./planted/Field.ts"
import { planted as manners } from "./planted/Manners.ts"
import { planted as names } from "./planted/Names.ts"
import { planted as others } from "./planted/Others.ts"

check("planted bugs: manners", manners)
check("planted bugs: others", others)
check("planted bugs: in the field", field)
check("planted bugs: haste", haste)
check("planted bugs: names", names)
