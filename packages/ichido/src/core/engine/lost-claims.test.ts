import { describe, expect, it } from "vitest";
import { answer, bed, copying, executionOf, problemIn, type Bed } from "../../../../../test/support/engine-bed.ts";
import { limits } from "../contract/defaults.ts";
import { createLostClaims } from "./lost-claims.ts";
import type { Identity, OwnerToken } from "../contract/record.ts";
import type { Environment } from "../contract/environment.ts";
import { sentAgain } from "../record-machine/claim.ts";
import type { ClaimRequest, Store, StoredRecord } from "../contract/store.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { fakeClock } from "../../testing/clock.ts";

async function recordIn({ store }: Bed): Promise<StoredRecord | undefined> {
  return (await store.list({ limit: 1 })).records[0];
}

async function recordOf({ store }: Bed, key = "key-1"): Promise<StoredRecord | undefined> {
  return (await store.list({ key, limit: 1 })).records[0];
}

/** Long enough for all looks. */
const minuteMs = 60_000;

/** A memory store whose driver sends a claim again while the first copy of it is still on its way. */
function resending({ nowMs, environment }: { nowMs: () => number; environment: Environment }) {
  const store = memoryStore({ nowMs, environment });
  const late: (() => Promise<unknown>)[] = [];
  const owners: string[] = [];
  const claim: Store["claim"] = async (request) => {
    owners.push(request.owner);
    if (owners.length === 1) return store.claim(request);
    late.push(() => store.claim(request));
    return sentAgain(await store.claim(request));
  };
  return { store: { ...store, claim }, late, owners };
}

const notVisibleYet = () => ({ verdict: "not-visible-yet" }) as const;

