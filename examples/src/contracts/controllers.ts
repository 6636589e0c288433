import { clouds, metals } from "./infrastructure.ts"
import { machines } from "./machine.ts"

export const controllers = [machines, clouds, metals]
