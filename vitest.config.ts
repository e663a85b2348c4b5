import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import SlowFirst from "./test/support/slow-first.ts";

const everything = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "apps/*/test/**/*.test.ts"];
const core = ["packages/ichido/src/core/**/*.test.ts"];
const crash = ["test/crash/**/*.test.ts"];

/**
 * They share nothing but functions: one after the other in few processes. To start a process for each, and to load a
 * store, its drivers and their libraries there, takes half a second of a core.
 */
const together = [
  "packages/*/src/**/*.test.ts",
  "test/docs/**/*.test.ts",
  "test/effects/**/*.test.ts",
  "test/events/**/*.test.ts",
  "test/repo/**/*.test.ts",
  "test/stores/**/*.test.ts",
];
/** Would be among them, but looks at what is the process's own: warnings that are given once, memory, every timer. */
const ownProcess = [
  "packages/ichido/src/console/samples.test.ts",
  "test/events/consumer-unhandled.test.ts",
  "test/stores/memory*.test.ts",
  "test/stores/postgres-pooler.test.ts",
  "test/stores/redis-settings.test.ts",
  "test/stores/sqlite-turns.test.ts",
  "test/stores/starved-pools.test.ts",
];

const conditions = ["ichido-source", "node"];

function project(name: string, isolate: boolean, include: readonly string[], exclude: readonly string[] = []) {
  return {
    ssr: { resolve: { conditions } },
    resolve: { conditions },
    test: {
      name,
      isolate,
      include: [...include],
      exclude: ["**/node_modules/**", ...exclude],
      testTimeout: 90_000,
      hookTimeout: 120_000,
      setupFiles: ["test/support/worker.ts"],
    },
  };
}

/** A file is in one of them, and only one: `test/repo` sees to it. */
export const projects = [
  project("core", false, core),
  project("crash", true, crash),
  project("together", false, together, [...core, ...ownProcess]),
  project("alone", true, everything, [...crash, ...together]),
  project("own process", true, ownProcess),
];

export default defineConfig({
  test: {
    // One try, everywhere: a test that fails now and then may be an effect that happens twice now and then.
    retry: 0,
    pool: "forks",
    sequence: { sequencer: SlowFirst },
    // Most tests wait for a server or a process: four files at a time even on a small machine.
    maxWorkers: Math.max(4, availableParallelism()),
    // Of the root alone: a project that had it, too, would start servers of its own.
    globalSetup: ["test/global-setup.ts"],
    projects,
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
