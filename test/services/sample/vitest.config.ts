import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["*.case.ts"],
    globalSetup: ["../../global-setup.ts"],
    setupFiles: ["../../support/worker.ts"],
    pool: "forks",
  },
});
