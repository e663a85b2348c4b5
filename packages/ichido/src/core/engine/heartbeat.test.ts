import { expect, it } from "vitest";
import { fakeClock } from "../../testing/clock.ts";
import { limits } from "../contract/defaults.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import type { Renewed, RenewRequest } from "../contract/store.ts";
import { sampleIdentity, sampleOwner } from "../../testing/store-suite/samples.ts";
import { createHeartbeat, type LiveClaim } from "./heartbeat.ts";

/** A process that stood still: its clock went on, its timers are due and have not run. */
function stoodStill() {
  let nowMs = 0;
  const timers = new Map<Timer, { readonly dueMs: number; readonly run: () => void }>();
  const environment: Environment = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    randomBytes: (length) => new Uint8Array(length),
    after(delayMs, run) {
      const timer: Timer = { cancel: () => void timers.delete(timer) };
      timers.set(timer, { dueMs: nowMs + delayMs, run });
      return timer;
    },
  };
  return {
    environment,
    standStill: (forMs: number) => void (nowMs += forMs),
    runDue: () => {
      for (const [timer, { dueMs, run }] of timers) if (dueMs <= nowMs && timers.delete(timer)) run();
    },
  };
}

function claimOf(key: string, confirmedMs: number, lost: string[]): LiveClaim {
  return {
    renewal: { identity: sampleIdentity(key), owner: sampleOwner(key), fence: 1, leaseMs: 1_000 },
    confirmedMs,
    holder: { holdsRecord: false },
    dueMs: confirmedMs,
    startedMs: 0,
    lose: (reason) => void lost.push(`${key} ${reason}`),
    lost: false,
    renewing: false,
    isLive: false,
  } as LiveClaim;
}

it("a lease that ran out while the process stood still is lost at once, whatever is claimed in the same moment", () => {
  const { environment, standStill, runDue } = stoodStill();
  const calls = { renew: () => new Promise<never>(() => undefined) };
  const heartbeat = createHeartbeat({ calls, environment, executionMs: 60_000 });
  const lost: string[] = [];
  heartbeat.add(claimOf("first", 0, lost));
  standStill(5_000);
  // The answer to a claim that was sent earlier is read before the timers are.
  heartbeat.add(claimOf("second", -100, lost));
  runDue();
  expect(lost).toEqual(["first unreachable", "second unreachable"]);
});

/** A store that tells every renewal the same. */
function renewalsThatAre(answer: "locked" | "stale") {
  const clock = fakeClock();
  const sentMs: number[] = [];
  const calls = {
    renew: async (requests: readonly unknown[]) => {
      sentMs.push(clock.environment.monotonicMs());
      return requests.map(() => answer);
    },
  };
  const heartbeat = createHeartbeat({ calls, environment: clock.environment, executionMs: 60_000 });
  return { clock, sentMs, heartbeat };
}

it("S5 a lease that could not be moved is not trusted for longer, and is tried again soon", async () => {
  const { clock, sentMs, heartbeat } = renewalsThatAre("locked");
  const lost: string[] = [];
  heartbeat.add(claimOf("locked", clock.environment.monotonicMs(), lost));
  await clock.advance(790);
  expect(lost).toEqual([]);
  expect(sentMs.length).toBeGreaterThan(5);
  expect(sentMs.length).toBeLessThan(15);
  await clock.advance(20);
  expect(lost).toEqual(["locked unreachable"]);
});

it("the lease of who holds the record in a transaction of its own is trusted as long as that goes on", async () => {
  const { clock, heartbeat } = renewalsThatAre("locked");
  const lost: string[] = [];
  const holder = { holdsRecord: true };
  heartbeat.add({ ...claimOf("own", clock.environment.monotonicMs(), lost), holder });
  await clock.advance(5_000);
  expect(lost).toEqual([]);
  holder.holdsRecord = false;
  await clock.advance(1_500);
  expect(lost).toEqual(["own unreachable"]);
});

it("an attempt whose own transaction has just completed the record has not lost it", async () => {
  const { clock, sentMs, heartbeat } = renewalsThatAre("stale");
  const lost: string[] = [];
  const holder = { holdsRecord: true };
  heartbeat.add({ ...claimOf("own", clock.environment.monotonicMs(), lost), holder });
  await clock.advance(400);
  expect(sentMs).toHaveLength(1);
  expect(lost).toEqual([]);
  holder.holdsRecord = false;
  await clock.advance(400);
  expect(lost).toEqual(["own stale"]);
});

/** A store whose answers to renewals are given by hand. */
function renewalsByHand() {
  const clock = fakeClock();
  const sent: { readonly keys: readonly string[]; readonly timeoutMs: number; tell(answer: Renewed): void }[] = [];
  const calls = {
    renew: (requests: readonly RenewRequest[], timeoutMs: number) =>
      new Promise<readonly Renewed[]>((resolve) => {
        const keys = requests.map(({ identity }) => identity.key);
        sent.push({ keys, timeoutMs, tell: (answer) => resolve(requests.map(() => answer)) });
      }),
  };
  const heartbeat = createHeartbeat({ calls, environment: clock.environment, executionMs: 60_000 });
  return { clock, sent, heartbeat };
}

it("a claim whose renewal is under way is not renewed beside it, and is again once that has ended", async () => {
  const { clock, sent, heartbeat } = renewalsByHand();
  heartbeat.add(claimOf("first", 0, []));
  await clock.advance(400);
  heartbeat.add(claimOf("second", 400, []));
  await clock.advance(400);
  expect(sent.map(({ keys }) => keys)).toEqual([["first"], ["second"]]);
  expect(sent[0]?.timeoutMs, "until the next one would be due").toBeCloseTo(1_000 / 3);
  sent[0]?.tell("ok");
  await clock.advance(10);
  expect(sent.map(({ keys }) => keys)).toEqual([["first"], ["second"], ["first"]]);
});

it("a claim that ended while it was renewed has lost nothing, whatever the store says of it then", async () => {
  const { clock, sent, heartbeat } = renewalsByHand();
  const lost: string[] = [];
  const claim = claimOf("ended", 0, lost);
  heartbeat.add(claim);
  await clock.advance(400);
  heartbeat.remove(claim);
  sent[0]?.tell("stale");
  await clock.advance(5_000);
  expect(lost).toEqual([]);
  expect(heartbeat.size).toBe(0);
});

it("one call renews no more claims than its bound; the others go beside it", async () => {
  const { clock, sent, heartbeat } = renewalsByHand();
  for (let each = 0; each <= limits.renewBatchMax; each += 1) heartbeat.add(claimOf(`key-${each}`, 0, []));
  await clock.advance(400);
  expect(sent.map(({ keys }) => keys.length)).toEqual([limits.renewBatchMax, 1]);
});

it("nothing is renewed or lost after its stop, not even by a renewal that was under way", async () => {
  const { clock, sent, heartbeat } = renewalsByHand();
  const lost: string[] = [];
  heartbeat.add(claimOf("key", 0, lost));
  await clock.advance(400);
  heartbeat.stop();
  sent[0]?.tell("ok");
  await clock.advance(5_000);
  expect([sent.length, lost, clock.pending]).toEqual([1, [], 0]);
});
