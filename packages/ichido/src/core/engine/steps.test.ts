import { describe, expect, it, vi } from "vitest";
import { providedBy } from "../../testing/provided-by.ts";
import {
  bed,
  executionOf,
  problemIn,
  responseOf,
  answer,
  textOf,
  headerIn,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { FakeClock } from "../../testing/clock.ts";
import type { HandlerOutcome } from "../contract/decision.ts";
import type { EngineNoteText } from "../contract/engine-note.ts";
import type { StepOptions } from "../contract/options.ts";
import { providerProfiles, stepOptionsFor } from "../contract/provider-profiles.ts";
import { settle } from "./settlement.ts";
import type { Store } from "../contract/store.ts";

/** The process that runs the attempt dies: its heartbeats end and nothing more is written by it. */
async function die({ store, clock }: Bed): Promise<void> {
  store.break("renew", "fail");
  await clock.advance(2_000);
  store.mend();
}

describe("steps", () => {
  it("records start and result; a later attempt gets the result and does not call again", async () => {
    const all = bed({ leaseMs: 1_000 });
    let calls = 0;
    const charge = async (): Promise<{ id: string }> => ({ id: `ch-${(calls += 1)}` });
    const first = executionOf(await all.ask());
    expect(await first.context.step("bank.charge", charge)).toEqual({ id: "ch-1" });
    await first.settle({ kind: "threw", error: new Error("died after the step") });
    const second = executionOf(await all.ask());
    expect(second.context.attempt).toBe(2);
    expect(await second.context.step("bank.charge", charge)).toEqual({ id: "ch-1" });
    expect(calls).toBe(1);
  });

  it("I7 whoever is told by a step to stop is told by the signal, too, before another may have the key", async () => {
    const open = bed({ leaseMs: 1_000, onUnknown: "hold" });
    const first = executionOf(await open.ask());
    await first.context.step("bank.charge", () => Promise.reject(new Error("no answer"))).catch(() => undefined);
    expect(first.context.signal.aborted).toBe(false);
    await expect(first.context.step("bank.charge", () => 1)).rejects.toMatchObject({ name: "OutcomeOpen" });
    expect(first.context.signal).toMatchObject({ aborted: true, reason: { name: "OutcomeOpen" } });

    const blocked = bed({ leaseMs: 1_000 }, (clock) => {
      const base = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
      return {
        ...base,
        async startStep(request) {
          const answered = await base.startStep(request);
          clock.stall(2_000);
          return answered;
        },
      };
    });
    const second = executionOf(await blocked.ask());
    await expect(second.context.step("bank.charge", () => 1)).rejects.toMatchObject({ name: "FenceLost" });
    expect(second.context.signal).toMatchObject({ aborted: true, reason: { name: "FenceLost" } });
  });

  it("a call that threw counts as unanswered in what the engine tells of itself", async () => {
    const all = bed();
    const { context } = executionOf(await all.ask());
    await context.step("bank.charge", () => Promise.reject(new Error("no answer"))).catch(() => undefined);
    await context.step("mail.send", () => 1);
    await all.clock.advance(10_000);
    const [note = expect.unreachable()] = (await all.store.engines?.()) ?? [];
    expect((JSON.parse(note.text) as EngineNoteText).steps).toMatchObject({
      "bank.charge": { answered: { count: 0 }, unanswered: { count: 1 } },
      "mail.send": { answered: { count: 1 }, unanswered: { count: 0 } },
    });
  });

  it.each<[string, "rerun" | "hold", StepOptions<number>, boolean]>([
    ["rerun", "rerun", {}, true],
    ["rerun on a route that holds", "hold", { onUnknown: "rerun" }, false],
    ["hold", "rerun", { onUnknown: "hold" }, false],
    ["verify", "rerun", { verify: () => ({ verdict: "absent" }) }, false],
    ["rerun within the provider's memory", "rerun", { retentionMs: 60_000 }, false],
  ])("a start may be lost only where that changes nothing: %s", async (_, onUnknown, options, mayBeLost) => {
    const starts: unknown[] = [];
    const all = bed({ onUnknown }, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        startStep(request) {
          starts.push(request.mayBeLost === true);
          return base.startStep(request);
        },
      };
    });
    await executionOf(await all.ask()).context.step("bank.charge", options, () => 1);
    expect(starts).toEqual([mayBeLost]);
  });

  it("hands the same reference to every attempt", async () => {
    const all = bed({ leaseMs: 1_000 });
    const references: string[] = [];
    const first = executionOf(await all.ask());
    const lost = first.context.step("bank.charge", ({ reference }) => {
      references.push(reference);
      return new Promise(() => undefined);
    });
    void lost;
    await all.clock.advance(1);
    await die(all);
    const second = executionOf(await all.ask());
    await second.context.step("bank.charge", ({ reference }) => void references.push(reference));
    expect(references[0]).toBe(references[1]);
    expect(references[0]).toBe(second.context.reference("bank.charge"));
  });

  it("I12 hands the same reference to a later attempt that reads the same bytes by another fingerprint", async () => {
    // A deploy rolls: the hash of what they mean is another one, and the bytes are known as the record's.
    const before = { route: { fingerprint: { fields: ["amount"] } } };
    const after = { route: { fingerprint: { fields: ["amount", "currency"] } } };
    const body = { amount: 100, currency: "EUR" };
    const own = executionOf(await bed().ask({ body, ...after })).context.reference("bank.charge");
    const all = bed();
    const first = executionOf(await all.ask({ body, ...before }));
    const reference = first.context.reference("bank.charge");
    expect(reference).not.toBe(own);
    await first.settle({ kind: "threw", error: new Error("died") });
    const { context } = executionOf(await all.ask({ body, ...after }));
    expect(context.attempt).toBe(2);
    expect(context.reference("bank.charge")).toBe(reference);
    expect(await context.step("bank.charge", (step) => step.reference)).toBe(reference);
  });

  describe("E-04 a throw or a 5xx after a finished step says nothing of calls made outside steps", () => {
    const bodyless = { headers: [], body: new Uint8Array(0) };
    const ends: readonly [string, HandlerOutcome][] = [
      ["a throw", { kind: "threw", error: new Error("x") }],
      ["a 500", { kind: "answered", response: { status: 500, ...bodyless } }],
    ];

    it.each(ends)("under hold %s holds, whatever the steps say", async (_, end) => {
      const all = bed({ onUnknown: "hold" });
      const first = executionOf(await all.ask());
      await first.context.step("a", () => 1);
      await first.settle(end);
      expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown", retryable: false });
    });

    it.each(ends)("under verify %s is asked about before anything runs again", async (_, end) => {
      let verifies = 0;
      const all = bed({ onUnknown: { verify: () => ({ verdict: ++verifies === 1 ? "not-visible-yet" : "absent" }) } });
      const first = executionOf(await all.ask());
      await first.context.step("a", () => 1);
      await first.settle(end);
      expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown", retryable: true });
      const second = executionOf(await all.ask());
      expect(verifies).toBe(2);
      expect(await second.context.step("a", () => 2)).toBe(1);
    });

    it.each(ends)("ctx.release() of the handler gives the key back, under hold too, by %s", async (_, end) => {
      const all = bed({ onUnknown: "hold" });
      const first = executionOf(await all.ask());
      await first.context.step("a", () => 1);
      first.context.release();
      await first.settle(end);
      const second = executionOf(await all.ask());
      expect(await second.context.step("a", () => 2)).toBe(1);
    });
  });

  async function unfinished(
    options: StepOptions<string>,
    route = {},
  ): Promise<{ all: Bed; run: () => Promise<unknown>; calls: () => number }> {
    const all = bed({ leaseMs: 1_000, ...route });
    const first = executionOf(await all.ask());
    const failed = first.context.step("bank.charge", options, () => Promise.reject(new Error("timeout")));
    await expect(failed).rejects.toThrow("timeout");
    await first.settle({ kind: "answered", response: { status: 504, headers: [], body: new Uint8Array(0) } });
    let calls = 0;
    return {
      all,
      calls: () => calls,
      async run() {
        const execution = executionOf(await all.ask());
        try {
          return await execution.context.step("bank.charge", options, () => `charged ${(calls += 1)}`);
        } catch (error) {
          await execution.settle({ kind: "threw", error });
          throw error;
        }
      },
    };
  }

  it.each(["fail", "hang"] as const)(
    "a step never calls out on a lease that is over: the process stood still while its start was noted, renewals %s",
    async (renewals) => {
      const all = bed({ leaseMs: 1_000, storeTimeoutMs: 60_000 });
      const first = executionOf(await all.ask());
      all.store.break("startStep", "late", 1);
      all.store.break("renew", renewals);
      let calls = 0;
      const stepped = first.context.step("bank.charge", () => (calls += 1)).catch((error: unknown) => error);
      await all.clock.advance(3_000);
      all.store.arrive();
      expect(await stepped).toMatchObject({ name: "FenceLost" });
      expect(calls).toBe(0);
      expect((await providedBy(first)).status).toBe(409);
    },
  );

  it("a start that was noted long before its call can be made is noted again: verify counts its age from there", async () => {
    let stallsMs = 6_000;
    const all = bed({ leaseMs: 60_000, storeTimeoutMs: 5_000 }, (clock) => {
      const base = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
      return {
        ...base,
        async startStep(request) {
          const answered = await base.startStep(request);
          clock.stall(stallsMs);
          stallsMs = 0;
          return answered;
        },
      };
    });
    const first = executionOf(await all.ask());
    const [record] = (await all.store.list({ limit: 1 })).records;
    const ages = first.context.step("bank.charge", async () => {
      const steps = await all.store.steps(record?.identity as never);
      return steps.map(({ ageMs }) => ageMs);
    });
    expect(await ages).toEqual([0]);
  });

  it("a loop that was blocked while the start was noted is seen by the clock, before any timer runs", async () => {
    const all = bed({ leaseMs: 1_000 }, (clock) => {
      const base = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
      return {
        ...base,
        async startStep(request) {
          const answered = await base.startStep(request);
          clock.stall(900);
          return answered;
        },
      };
    });
    const first = executionOf(await all.ask());
    let calls = 0;
    await expect(first.context.step("bank.charge", () => (calls += 1))).rejects.toMatchObject({ name: "FenceLost" });
    expect(calls).toBe(0);
  });

  it.each([
    [799, "is made", "charged"],
    [800, "is not made", "FenceLost"],
  ])(
    "I7 a start by which the store left the lease as it was adds no trust to it: %i ms after it was given the call %s",
    async (calledMs, _, told) => {
      const all = bed({ leaseMs: 1_000 }, (clock) => {
        const base = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
        return {
          ...base,
          async startStep(request) {
            if (request.name === "stock") return base.startStep(request);
            // More than half of it is left: see `mayLeaveLease`. The process stands still before it reads the answer.
            clock.stall(calledMs - 450);
            return "ok";
          },
        };
      });
      all.store.break("renew", "fail");
      const { context } = executionOf(await all.ask());
      await context.step("stock", () => 1);
      await all.clock.advance(450);
      const charge = vi.fn(() => "charged");
      expect(await context.step("bank.charge", charge).catch(({ name }: Error) => name)).toBe(told);
      expect(charge).toHaveBeenCalledTimes(told === "charged" ? 1 : 0);
    },
  );

  it("one failed read of the steps is not remembered: the handler may try the step again", async () => {
    const all = bed({});
    const first = executionOf(await all.ask());
    await first.context.step("a", () => 1);
    await first.settle({ kind: "threw", error: new Error("x") });
    const second = executionOf(await all.ask());
    all.store.break("steps", "fail", 1);
    await expect(second.context.step("a", () => 2)).rejects.toMatchObject({ name: "StoreFailure" });
    expect(await second.context.step("a", () => 2)).toBe(1);
  });

  it("E-04 an unfinished step under rerun is called again", async () => {
    const { run, calls } = await unfinished({});
    expect(await run()).toBe("charged 1");
    expect(calls()).toBe(1);
  });

  it("an unfinished step is listed as unknown until it is settled", async () => {
    const { all } = await unfinished({});
    expect((await all.store.list({ limit: 10, state: "unknown" })).records).toHaveLength(1);
  });

  it("an unfinished step under hold stops the attempt and answers outcome-unknown, for good", async () => {
    const { all, run, calls } = await unfinished({ onUnknown: "hold" });
    await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
    expect(calls()).toBe(0);
    expect(problemIn(await all.ask())).toMatchObject({ status: 409, code: "outcome-unknown", retryable: false });
    const [record] = (await all.store.list({ limit: 1 })).records;
    expect(record?.holdReason).toContain("bank.charge");
  });

  it("verify found takes the value over, absent calls again, not visible yet answers 409 and may be asked again", async () => {
    let verdict: "found" | "absent" | "not-visible-yet" | "throw" = "throw";
    const { all, run, calls } = await unfinished({
      verify: ({ reference, ageMs }) => {
        expect(reference).toHaveLength(40);
        expect(ageMs).toBeGreaterThanOrEqual(0);
        if (verdict === "throw") throw new Error("bank away");
        return verdict === "found" ? { verdict, value: "found it" } : { verdict };
      },
    });
    await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
    verdict = "not-visible-yet";
    await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
    verdict = "found";
    expect(await run()).toBe("found it");
    expect(calls()).toBe(0);
    await die(all);
    expect(await run()).toBe("found it");
    const other = await unfinished({ verify: () => ({ verdict: "absent" }) });
    expect(await other.run()).toBe("charged 1");
  });

  it("only the word absent lets a step be called again: any other is not visible yet, with a warning", async () => {
    for (const word of ["pending", "not_visible_yet", undefined, null]) {
      const strange = (word === null ? undefined : { verdict: word }) as never;
      const { all, run, calls } = await unfinished({ verify: () => strange });
      await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
      expect(calls()).toBe(0);
      expect(all.events).toContainEqual(expect.objectContaining({ type: "warning", code: "verdict-unknown" }));
    }
  });

  it("the age that verify is told counts from the last start, the provider's memory from the first", async () => {
    const all = bed({ leaseMs: 1_000, executionMs: 1_500 });
    const charges: number[] = [];
    let dying = true;
    const visibleAfterMs = 5_000;
    const profile = { ...providerProfiles.stripe, visibleAfterMs };
    // The provider's index lags: it shows no charge yet.
    const ages: number[] = [];
    const options = stepOptionsFor<string>(profile, ({ ageMs }) => {
      ages.push(ageMs);
      return { verdict: "absent" };
    });
    const attempt = async (): Promise<unknown> => {
      const { context } = executionOf(await all.ask());
      const call = context.step("bank.charge", options, () => {
        charges.push(context.attempt);
        return dying ? new Promise<string>(() => undefined) : "charged";
      });
      call.catch(() => undefined);
      return dying ? undefined : call;
    };
    await attempt();
    await all.clock.advance(1);
    await die(all);
    await all.clock.advance(visibleAfterMs);
    // Long after the first start: absent is believed, and the second call dies as well, its charge on its way.
    await attempt();
    await all.clock.advance(1);
    await die(all);
    dying = false;
    await expect(attempt()).rejects.toMatchObject({ name: "OutcomeOpen" });
    expect(charges).toEqual([1, 2]);
    await all.clock.advance(visibleAfterMs);
    expect(await attempt()).toBe("charged");
    expect(charges).toHaveLength(3);
    expect(ages[0]).toBeGreaterThanOrEqual(visibleAfterMs);
    expect(ages[1]).toBeLessThan(visibleAfterMs);

    const old = await unfinished({ retentionMs: 60_000 });
    await old.all.clock.advance(40_000);
    const again = executionOf(await old.all.ask());
    const timeout = (): Promise<string> => Promise.reject(new Error("timeout"));
    const late = { retentionMs: 60_000 };
    await expect(again.context.step("bank.charge", late, timeout)).rejects.toThrow("timeout");
    await old.all.clock.advance(21_000);
    // Tried again in place: the reference is as old as its first use, in whatever attempt.
    await expect(again.context.step("bank.charge", late, timeout)).rejects.toMatchObject({ name: "OutcomeOpen" });
  });

  it("what a person released runs: a step without a result did not happen", async () => {
    const { all, run, calls } = await unfinished({ onUnknown: "hold" });
    await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
    const [record] = (await all.store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("the record is gone");
    const by = { actor: "dana", reason: "the bank has no such charge" };
    const decision = { kind: "release" } as const;
    expect(await settle(all.store, { record: record.identity, decision, ...by })).toBe("ok");
    expect(await run()).toBe("charged 1");
    expect(calls()).toBe(1);
  });

  describe("a step that the record does not know, while a former attempt left one without a result", () => {
    const verify = (): { verdict: "absent" } => ({ verdict: "absent" });

    it.each<[string, StepOptions<string>, boolean]>([
      ["hold", { onUnknown: "hold" }, true],
      ["verify", { verify }, false],
    ])("is not called under %s: it may be the same call under another name", async (_, options, isHeld) => {
      const { all } = await unfinished(options);
      const second = executionOf(await all.ask());
      const renamed = second.context.step("charge", options, () => expect.unreachable());
      await expect(renamed).rejects.toMatchObject({ name: "OutcomeOpen" });
      expect((await providedBy(second)).status).toBe(409);
      await answer(second, { status: 500 });
      expect(all.events).toContainEqual(expect.objectContaining({ type: "warning", code: "step-unmet" }));
      const [record] = (await all.store.list({ limit: 1 })).records;
      expect(record?.holdReason ?? "").toContain(isHeld ? '"bank.charge"' : "");
      expect(record?.holdReason !== undefined).toBe(isHeld);
    });

    it("is called under rerun, with a warning", async () => {
      const { all } = await unfinished({});
      const second = executionOf(await all.ask());
      expect(await second.context.step("charge", () => 1)).toBe(1);
      expect(await second.context.step("mail", () => 2)).toBe(2);
      const warnings = all.events.filter((event) => event.type === "warning" && event.code === "step-unmet");
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatchObject({ message: expect.stringContaining('"bank.charge"') });
    });

    it("is called where the attempt has met that one, before or at the same time", async () => {
      const { all } = await unfinished({ verify });
      const { context } = executionOf(await all.ask());
      const both = [context.step("mail", { verify }, () => 1), context.step("bank.charge", { verify }, () => "again")];
      expect(await Promise.all(both)).toEqual([1, "again"]);
      expect(await context.step("stock", { verify }, () => 2)).toBe(2);
      expect(all.events.filter((event) => event.type === "warning" && event.code === "step-unmet")).toEqual([]);
    });
  });

  it("A61 a step older than the provider remembers goes on hold instead of running again", async () => {
    const { all, run, calls } = await unfinished({ retentionMs: 60_000 });
    await all.clock.advance(61_000);
    await expect(run()).rejects.toMatchObject({ name: "OutcomeOpen" });
    expect(calls()).toBe(0);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
  });

  it("an open step's answer reaches the caller whatever the framework makes of the error", async () => {
    const { all } = await unfinished({ onUnknown: "hold" });
    const execution = executionOf(await all.ask());
    await expect(execution.context.step("bank.charge", { onUnknown: "hold" }, () => 1)).rejects.toThrow();
    expect((await providedBy(execution)).status).toBe(409);
    const settled = await answer(execution, { status: 500 });
    expect(settled.kind === "replace" && settled.response.status).toBe(409);
  });

  it("S5 a zombie cannot start or finish a step; it is told to stop and answers from the record", async () => {
    const all = bed({ leaseMs: 1_000 });
    const zombie = executionOf(await all.ask());
    const gate = Promise.withResolvers<string>();
    const late = zombie.context.step("a", () => gate.promise);
    late.catch(() => undefined);
    await all.clock.advance(1);
    await die(all);
    const second = executionOf(await all.ask());
    gate.resolve("late");
    await expect(late).rejects.toMatchObject({ name: "FenceLost" });
    await expect(zombie.context.step("b", () => 1)).rejects.toMatchObject({ name: "FenceLost" });
    expect((await providedBy(zombie)).status).toBe(409);
    expect(await second.context.step("a", () => "again")).toBe("again");
  });

  it("refuses bad names, the same name twice at once, and results that cannot be recorded", async () => {
    const { ask } = bed();
    const { context } = executionOf(await ask());
    await expect(context.step("", () => 1)).rejects.toMatchObject({ code: "usage-invalid" });
    const running = context.step("a", () => Promise.resolve(1));
    await expect(context.step("a", () => 1)).rejects.toMatchObject({ code: "usage-invalid" });
    await running;
    await expect(context.step("date", () => new Date() as unknown)).rejects.toMatchObject({
      code: "value-not-serialisable",
    });
    await expect(context.step("big", () => "x".repeat(70_000))).rejects.toMatchObject({
      code: "value-not-serialisable",
    });
  });

  it("the same name again in one attempt is refused, since its reference would be the same", async () => {
    const { ask } = bed();
    const { context } = executionOf(await ask());
    await context.step("charge", () => 1);
    await expect(context.step("charge", () => 2)).rejects.toMatchObject({ code: "usage-invalid" });
  });

  it("a step that threw meets its policy when it is called again in the same attempt", async () => {
    const { ask } = bed();
    const { context } = executionOf(await ask());
    const fail = (): never => {
      throw new Error("timeout");
    };
    await expect(context.step("a", fail)).rejects.toThrow("timeout");
    expect(await context.step("a", () => "second try")).toBe("second try");
    await expect(context.step("b", { onUnknown: "hold" }, fail)).rejects.toThrow("timeout");
    await expect(context.step("b", { onUnknown: "hold" }, () => 1)).rejects.toMatchObject({ name: "OutcomeOpen" });
  });

  it("a step without a result comes back without one", async () => {
    const { ask } = bed();
    const first = executionOf(await ask());
    expect(await first.context.step("void", () => undefined)).toBeUndefined();
    await first.settle({ kind: "threw", error: new Error("x") });
    expect(await executionOf(await ask()).context.step("void", () => "again" as unknown)).toBeUndefined();
  });
});

