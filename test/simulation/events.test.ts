/** Histories of outbox, relay and inbox. */
import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const events = (...args: readonly (string | number)[]): Promise<string> => simulate("--part", "events", ...args);

test("1,700 histories of events break nothing that is promised", { timeout: 600_000 }, async () => {
  const told = await events("--seeds", 1_700);
  expect(told).toContain("1700 seeds from 1 ");
  expect(told).not.toMatch(/^seed /m);
});

/** Where the mark of a letter that failed again in other hands was taken for "processed", this one lost an event. */
test("seed 2242 of events: a letter that failed again in other hands is kept", async () => {
  expect(await events("--seeds", 1, "--from", 2_242)).not.toMatch(/^seed /m);
});

/** Where a replay ran and neither the inbox nor a start remembered it, its letter ran again once the record was forgotten. */
test("seed 15573 of events: a replay that ran and could not be noted does not run again", async () => {
  expect(await events("--seeds", 1, "--from", 15_573)).not.toMatch(/^seed /m);
});

/** Where a consumer whose start had gone with a letter ran the event, nothing told of it once its record was forgotten. */
test("seed 7376 of events: nothing redelivered runs without a start", async () => {
  expect(await events("--seeds", 1, "--from", 7_376)).not.toMatch(/^seed /m);
});

/** Where a record was forgotten while deaths were counted, a letter said `crashed` of what had been processed. */
test("seed 2945 of events: a letter whose record may be gone by now says so", async () => {
  expect(await events("--seeds", 1, "--from", 2_945)).not.toMatch(/^seed /m);
});

/** Where whoever could not note a replay that had run asked for it again, its record, which was forgotten by then, let it run. */
test("seed 18522 of events: a replay that ran and could not be noted is only noted", async () => {
  expect(await events("--seeds", 1, "--from", 18_522)).not.toMatch(/^seed /m);
});

/** Where a start that was taken back right after the last look did not count as one that had seemed dead. */
test("seed 465 of events: who is struck and ends late may seem to have died", async () => {
  expect(await events("--seeds", 1, "--from", 465)).not.toMatch(/^seed /m);
});

/** Where a person let go of a letter whose call was still on its way to the outside, this one took effect after it. */
test("seed 1578 of events: nobody discards what is on its way", async () => {
  expect(await events("--seeds", 1, "--from", 1_578)).not.toMatch(/^seed /m);
});

test("a seed of events is the same history again, and drained by the turns of the event loop", async () => {
  const [twice, turns] = await Promise.all([
    events("--seeds", 150, "--all", "--twice"),
    events("--seeds", 60, "--turns"),
  ]);
  expect(twice).toContain("each seed twice the same");
  expect(turns).toContain("the same at once and by turns of the event loop");
});
