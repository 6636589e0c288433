import { check } from "./planted/check.ts"
import { planted as outside } from "./planted/Outside.ts"
import { planted as replicas } from "./planted/Replicas.ts"
import { planted as silences } from "./planted/Silences.ts"
import { planted as unseen } from "./planted/Unseen.ts"

check("planted bugs: what is not seen", unseen)
check("planted bugs: the outside", outside)
check("planted bugs: replicas", replicas)
check("planted bugs: silences", silences)
