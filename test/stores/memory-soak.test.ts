import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";

/** Without a bound a million records would need about 1.7 GB: the child would die of this heap. */
const heapMb = 256;
const growthBytesMax = 4 * 1_048_576;

interface Report {
  readonly keys: number;
  readonly recordsMax: number;
  readonly refusal: Readonly<Record<"granted" | "full" | "replayed" | "live" | "wrong" | "bytesPerRecord", number>> & {
    readonly used: readonly number[];
  };
  readonly turnover: Readonly<Record<"granted" | "full" | "records", number>> & { readonly used: readonly number[] };
}

function growthOverLastHalf(used: readonly number[]): number {
  const half = used.slice(used.length / 2);
  return Math.max(...half) - (half[0] ?? Number.NaN);
}

describe("memory store under a million keys", () => {
  let report: Report;

  beforeAll(async () => {
    const child = fileURLToPath(new URL("memory-soak.child.ts", import.meta.url));
    const flags = ["--conditions=ichido-source", "--expose-gc", `--max-old-space-size=${heapMb}`];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, child], { timeout: 170_000 });
    report = JSON.parse(stdout) as Report;
  }, 180_000);

  it("S14 refuses every new key past the bound", () => {
    expect(report.refusal.granted).toBe(report.recordsMax);
    expect(report.refusal.full).toBe(report.keys - report.recordsMax);
    expect(report.refusal.wrong).toBe(0);
  });

  it("S14 keeps every live record and replays every answer after 950 000 refusals", () => {
    expect(report.refusal.live).toBe(report.recordsMax / 10);
    expect(report.refusal.replayed).toBe(report.recordsMax - report.recordsMax / 10);
  });

  it("S14 does not grow over the last half of the keys", () => {
    expect(report.refusal.used.length).toBeGreaterThanOrEqual(8);
    expect(growthOverLastHalf(report.refusal.used)).toBeLessThan(growthBytesMax);
  });

  it("S14 a full store goes on taking keys at a constant size as old answers expire", () => {
    expect(report.turnover.full).toBe(0);
    expect(report.turnover.granted).toBe(report.keys / 4);
    expect(report.turnover.records).toBe(report.recordsMax);
    expect(growthOverLastHalf(report.turnover.used)).toBeLessThan(growthBytesMax);
  });

  it("S14 the default bounds agree: 100 000 ordinary records fit into 256 MiB", () => {
    expect(report.refusal.bytesPerRecord * 100_000).toBeLessThan(256 * 1_048_576);
  });
});
