import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["ichido-source", "node"] } },
  resolve: { conditions: ["ichido-source", "node"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Real servers, processes and signals on a shared machine: one bad moment is not a defect, two in a row are. Locally a
    // test has one try, so that a flaky one is noticed where it can be mended.
    retry: process.env["CI"] === "true" ? 1 : 0,
    pool: "forks",
    // Most tests wait for a server or a process: three files at a time even on a small machine.
    maxWorkers: Math.max(3, availableParallelism()),
    globalSetup: ["test/global-setup.ts"],
    setupFiles: ["test/support/worker.ts"],
    // The state machine: a branch that no test takes is a promise that nobody checks.
    coverage: {
      provider: "v8",
      include: ["packages/ichido/src/core/**"],
      exclude: ["**/*.test.ts"],
      reporter: ["text-summary", "text"],
      thresholds: { branches: 95 },
    },
  },
});