describe("a step after the end of its attempt", () => {
  it("I12 calls nothing where the outcome was left to a person", async () => {
    const all = bed({ onUnknown: "hold" });
    const first = executionOf(await all.ask());
    await answer(first, { status: 500 });
    let calls = 0;
    await expect(first.context.step("bank.charge", () => (calls += 1))).rejects.toThrow();
    expect(calls).toBe(0);
  });
});

describe("ctx.unknown", () => {
  const interim = { status: 202, headers: { "retry-after": "2", location: "/p/1" }, body: { status: "unknown" } };

  it("profile adr-007 gives the interim answer again without a marker, until the record is settled", async () => {
    const key = "00000000-0000-4000-8000-000000000001";
    const { ask, store } = bed({ profile: "adr-007" });
    const first = executionOf(await ask({ key }));
    await first.context.unknown(interim);
    expect((await providedBy(first)).status).toBe(202);
    for (let time = 0; time < 2; time += 1) {
      const response = responseOf(await ask({ key }));
      expect(response.status).toBe(202);
      expect(headerIn(response, "location")).toBe("/p/1");
      expect(headerIn(response, "idempotency-replayed")).toBeUndefined();
      expect(JSON.parse(textOf(response))).toEqual({ status: "unknown" });
    }
    expect(problemIn(await ask({ key, body: 2 }))).toMatchObject({ status: 409, code: "idempotency-key-reused" });
    const [record] = (await store.list({ limit: 1, state: "unknown" })).records;
    if (record === undefined) throw new Error("the record is not listed as unknown");
    const response = { kind: "full", status: 201, headers: [], body: new TextEncoder().encode("final") } as const;
    const decision = { kind: "adopt", response } as const;
    expect(
      await store.settle({ identity: record.identity, fence: record.fence, decision, actor: "test", reason: "found" }),
    ).toBe("ok");
    const settled = responseOf(await ask({ key }));
    expect(settled.status).toBe(200);
    expect(headerIn(settled, "idempotency-replayed")).toBe("true");
  });

  it("profile adr-007 gives the interim answer also while somebody looks into the outcome", async () => {
    const key = "00000000-0000-4000-8000-000000000002";
    const { ask, store } = bed({ profile: "adr-007" });
    await executionOf(await ask({ key })).context.unknown(interim);
    const [record] = (await store.list({ limit: 1, state: "unknown" })).records;
    if (record === undefined) throw new Error("the record is not listed as unknown");
    const { identity, fingerprint } = record;
    const owner = "0".repeat(32) as typeof record.owner;
    const claim = { identity, fingerprint, owner, leaseMs: 1_000, retentionMs: 86_400_000, takeover: "open" } as const;
    expect((await store.claim(claim)).outcome).toBe("granted");
    expect(responseOf(await ask({ key })).status).toBe(202);
  });

  it("profile adr-007 replays what was settled between the claim and the look for an interim answer", async () => {
    const key = "00000000-0000-4000-8000-000000000003";
    let looks = 0;
    const settling = (clock: FakeClock): Store => {
      const store = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
      const find: Store["find"] = async (identity) => {
        looks += 1;
        await answer(running);
        return store.find(identity);
      };
      return { ...store, find };
    };
    const { ask } = bed({ profile: "adr-007" }, settling);
    const running = executionOf(await ask({ key }));
    const settled = responseOf(await ask({ key }));
    expect([settled.status, headerIn(settled, "idempotency-replayed"), looks]).toEqual([200, "true", 1]);
  });

  it("after an outcome was left open no step begins; one under way still keeps its result", async () => {
    const all = bed();
    const { context } = executionOf(await all.ask());
    const gate = Promise.withResolvers<string>();
    const slow = context.step("slow", () => gate.promise);
    await all.clock.advance(1);
    await context.unknown({ status: 202, body: { state: "pending" } });
    await expect(context.step("after", () => expect.unreachable())).rejects.toMatchObject({ name: "FenceLost" });
    gate.resolve("done");
    expect(await slow).toBe("done");
    const [record] = (await all.store.list({ limit: 1 })).records;
    const steps = record === undefined ? [] : await all.store.steps(record.identity);
    expect(steps.map(({ name, state }) => [name, state])).toEqual([["slow", "finished"]]);
  });

  it("profile ietf answers 409 outcome-unknown", async () => {
    const { ask } = bed();
    await executionOf(await ask()).context.unknown(interim);
    expect(problemIn(await ask())).toMatchObject({ status: 409, code: "outcome-unknown" });
  });

  it("is sent although the store fails, and written down later", async () => {
    const { ask, store, clock } = bed({ profile: "polling", statusUrl: (id) => `/operations/${id}` });
    const first = executionOf(await ask());
    store.break("suspend", "fail", 1);
    await first.context.unknown(interim);
    expect((await providedBy(first)).status).toBe(202);
    await clock.advance(1_000);
    expect(responseOf(await ask()).status).toBe(202);
    expect(JSON.parse(textOf(responseOf(await ask())))).toEqual({ status: "unknown" });
  });

  it("a zombie's interim answer is not kept", async () => {
    const all = bed({ leaseMs: 1_000 });
    const zombie = executionOf(await all.ask());
    await die(all);
    await answer(executionOf(await all.ask()));
    await zombie.context.unknown(interim);
    expect((await providedBy(zombie)).status).toBe(201);
  });

  it("run throws outcome-unknown", async () => {
    const { ichido } = bed();
    const call = ichido.run({ operation: "a", scope: { tenant: "t" }, key: "k" }, async (ctx) => {
      await ctx.unknown(interim);
      throw new Error("timeout");
    });
    await expect(call).rejects.toMatchObject({ code: "outcome-unknown" });
  });
});
