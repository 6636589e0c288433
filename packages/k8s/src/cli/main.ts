#!/usr/bin/env node
/** The executable `effect-operator`; see `Program`. What was compiled is kept for the next start, where Node can. */
import * as Module from "node:module"

Module.enableCompileCache?.()
const { main } = await import("./Program.ts")
main()