describe("a copy of a claim that a driver sent again", () => {
  it("is given back where it is granted after the other one was refused", async () => {
    let driver: ReturnType<typeof resending> | undefined;
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" }, (clock) => (driver = resending(clock)).store);
    const first = executionOf(await all.ask());
    expect(problemIn(await all.ask())).toMatchObject({ code: "idempotency-in-flight" });
    await answer(first, { status: 429 });
    await driver?.late[0]?.();
    expect(await recordIn(all)).toMatchObject({ state: "processing", attempts: 2 });
    await all.clock.advance(minuteMs / 2);
    expect(await recordIn(all)).toMatchObject({ state: "failed", attempts: 2 });
  });

  it("is given back also where the handler would have run without the store", async () => {
    let driver: ReturnType<typeof resending> | undefined;
    const route = { dangerouslyRunWithoutStore: true };
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" }, (clock) => (driver = resending(clock)).store);
    const elsewhere = bed({ leaseMs: 60_000, onUnknown: "hold" }, () => driver?.store ?? expect.unreachable());
    // Both make the same owners, one after the other.
    executionOf(await all.ask({ key: "key-2" }));
    const first = executionOf(await elsewhere.ask());
    expect(problemIn(await all.ask({ route }))).toMatchObject({ code: "idempotency-in-flight" });
    await answer(first, { status: 429 });
    await driver?.late[1]?.();
    expect(await recordOf(all)).toMatchObject({ state: "processing", attempts: 2 });
    await all.clock.advance(minuteMs / 2);
    expect(await recordOf(all)).toMatchObject({ state: "failed", attempts: 2 });
  });

  it.each(["hold", "rerun"] as const)(
    "is given back where it takes what the other one's attempt released: %s",
    async (onUnknown) => {
      const { make, copies } = copying();
      const all = bed({ leaseMs: 60_000, onUnknown }, make);
      await answer(executionOf(await all.ask()), { status: 429 });
      await copies[0]?.();
      expect(await recordIn(all)).toMatchObject({ state: "processing", attempts: 2 });
      await all.clock.advance(minuteMs / 2);
      expect(await recordIn(all)).toMatchObject({ state: "failed", attempts: 2 });
      expect(executionOf(await all.ask()).context.attempt).toBe(3);
    },
  );

  it("is given back where it takes what was completed, and whose retention is over", async () => {
    const { make, copies } = copying();
    const all = bed({ leaseMs: 60_000, retentionMs: 1_000, onUnknown: "hold" }, make);
    await all.clock.advance(minuteMs);
    await answer(executionOf(await all.ask()));
    await all.clock.advance(2_000);
    await copies[0]?.();
    expect(await recordIn(all)).toMatchObject({ state: "processing", attempts: 1 });
    await all.clock.advance(minuteMs / 2);
    expect(await recordIn(all)).not.toMatchObject({ state: "processing" });
    expect((await all.ask()).kind).toBe("execute");
  });

  it.each(["verify", "rerun"] as const)(
    "does not bring the lease of what was left open to life again: %s",
    async (kind) => {
      const { make, copies } = copying();
      const onUnknown = kind === "rerun" ? kind : { verify: notVisibleYet };
      const all = bed({ leaseMs: 60_000, onUnknown }, make);
      const execution = executionOf(await all.ask());
      const fails = (): never => {
        throw new Error("no answer");
      };
      if (kind === "rerun") await execution.context.step("bank.charge", fails).catch(() => undefined);
      await execution.settle({ kind: "threw", error: new Error("boom") });
      await copies[0]?.();
      await all.clock.advance(minuteMs / 2);
      expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: 0 });
    },
  );

  it("does not bring the lease of a takeover that ran nothing to life again", async () => {
    const { make, copies } = copying();
    const all = bed({ leaseMs: 60_000, onUnknown: { verify: notVisibleYet } }, make);
    executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(62_000);
    all.store.mend();
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    await copies[1]?.();
    await all.clock.advance(minuteMs / 2);
    expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: 0 });
  });

  it("leaves in doubt what ran, and whose outcome is not known", async () => {
    const all = bed({ leaseMs: 60_000, executionMs: 2_000, onUnknown: "hold" }, copying().make);
    executionOf(await all.ask());
    await all.clock.advance(30_000);
    expect(await recordIn(all)).toMatchObject({ state: "unknown", attempts: 1 });
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
  });

  it("does not give back what the next question of the same caller was granted", async () => {
    let driver: ReturnType<typeof resending> | undefined;
    const all = bed({ leaseMs: 60_000, inFlight: { waitMs: 20_000 } }, (clock) => (driver = resending(clock)).store);
    const first = executionOf(await all.ask());
    const waiting = all.ask();
    await all.clock.advance(100);
    await answer(first, { status: 429 });
    await all.clock.advance(1_000);
    executionOf(await waiting);
    expect(new Set(driver?.owners).size).toBe(driver?.owners.length);
    await all.clock.advance(minuteMs / 2);
    expect(await recordIn(all)).toMatchObject({ state: "processing", attempts: 2 });
  });
});

