import { backups } from "./backup.ts"
import { machines } from "./machine.ts"

export const controllers = [machines, backups]
