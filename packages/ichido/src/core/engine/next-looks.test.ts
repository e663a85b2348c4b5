import { expect, it } from "vitest";
import { fakeClock, type FakeClock } from "../../testing/clock.ts";
import { sampleIdentity } from "../../testing/store-suite/samples.ts";
import type { Key } from "../contract/record.ts";
import { createNextLooks, type NextLooks } from "./next-looks.ts";

const record = { identity: sampleIdentity("a") };
const numbered = (at: number): typeof record => ({ identity: { ...record.identity, key: `${at}` as Key } });

function looksOf(fractionOf = 0): { clock: FakeClock; looks: NextLooks } {
  const clock = fakeClock();
  const randomBytes = (length: number): Uint8Array => new Uint8Array(length).fill(fractionOf * 256, 0, 1);
  const environment = { ...clock.environment, randomBytes };
  return { clock, looks: createNextLooks({ environment, everyMs: 1_000, olderThanMs: 10_000 }) };
}

it("a record on hold is never due", () => {
  const { looks } = looksOf();
  expect(looks.isDue({ ...record, leaseLeftMs: -99_999, holdReason: "a person decides" })).toBe(false);
});

it("a lease that lapsed long enough ago is due at once; a younger one when it has", async () => {
  const { clock, looks } = looksOf();
  expect(looks.isDue({ ...record, leaseLeftMs: -10_000 })).toBe(true);
  expect(looks.isDue({ ...record, leaseLeftMs: -9_999 })).toBe(false);
  await clock.advance(1);
  expect(looks.isDue({ ...record, leaseLeftMs: -10_000 }), "the look that was set counts").toBe(true);
  const other = { identity: sampleIdentity("b") };
  expect(looks.isDue({ ...other, leaseLeftMs: -4_000 })).toBe(false);
  await clock.advance(5_999);
  expect(looks.isDue({ ...other, leaseLeftMs: -99_999 })).toBe(false);
  await clock.advance(1);
  expect(looks.isDue(other)).toBe(true);
});

it("a lease that its owner ended is due so long after it was first seen", async () => {
  const { clock, looks } = looksOf();
  expect(looks.isDue(record)).toBe(false);
  await clock.advance(9_999);
  expect(looks.isDue(record)).toBe(false);
  await clock.advance(1);
  expect(looks.isDue(record)).toBe(true);
});

it.each([
  [0, 0.5],
  [0.5, 0.75],
])(
  "what is not visible yet is due after twice as long each time, at most 64 times, jittered (%d)",
  async (drawn, share) => {
    const { clock, looks } = looksOf(drawn);
    for (const factor of [1, 2, 4, 8, 16, 32, 64, 64, 64]) {
      looks.postpone(record, 1e9);
      const pauseMs = 1_000 * factor * share;
      await clock.advance(pauseMs - 1);
      expect(looks.isDue(record), `${factor}`).toBe(false);
      await clock.advance(1);
      expect(looks.isDue(record), `${factor}`).toBe(true);
    }
  },
);

it("a look is not put off beyond the end of patience", async () => {
  const { clock, looks } = looksOf();
  looks.postpone(record, 300);
  await clock.advance(299);
  expect(looks.isDue(record)).toBe(false);
  await clock.advance(1);
  expect(looks.isDue(record)).toBe(true);
});

it("a record that is decided begins anew, one that was not seen for very long too", async () => {
  const { clock, looks } = looksOf();
  looks.postpone(record, 1e9);
  looks.forget(record);
  expect(looks.isDue({ ...record, leaseLeftMs: -10_000 }), "nothing is remembered of it").toBe(true);
  for (let at = 0; at < 3; at += 1) looks.postpone(record, 1e9);
  await clock.advance(2_000 + 64_000);
  looks.forgetOld();
  looks.postpone(record, 1e9);
  await clock.advance(4_000);
  expect(looks.isDue(record), "still known: a pause of 8 seconds, halved").toBe(true);
  await clock.advance(64_001);
  looks.forgetOld();
  looks.postpone(record, 1e9);
  await clock.advance(500);
  expect(looks.isDue(record), "forgotten: the first pause").toBe(true);
});

it("looks are remembered for so many records; the others are seen as new, those known go on", async () => {
  const { clock, looks } = looksOf();
  for (let at = 0; at < 10_000; at += 1) looks.postpone(numbered(at), 1e9);
  const beyond = { identity: sampleIdentity("beyond") };
  looks.postpone(beyond, 1e9);
  expect(looks.isDue({ ...beyond, leaseLeftMs: -10_000 }), "there was no room").toBe(true);
  const known = numbered(7);
  looks.postpone(known, 1e9);
  await clock.advance(999);
  expect(looks.isDue({ ...known, leaseLeftMs: -10_000 })).toBe(false);
  await clock.advance(1);
  expect(looks.isDue(known)).toBe(true);
});
