import { expect, test } from "vitest";
import type { IchidoEvent, RequestOutcome } from "../core/contract/events.ts";
import { createTrafficRing, minuteMs, Minutes } from "./traffic-ring.ts";

const request = (outcome: RequestOutcome, more: { readonly leftOpen?: true } = {}): IchidoEvent => ({
  type: "request",
  operation: "pay",
  outcome,
  observed: false,
  status: 200,
  durationMs: 1,
  ...more,
});

test("requests are counted by the minute and by what became of them; minutes without any are zero", () => {
  let nowMs = 10 * minuteMs;
  const ring = createTrafficRing(() => nowMs);
  for (const outcome of ["executed", "replayed", "replayed_after_wait", "key_reused", "outcome_unknown"] as const)
    ring.hear(request(outcome));
  ring.hear(request("executed", { leftOpen: true }));
  ring.hear(request("bypassed"));
  ring.hear({ type: "sweep", deleted: 1, guarded: false });
  nowMs += 2 * minuteMs;
  ring.hear(request("store_error"));
  const at = (minute: number) => ({ at: new Date(minute * minuteMs).toISOString() });
  const none = { executed: 0, replayed: 0, refused: 0, unknown: 0, failed: 0 };
  expect(ring.minutes()).toEqual([
    { ...none, ...at(10), executed: 1, replayed: 2, refused: 1, unknown: 2 },
    { ...none, ...at(11) },
    { ...none, ...at(12), failed: 1 },
  ]);
});

test("a day is kept, however long it goes on", () => {
  const minutes = new Minutes();
  for (let minute = 0; minute < 5_000; minute += 1) minutes.add(minute * minuteMs, "executed");
  const kept = minutes.between(0, 5_000 * minuteMs - 1);
  expect([kept.length, kept.every(({ executed }) => executed === 1)]).toEqual([1_440, true]);
  expect(minutes.between(0, 3_000 * minuteMs).some(({ executed }) => executed > 0)).toBe(false);
});
