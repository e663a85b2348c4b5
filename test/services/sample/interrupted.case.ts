import { test } from "vitest";
import { startNats, startRedis } from "../../support/services.ts";

/** Runs until the run is interrupted. */
test.runIf(process.env["SAMPLE"] === "interrupt")("holds servers", { timeout: 120_000 }, async () => {
  const servers = await Promise.all([startRedis(), startNats()]);
  console.log(`holding ${JSON.stringify(servers.map(({ pid, folder }) => ({ pid, folder })))}`);
  await new Promise((resolve) => setTimeout(resolve, 100_000));
});
