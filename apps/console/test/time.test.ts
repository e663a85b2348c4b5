import "./browser-globals.ts";
import { expect, test } from "vitest";

const { clock, duration, exact, relative } = await import("../src/time.ts");

const nowMs = Date.parse("2026-11-18T14:05:11.204Z");

test.each([
  [0, "0 ms"],
  [830, "830 ms"],
  [1_104, "1.1 s"],
  [59_400, "59 s"],
  [125_000, "2 min 5 s"],
  [3 * 3_600_000, "3 h"],
  [26 * 3_600_000, "1 d 2 h"],
  [12 * 86_400_000 + 3_600_000, "12 d"],
])("%d ms is %s", (ms, shown) => {
  expect(duration(ms, "en")).toBe(shown);
});

test("a time is relative and exact, in both languages", () => {
  expect(duration(125_000, "ja")).toBe("2 分 5 秒");
  expect(relative(nowMs - 180_000, nowMs, "en")).toBe("3m ago");
  expect(relative(nowMs - 180_000, nowMs, "ja")).toBe("3分前");
  expect(relative(nowMs - 300, nowMs, "en")).toBe("now");
  expect(relative(nowMs + 7_200_000, nowMs, "en")).toBe("in 2h");
  expect(exact(nowMs, "utc")).toBe("2026-11-18 14:05:11.204 UTC");
  expect(clock(nowMs - 60_000, nowMs, "utc")).toBe("14:04:11");
  expect(clock(nowMs - 86_400_000, nowMs, "utc")).toBe("2026-11-17 14:05:11");
});
