import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["ichido-source", "node"] } },
  resolve: { conditions: ["ichido-source", "node"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // One try, everywhere: a test that fails now and then may be an effect that happens twice now and then.
    retry: 0,
    // postgres.js 3.4 writes to a socket that is gone when a link breaks with bytes in its queue, in a callback of its own;
    // tests that break links meet it now and then. Nothing of ours is on that stack.
    onUnhandledError: ({ stack = "" }) =>
      !/reading 'write'/.test(stack) || !/nextWrite .*\/postgres\/src\/connection\.js/.test(stack),
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
