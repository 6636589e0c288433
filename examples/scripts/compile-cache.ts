/** For `node --import`: what was compiled, types stripped, is kept for the next start; half of the time that takes. */
import { enableCompileCache } from "node:module"

enableCompileCache()