describe("a claim that was granted and whose answer was lost", () => {
  it("is given back: under hold nobody must decide about nothing", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    all.store.break("claim", "lose", 1);
    expect(problemIn(await all.ask())).toMatchObject({ status: 503 });
    expect(await recordIn(all)).toMatchObject({ state: "processing" });
    await all.clock.advance(1_000);
    expect(await recordIn(all)).toMatchObject({ state: "failed" });
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it("is given back before the retry claims, without waiting for anything", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    all.store.break("claim", "lose", 1);
    await all.ask();
    const retries = await Promise.all([all.ask(), all.ask(), all.ask()]);
    expect(retries.filter(({ kind }) => kind === "execute")).toHaveLength(1);
  });

  it("is given back however often the answers of giving it back are lost", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    all.store.break("claim", "lose", 1);
    all.store.break("find", "fail", 2);
    all.store.break("release", "lose", 2);
    await all.ask();
    await all.clock.advance(minuteMs);
    all.store.mend();
    expect(await recordIn(all)).toMatchObject({ state: "failed" });
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it("is given back also where the store's clock went back so far meanwhile that its lease has become absurd", async () => {
    let backMs = 0;
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" }, ({ nowMs, environment }) =>
      memoryStore({ nowMs: () => nowMs() - backMs, environment }),
    );
    all.store.break("claim", "lose", 1);
    await all.ask();
    backMs = 10 * minuteMs;
    expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: -1 });
    await all.clock.advance(minuteMs);
    expect(await recordIn(all)).toMatchObject({ state: "failed" });
  });

  it("is given back without another claim, a copy of which might come when nobody looks any more", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    all.store.break("claim", "lose", 1);
    await all.ask();
    await all.clock.advance(minuteMs);
    expect(all.store.calls.filter((verb) => verb === "claim")).toHaveLength(1);
    expect(await recordIn(all)).toMatchObject({ state: "failed" });
  });

  it("a takeover is given back as what it took: in doubt", async () => {
    const asked: number[] = [];
    const verify = (): { verdict: "not-visible-yet" } => {
      asked.push(all.clock.nowMs());
      return { verdict: "not-visible-yet" };
    };
    const all = bed({ leaseMs: 1_000, onUnknown: { verify } });
    executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    all.store.break("claim", "lose", 1);
    expect(problemIn(await all.ask())).toMatchObject({ status: 503 });
    await all.clock.advance(200);
    expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: 0, attempts: 2 });
    expect(asked).toEqual([]);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    expect(asked).toHaveLength(1);
    const calls = all.store.calls.filter((verb) => verb === "suspend").length;
    await all.clock.advance(minuteMs);
    expect(all.store.calls.filter((verb) => verb === "suspend")).toHaveLength(calls);
  });

  it("a takeover that ran nothing is given back, in doubt, where that could not be done at once", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: { verify: notVisibleYet } });
    executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(62_000);
    all.store.mend();
    all.store.break("suspend", "fail", 1);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    await all.clock.advance(10_000);
    expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: 0 });
  });

  it("is given back, in doubt, also in a store that does not tell how its owner came by it", async () => {
    const all = bed({ leaseMs: 60_000 }, (clock) => {
      const store = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
      const find: Store["find"] = async (identity) => {
        const { origin: _untold, ...record } = (await store.find(identity)) ?? {};
        return "identity" in record ? (record as StoredRecord) : undefined;
      };
      return { ...store, find };
    });
    all.store.break("claim", "lose", 1);
    await all.ask();
    await all.clock.advance(200);
    expect(await recordIn(all)).toMatchObject({ state: "unknown", leaseLeftMs: 0 });
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it("another attempt's record is not touched", async () => {
    const all = bed({ onUnknown: "hold" });
    const first = executionOf(await all.ask());
    all.store.break("claim", "lose", 1);
    await all.ask();
    await all.clock.advance(minuteMs);
    expect(await recordIn(all)).toMatchObject({ state: "processing", attempts: 1 });
    await answer(first);
    expect((await all.ask()).kind).toBe("replay");
  });

  it("while it is looked for, an outcome of this process comes up that the store cannot take: it goes first", async () => {
    const all = bed({ leaseMs: 1_000 });
    const first = executionOf(await all.ask());
    all.store.break("claim", "lose", 1);
    await all.ask();
    all.store.break("find", "late", 1);
    const retry = all.ask();
    all.store.break("complete", "fail");
    all.store.break("renew", "fail");
    await answer(first);
    await all.clock.advance(3_000);
    all.store.arrive();
    expect(problemIn(await retry)).toMatchObject({ code: "idempotency-in-flight" });
    all.store.mend();
    await all.clock.advance(3_000);
    expect((await all.ask()).kind).toBe("replay");
  });

  it("is left in doubt where the handler runs without the store: something did happen", async () => {
    const all = bed({ leaseMs: 1_000, onUnknown: "hold" });
    const route = { dangerouslyRunWithoutStore: true };
    all.store.break("claim", "lose", 1);
    expect((await all.ask({ route })).kind).toBe("pass");
    await all.clock.advance(minuteMs);
    expect(problemIn(await all.ask({ route }))).toMatchObject({ code: "outcome-unknown" });
  });

  it("is given back where the handler would run without the store, but a duplicate only waits", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    const route = { dangerouslyRunWithoutStore: true, inFlight: { waitMs: 1_000 } };
    const first = executionOf(await all.ask({ route }));
    const second = all.ask({ route });
    await all.clock.advance(1);
    all.store.break("claim", "lose", 1);
    first.context.release();
    await answer(first);
    await all.clock.advance(2_000);
    expect(executionOf(await second).context.attempt).toBe(3);
  });

  it("is given back also where many asked at once, and the first of them was granted", async () => {
    const all = bed({ leaseMs: 60_000, onUnknown: "hold" });
    all.store.break("claim", "lose");
    await Promise.all(Array.from({ length: 150 }, () => all.ask()));
    all.store.mend();
    await all.clock.advance(1_000);
    expect(await recordIn(all)).toMatchObject({ state: "failed" });
  });

  it("costs a retry no more than the time of one call before it claims, however slow each call is", async () => {
    const all = bed({ storeTimeoutMs: 5_000 });
    all.store.break("claim", "lose", 1);
    await all.ask();
    all.store.break("find", "late", 1);
    const asked = all.ask();
    await all.clock.advance(4_900);
    all.store.break("release", "late");
    all.store.arrive();
    await all.clock.advance(200);
    expect(problemIn(await asked)).toMatchObject({ status: 503, code: "store-unavailable" });
  });

  it("keeps no route from running without the store while it is looked for", async () => {
    const all = bed();
    all.store.break("claim", "lose", 1);
    await all.ask();
    all.store.break("find", "fail");
    all.store.break("claim", "fail");
    expect((await all.ask({ route: { dangerouslyRunWithoutStore: true } })).kind).toBe("pass");
  });

  it("closing ends the looking", async () => {
    const all = bed({ closeMs: 1_000 });
    all.store.break("claim", "lose", 1);
    await all.ask();
    const closing = all.ichido.close();
    await all.clock.advance(1);
    await closing;
    const calls = all.store.calls.length;
    await all.clock.advance(minuteMs);
    expect(all.store.calls).toHaveLength(calls);
  });
});

