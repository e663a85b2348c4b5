import { existsSync } from "node:fs";
import { join } from "node:path";
import { spawnChild } from "ichido/testing";
import { describe, expect, test } from "vitest";
import { familyOf, isAlive, signal } from "../../scripts/services/process-tree.ts";
import { root } from "../repo/tracked.ts";
import { inSessionOf } from "./proc.ts";
import { eventually } from "../support/eventually.ts";

interface Held {
  readonly pid: number;
  readonly folder: string;
}

describe("an interrupted test run", { timeout: 120_000 }, () => {
  test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
    "by %s leaves no server, folder or worker behind",
    async (how) => {
      const run = await spawnChild(join(root, "scripts/launch.mjs"), {
        args: ["scripts/test.ts", "--root", join(root, "test/services/sample"), "interrupted"],
        env: { SAMPLE: "interrupt" },
        cwd: root,
      });
      const [, list = "[]"] = await run.waitFor(/holding (\[.*\])/, 60_000);
      const held = JSON.parse(list) as Held[];
      expect(held.map(({ pid, folder }) => isAlive(pid) && existsSync(folder))).toEqual([true, true]);
      const family = familyOf(run.pid);
      expect(family.length).toBeGreaterThan(2);
      // SIGKILL to the whole session at once, as a closed terminal or a cancelled job does: only the reapers are out of reach.
      if (how === "SIGKILL") for (const pid of inSessionOf(run.pid, family)) signal(pid, how);
      else signal(run.pid, how);
      await run.exited;
      await eventually(
        () => expect(held.filter(({ pid, folder }) => isAlive(pid) || existsSync(folder))).toEqual([]),
        20_000,
      );
      await eventually(() => expect(family.filter(isAlive)).toEqual([]), 20_000);
      if (how !== "SIGKILL") expect(run.lines.at(-1)).toMatch(/^\d+ passed, [1-9]\d* failed/);
    },
  );
});
