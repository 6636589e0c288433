import { check } from "./planted/check.ts"
import { planted as policies } from "./planted/Policies.ts"

check("planted bugs: what people decide", policies)
