import { describe, expect, it } from "vitest";
import { durationOf, momentOf, shownBytes, shownDuration, shownMoment, wholeNumberOf } from "./times.ts";

describe("times", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_000, "1 s"],
    [61_000, "1 m 1 s"],
    [3_600_000, "1 h"],
    [7_500_000, "2 h 5 m"],
    [86_400_000 * 3 + 5_000, "3 d"],
    [-5, "0 ms"],
  ])("%i ms are told as %s", (ms, text) => {
    expect(shownDuration(ms)).toBe(text);
  });

  it("one unit is enough where there is little room", () => {
    expect(shownDuration(7_500_000, 1)).toBe("2 h");
  });

  it("reads what people type, and refuses the rest by the name of the option", () => {
    expect([durationOf("--since", "2h"), durationOf("--since", "30s")]).toEqual([7_200_000, 30_000]);
    for (const text of ["2", "h", "-1h", "1w", "", "1.5h"])
      expect(() => durationOf("--since", text)).toThrow(/^--since: expected/);
    expect(wholeNumberOf("--limit", "7", 1, 10)).toBe(7);
    for (const text of ["0", "11", "1e3", "0x1", " 7", ""])
      expect(() => wholeNumberOf("--limit", text, 1, 10)).toThrow(/--limit/);
  });

  it("a time of day is of today, in UTC", () => {
    const nowMs = Date.parse("2026-11-18T15:00:00Z");
    expect(momentOf("--at", "14:05", nowMs)).toBe(Date.parse("2026-11-18T14:05:00Z"));
    expect(momentOf("--at", "2026-11-17T14:05", nowMs)).toBe(Date.parse("2026-11-17T14:05:00Z"));
    expect(momentOf("--at", "2026-11-17T14:05+09:00", nowMs)).toBe(Date.parse("2026-11-17T05:05:00Z"));
    for (const text of ["2pm", "25:99", "1794994294520", ""])
      expect(() => momentOf("--at", text, nowMs)).toThrow(/--at/);
    expect(shownMoment(nowMs - 61_000, nowMs)).toBe("2026-11-18T14:58:59Z (1 m 1 s ago)");
    expect(shownMoment(nowMs + 2_000, nowMs)).toBe("2026-11-18T15:00:02Z (in 2 s)");
  });

  it("bytes have a unit that people read", () => {
    expect([0, 1_023, 1_024, 1_572_864].map(shownBytes)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 MiB"]);
  });
});
