import { describe, expect, test } from "vitest";
import { faultPoints } from "../core/contract/faults.ts";
import { everyCrashPoint } from "./crash-points.ts";
import type { CrashRun } from "./crash-points.ts";

/** A tiny protocol with a record and an effect; `careful` notes the effect under a key that the effect itself refuses twice. */
async function payTwice(run: CrashRun, careful: boolean): Promise<{ readonly charges: string[] }> {
  const charges: string[] = [];
  let done = false;
  const pay = async (faults: CrashRun["faults"] | undefined): Promise<void> => {
    if (done) return;
    await faults?.("before-handler");
    if (!careful || !charges.includes("k1")) charges.push("k1");
    await faults?.("after-handler");
    await faults?.("after-handler");
    done = true;
  };
  await Promise.race([pay(run.faults), run.crashed]);
  await pay(undefined);
  return { charges };
}

describe("everyCrashPoint", () => {
  test("rehearses, then crashes at every passing of every point that was passed", async () => {
    const runs: string[] = [];
    const report = await everyCrashPoint(
      async (run) => {
        runs.push(`${run.point ?? "rehearsal"} ${run.nth}`);
        return payTwice(run, true);
      },
      ({ charges }) => expect(charges).toEqual(["k1"]),
    );
    expect(runs).toEqual(["rehearsal 0", "before-handler 1", "after-handler 1", "after-handler 2"]);
    expect(report.verdicts.map((verdict) => verdict.reached)).toEqual([false, true, true, true]);
    expect(report.matrix).toContain("after-handler #2");
  });

  test("fails with the matrix where the invariant breaks, and only there", async () => {
    const failure: unknown = await everyCrashPoint(
      (run) => payTwice(run, false),
      ({ charges }) => expect(charges).toEqual(["k1"]),
    ).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    const lines = String((failure as AggregateError).message).split("\n");
    expect(lines[0]).toMatch(/^2 of 4 runs/);
    expect(lines.filter((line) => line.includes("BROKEN")).map((line) => line.slice(0, 16))).toEqual([
      "after-handler #1",
      "after-handler #2",
    ]);
  });

  test("hands a child process its crash point when this process passes none", async () => {
    const seen: string[] = [];
    await everyCrashPoint(
      async (run) => void seen.push(run.env["ICHIDO_FAULTS"] ?? "none"),
      () => {},
    );
    expect(seen).toEqual(["none", ...faultPoints.map((name) => `${name}:kill:1`)]);
  });

  test("bounds the passings of one point", async () => {
    const { verdicts } = await everyCrashPoint(
      async ({ faults }) => {
        for (let count = 0; count < 50; count += 1) void faults("before-renew");
      },
      () => {},
      { nthMax: 2 },
    );
    expect(verdicts).toHaveLength(3);
  });
});
