/** The rules for Prometheus: they parse, their own tests pass, and every alert is tried and explained. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { opsFolder, promtool, withFiles } from "./promtool.ts";

const read = (name: string): string => readFileSync(join(opsFolder, "prometheus", name), "utf8");
const rules = read("ichido.rules.yml");
const testFiles = ["ichido.tests.yml", "ichido-growth.tests.yml"];
const tests = testFiles.map(read).join("\n");
const guide = readFileSync(new URL("../../docs/guide/monitoring.md", import.meta.url), "utf8");
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);

test("every alert fires in a test, has a severity, and leads to its paragraph in the guide", () => {
  expect(alerts.length).toBeGreaterThan(15);
  for (const name of alerts) {
    const fired = new RegExp(`alertname: ${name}\\n\\s+eval_time: \\w+\\n\\s+exp_alerts:`);
    expect(fired.test(tests), `${name} fires in a test of promtool`).toBe(true);
    expect(guide, name).toContain(`### ${name}\n`);
    expect(rules).toContain(`runbook_url: docs/guide/monitoring.md#${name.toLowerCase()}\n`);
  }
  expect(rules.match(/severity: (page|ticket)/g)).toHaveLength(alerts.length);
  const explained = [...guide.matchAll(/^### (Ichido\w+)$/gm)].map(([, name = ""]) => name);
  expect(explained.toSorted()).toEqual(alerts.toSorted());
});

describeWith("promtool", "promtool", () => {
  test("takes the rules", async () => {
    const { ok, text } = await promtool("check", "rules", join(opsFolder, "prometheus", "ichido.rules.yml"));
    expect(text).toContain("SUCCESS");
    expect(ok).toBe(true);
  });

  test("finds that the alerts fire when they must, and not on an ordinary day", async () => {
    const paths = testFiles.map((name) => join(opsFolder, "prometheus", name));
    const { ok, text } = await promtool("test", "rules", ...paths);
    expect(ok, text).toBe(true);
  });

  test.each([
    ["an alert with another threshold", "oldest_unknown_seconds) > 900", "oldest_unknown_seconds) > 9000"],
    ["an alert that any count sets off for ever", "[10m])) > 0", "[10m])) >= 0"],
    ["a hit rate of other outcomes", "replayed|replayed_after_wait", "executed"],
  ])("would find %s", async (_what, from, to) => {
    expect(rules).toContain(from);
    const broken = { "ichido.rules.yml": rules.replace(from, to), "ichido.tests.yml": read("ichido.tests.yml") };
    const { ok } = await withFiles(broken, (folder) => promtool("test", "rules", join(folder, "ichido.tests.yml")));
    expect(ok).toBe(false);
  });
});
