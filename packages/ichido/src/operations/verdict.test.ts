import { describe, expect, it } from "vitest";
import type { LoggedAttempt } from "../core/contract/history.ts";
import type { Step, StoredRecord } from "../core/contract/store.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { gather, type Evidence, type Probes, type ProbeAnswer } from "./evidence.ts";
import { effectsOf, judge } from "./verdict.ts";

const identity = { key: "key-1", scopeHash: new Uint8Array(32), operation: "pay", tenant: undefined, principal: "p" };
const recordOf = (state: string, status?: number): StoredRecord =>
  ({
    identity,
    state,
    fingerprint: { version: 2, raw: new Uint8Array(32), canonical: new Uint8Array(32) },
    ...(status === undefined ? {} : { response: { kind: "full", status, headers: [], body: new Uint8Array() } }),
  }) as unknown as StoredRecord;
const stepOf = (name: string, state: Step["state"] = "finished"): Step => ({ name, state }) as Step;
const told = (step: string, ids: readonly string[], problem?: string): ProbeAnswer => ({
  step,
  reference: "r",
  effects: ids.map((id) => ({ id })),
  ...(problem === undefined ? {} : { problem }),
});
const evidenceOf = (parts: Partial<Evidence>): Evidence => ({
  record: recordOf("completed", 201),
  attempts: [],
  steps: [],
  audit: [],
  resources: [],
  twins: [],
  probes: [],
  ...parts,
});

describe("what one record brought about", () => {
  it("is one effect where each of its steps had one", () => {
    const steps = [stepOf("bank.charge"), stepOf("ledger.post")];
    const evidence = evidenceOf({ steps, probes: [told("bank.charge", ["ch_1"]), told("ledger.post", ["led_1"])] });
    expect(judge([evidence]).verdict).toBe("one-effect");
    const twice = evidenceOf({
      steps,
      probes: [told("bank.charge", ["ch_1", "ch_2"]), told("ledger.post", ["led_1"])],
    });
    expect(judge([twice]).verdict).toBe("two-effects-one-key");
  });

  it("is told with what could not be asked, although another provider answered", () => {
    const probes = [told("bank.charge", ["ch_1"]), told("wallet.debit", [], "it is down")];
    expect(effectsOf(evidenceOf({ probes }))).toEqual({ count: 1, by: "provider", problem: "it is down" });
  });

  it("is known to nobody where an error was stored after a call", () => {
    const record = recordOf("completed", 500);
    expect(judge([evidenceOf({ record, steps: [stepOf("bank.charge")] })]).verdict).toBe("not-known");
    expect(judge([evidenceOf({ record })]).verdict).toBe("no-effect");
  });

  it("is not known where a record is in doubt and its provider has nothing: it may be late", () => {
    const steps = [stepOf("bank.charge", "started")];
    const evidence = evidenceOf({ record: recordOf("unknown"), steps, probes: [told("bank.charge", [])] });
    expect(effectsOf(evidence)).toEqual({ count: 0, by: "provider", nothingFound: true });
    expect(judge([evidence]).verdict).toBe("not-known");
    // Given back by its owner, or released by a person: somebody knew.
    expect(judge([{ ...evidence, record: recordOf("failed") }]).verdict).toBe("no-effect");
    // Beside a twin that took effect, it may be the second.
    const twin = {
      ...evidenceOf({}),
      record: { ...recordOf("completed", 201), identity: { ...identity, key: "key-2" } },
    };
    expect(judge([evidence, twin as Evidence]).verdict).toBe("not-known");
  });

  it("is known to nobody where handlers ran in observe mode", () => {
    const attempts = [
      { outcome: "executed" },
      { outcome: "replayed", observed: true },
    ] as unknown as readonly LoggedAttempt[];
    expect(judge([evidenceOf({ attempts })]).verdict).toBe("not-known");
    expect(judge([evidenceOf({ attempts: attempts.slice(0, 1) })]).verdict).toBe("one-effect");
  });
});

describe("several keys", () => {
  const paid = (key: string, createdAtMs: number, content = 0): Evidence => {
    const record = recordOf("completed", 201);
    const fingerprint = { ...record.fingerprint, canonical: new Uint8Array(32).fill(content) };
    const named = { ...identity, key } as StoredRecord["identity"];
    return evidenceOf({ record: { ...record, identity: named, createdAtMs, fingerprint } });
  };

  it("stand for one intent by what the records say, also before the log has told of twins", () => {
    expect(judge([paid("key-1", 0), paid("key-2", 600_000)]).verdict).toBe("two-keys-one-intent");
    expect(judge([paid("key-1", 0), paid("key-2", 1_000, 7)]).verdict).toBe("two-intents");
    expect(judge([paid("key-1", 0), paid("key-2", 600_001)]).verdict).toBe("two-intents");
  });

  it("are given back but for the first of each step, and not by half where a record counted", () => {
    const charged = (key: string, ids: readonly string[]): Evidence => {
      const steps = [stepOf("bank.charge"), stepOf("ledger.post")];
      const probes = [told("bank.charge", ids), told("ledger.post", [`led_${key}`])];
      return { ...paid(key, 0), steps, probes };
    };
    const refundOf = (...evidence: readonly Evidence[]) => judge(evidence).intents.map(({ refund }) => refund);
    expect(refundOf(charged("1", ["ch_1"]), charged("2", ["ch_2"]))).toEqual([["ch_2", "led_2"]]);
    expect(refundOf(charged("1", ["ch_1", "ch_2"]))).toEqual([["ch_2"]]);
    expect(refundOf(charged("1", ["ch_1"]))).toEqual([[]]);
    expect(refundOf(charged("1", ["ch_1"]), paid("2", 0), charged("3", ["ch_3"]))).toEqual([[]]);
  });
});

describe("asking providers", () => {
  it("tells of a step that nobody can be asked about, once anybody can", async () => {
    const store = Object.assign(memoryStore(), {
      steps: async () => [stepOf("stock.reserve", "started"), stepOf("card.capture", "started")],
    });
    const probes: Probes = { "stock.reserve": async () => [] };
    const evidence = await gather(store, recordOf("unknown"), probes);
    expect(evidence.probes.map(({ step, problem }) => [step, problem])).toEqual([
      ["stock.reserve", undefined],
      ["card.capture", "it has no probe"],
    ]);
    expect(judge([evidence]).verdict).toBe("not-known");
    expect((await gather(store, recordOf("unknown"), {})).probes).toEqual([]);
  });
});
