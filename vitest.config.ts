import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import SlowFirst from "./test/support/slow-first.ts";

export default defineConfig({
  ssr: { resolve: { conditions: ["ichido-source", "node"] } },
  resolve: { conditions: ["ichido-source", "node"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // One try, everywhere: a test that fails now and then may be an effect that happens twice now and then.
    retry: 0,
    pool: "forks",
    sequence: { sequencer: SlowFirst },
    // Most tests wait for a server or a process: four files at a time even on a small machine.
    maxWorkers: Math.max(4, availableParallelism()),
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
