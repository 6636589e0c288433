// What `vitest` alone looks for.
export { default } from "./vitest.workspace.ts"
