import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["ichido-source", "node"] } },
  resolve: { conditions: ["ichido-source", "node"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "apps/*/test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    globalSetup: ["test/global-setup.ts"],
    coverage: { provider: "v8", include: ["packages/ichido/src/core/**"], exclude: ["**/*.test.ts"] },
  },
});
