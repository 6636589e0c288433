/** Every statement, in the order of the checklist. */
import type { Statement } from "./Statement.ts"
import { create } from "./statements/create.ts"

const order = ({ id }: Statement): number => Number.parseInt(id, 10)

export const suite: ReadonlyArray<Statement> = [...create].sort((a, b) => order(a) - order(b))
