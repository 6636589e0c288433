import { defineConfig } from "vitest/config"

// vitest reads no workspace file of its own accord: the npm scripts name this one (`vitest -c vitest.workspace.ts`).
const project = (name: string, root: string, include: ReadonlyArray<string>, retry = 0) => ({
  extends: true as const,
  root,
  // Property tests run thousands of cases: a busy machine takes its time, and no test waits for a limit on purpose.
  test: { name, include: [...include], retry, testTimeout: 120_000, hookTimeout: 120_000, isolate: false }
})

const tests = ["test/**/*.test.ts"]

export default defineConfig({
  resolve: { conditions: ["op-source"] },
  ssr: { resolve: { conditions: ["op-source"] } },
  test: {
    // By default one core is left idle.
    maxWorkers: "100%",
    projects: [
      project("core", "packages/core", tests),
      project("k8s", "packages/k8s", [...tests, "templates/test/*.test.ts"]),
      project("examples", "examples", tests),
      // The controllers of a real cluster race with each other on a busy machine; what fails twice is wrong. The reporter
      // names what was tried again.
      project("real", ".", ["packages/*/test/**/*.real.ts", "examples/test/**/*.real.ts"], 1)
    ]
  }
})
