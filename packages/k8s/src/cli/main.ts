#!/usr/bin/env node
/** The executable `effect-operator`; see `Program`. Compiled code is cached for the next start, if Node supports it. */
import * as Module from "node:module"

Module.enableCompileCache?.()
const { main } = await import("./Program.ts")
main()
