import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

// vitest reads no workspace file of its own accord: the npm scripts name this one (`vitest -c vitest.workspace.ts`).
const project = (name: string, root: string, include: ReadonlyArray<string>) => ({
  extends: true as const,
  root,
  // Property tests run thousands of cases: a busy machine takes its time, and no test waits for a limit on purpose.
  test: { name, include: [...include], testTimeout: 120_000, hookTimeout: 120_000, isolate: false }
})

const tests = ["test/**/*.test.ts"]

export default defineConfig({
  resolve: { conditions: ["op-source"] },
  ssr: { resolve: { conditions: ["op-source"] } },
  test: {
    // By default one core is left idle. One worker more than cores: some files mostly wait, for sockets or real servers.
    maxWorkers: availableParallelism() + 1,
    projects: [
      project("core", "packages/core", tests),
      project("k8s", "packages/k8s", [...tests, "templates/test/*.test.ts"]),
      project("examples", "examples", tests),
      project("real", ".", ["packages/*/test/**/*.real.ts", "examples/test/**/*.real.ts"])
    ]
  }
})