describe("an engine that was closed", () => {
  it("does not look for a claim that fails afterwards", async () => {
    const all = bed({ closeMs: 100 });
    all.store.break("claim", "hang", 1);
    const asked = all.ask();
    await all.clock.advance(1);
    const closing = all.ichido.close();
    await all.clock.advance(1_000);
    await closing;
    await all.clock.advance(10_000);
    expect(problemIn(await asked)).toMatchObject({ status: 503 });
    const calls = all.store.calls.length;
    await all.clock.advance(minuteMs);
    expect(all.store.calls).toHaveLength(calls);
  });

  it("claims nothing after a look that was under way", async () => {
    const all = bed({ closeMs: 100 });
    all.store.break("claim", "lose", 1);
    await all.ask();
    all.store.break("find", "late", 1);
    const asked = all.ask();
    await all.clock.advance(1);
    const closing = all.ichido.close();
    await all.clock.advance(1_000);
    await closing;
    const before = all.store.calls.length;
    all.store.arrive();
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
    expect(all.store.calls.slice(before)).toEqual(["resources"]);
  });
});

describe("looking for lost claims", () => {
  const scopeHash = new Uint8Array(32);
  const requestOf = (key: string, owner = key): ClaimRequest =>
    ({ identity: { key, operation: "o", scopeHash }, owner: owner as OwnerToken }) as unknown as ClaimRequest;

  it("goes on while nothing is there: the claim may arrive late", async () => {
    const clock = fakeClock();
    let record: Partial<StoredRecord> | undefined;
    const givenBack: string[] = [];
    const lost = createLostClaims({
      environment: clock.environment,
      find: async () => record as StoredRecord | undefined,
      giveBack: async ({ owner }) => void givenBack.push(owner),
    });
    lost.add(requestOf("key-1", "a"));
    lost.add(requestOf("key-1", "b"));
    await clock.advance(10_000);
    record = { state: "processing", owner: "b" as OwnerToken, origin: "new", leaseLeftMs: 20_000 };
    await clock.advance(minuteMs);
    expect(givenBack.length).toBeGreaterThan(0);
    expect(new Set(givenBack)).toEqual(new Set(["b"]));
  });

  it("is bounded in number", () => {
    const { environment } = fakeClock();
    const looking: string[] = [];
    const find = async ({ key }: Identity): Promise<undefined> => void looking.push(key);
    const lost = createLostClaims({ environment, find, giveBack: async () => undefined });
    for (let each = 0; each <= limits.lateWritesMax; each += 1) lost.add(requestOf(`key-${each}`));
    expect(lost.look(requestOf("key-1").identity)).toBeDefined();
    expect(lost.look(requestOf(`key-${limits.lateWritesMax}`).identity)).toBeUndefined();
    expect(looking).toEqual(["key-1"]);
    lost.stop();
  });

  it("is bounded in number for one key too: the newest claims are the likeliest to be there", async () => {
    const clock = fakeClock();
    const givenBack: string[] = [];
    const owners = Array.from({ length: limits.lateWritesMax + 1 }, (_, each) => `owner-${each}`);
    let owner = owners[0];
    const lost = createLostClaims({
      environment: clock.environment,
      find: async () => ({ state: "processing", owner, origin: "new", leaseLeftMs: 1 }) as StoredRecord,
      giveBack: async (claim) => void givenBack.push(claim.owner),
    });
    for (const each of owners) lost.add(requestOf("key-1", each));
    await lost.look(requestOf("key-1").identity);
    owner = owners.at(-1);
    await lost.look(requestOf("key-1").identity);
    expect(givenBack).toEqual([owner]);
    lost.stop();
  });

  it("makes room again once its looks are over, however many claims were given up meanwhile", async () => {
    const clock = fakeClock();
    const find = async (): Promise<undefined> => undefined;
    const lost = createLostClaims({ environment: clock.environment, find, giveBack: async () => undefined });
    for (let each = 0; each < limits.lateWritesMax + 10; each += 1) lost.add(requestOf("key-1", `owner-${each}`));
    await clock.advance(2 * minuteMs);
    for (let each = 1; each < limits.lateWritesMax; each += 1) lost.add(requestOf("key-2", `owner-${each}`));
    lost.add(requestOf("key-3"));
    expect(lost.look(requestOf("key-3").identity)).toBeDefined();
    lost.stop();
  });

  it("asks a store that is slow, or comes back, about few keys at a time, and about each in the end", async () => {
    const clock = fakeClock();
    const asked = new Set<string>();
    const answers: (() => void)[] = [];
    const find = ({ key }: Identity): Promise<undefined> =>
      new Promise((resolve) => {
        asked.add(key);
        answers.push(() => resolve(undefined));
      });
    const lost = createLostClaims({ environment: clock.environment, find, giveBack: async () => undefined });
    for (let each = 0; each < 100; each += 1) lost.add(requestOf(`key-${each}`));
    await clock.advance(1_000);
    expect(answers).toHaveLength(4);
    while (asked.size < 100) {
      const before = asked.size;
      answers.shift()?.();
      await clock.advance(1);
      expect(answers).toHaveLength(4);
      expect(asked.size).toBeLessThanOrEqual(before + 1);
    }
    lost.stop();
  });

  it("stops also while it looks", async () => {
    const clock = fakeClock();
    const found = Promise.withResolvers<undefined>();
    const find = (): Promise<undefined> => found.promise;
    const lost = createLostClaims({ environment: clock.environment, find, giveBack: async () => undefined });
    lost.add(requestOf("key-1"));
    await clock.advance(1_000);
    lost.stop();
    found.resolve(undefined);
    await clock.advance(1);
    expect(clock.pending).toBe(0);
  });

  it("is bounded in time, also where the store never comes back", async () => {
    const clock = fakeClock();
    let looks = 0;
    const find = async (): Promise<undefined> => {
      looks += 1;
      throw new Error("away");
    };
    const lost = createLostClaims({ environment: clock.environment, find, giveBack: async () => undefined });
    lost.add(requestOf("key-1"));
    await clock.advance(minuteMs / 2);
    expect(looks).toBeLessThan(10);
    await clock.advance(1.5 * minuteMs);
    expect(looks).toBe(10);
    expect(clock.pending).toBe(0);
    expect(lost.look(requestOf("key-1").identity)).toBeUndefined();
  });
});
