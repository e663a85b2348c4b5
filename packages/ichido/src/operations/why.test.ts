import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { LoggedAttempt } from "../core/contract/history.ts";
import type { ProviderEffect } from "../core/contract/options.ts";
import type { OwnerToken } from "../core/contract/record.ts";
import type { Store, StoredRecord } from "../core/contract/store.ts";
import { createIchido, type Ichido } from "../core/engine/create-ichido.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { why } from "./why.ts";

const scope = { principal: "p" };

/** A bank that is asked by reference, and a customer's payments there: each a key, and what was bought. */
async function bought(...purchases: readonly (readonly [key: string, thing: string])[]) {
  const store = memoryStore();
  const charges = new Map<string, string[]>();
  const probes = { "bank.charge": (reference: string) => (charges.get(reference) ?? []).map((id) => ({ id })) };
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off", probes });
  let count = 0;
  const charge = (reference: string): void => {
    count += 1;
    charges.set(reference, [...(charges.get(reference) ?? []), `ch_${count}`]);
  };
  for (const [key, thing] of purchases) {
    // Which of two records is the older one is told in milliseconds.
    await sleep(2);
    const request = { operation: "pay", scope, key, input: { thing }, labels: { customer: "cus_1" } };
    await ichido.run(request, (ctx) => ctx.step("bank.charge", ({ reference }) => charge(reference)));
  }
  return { ichido, charges, charge };
}

describe("why", () => {
  it("gives back what was too much of the intent that was charged twice, and nothing of an honest one", async () => {
    const orders = [
      { keys: ["book", "pen-a", "pen-b"], about: "ch_2, ch_3", refund: "ch_3", named: "B, C" },
      { keys: ["pen-a", "pen-b", "book"], about: "ch_1, ch_2", refund: "ch_2", named: "A, B" },
      { keys: ["pen-a", "book", "pen-b"], about: "ch_1, ch_3", refund: "ch_3", named: "A, C" },
    ];
    for (const { keys, about, refund, named } of orders) {
      const { ichido } = await bought(...keys.map((key) => [key, key.replace(/-.*/, "")] as const));
      const verdict = await why({ ichido }, { text: "cus_1" });
      expect(verdict).toMatchObject({ verdict: "two-keys-one-intent", confidence: "high" });
      expect(verdict.says).toContain(`charged under each (${about})`);
      expect(verdict.next[0]).toBe(`refund ${refund}`);
      expect(verdict.intents).toContainEqual({ verdict: "one-effect", keys: [expect.any(String)], refund: [] });
      const byRecord = await why({ ichido: { store: ichido.store } }, { text: "cus_1" });
      expect(byRecord.next[0]).toBe(`refund what was charged too often under ${named}`);
      await ichido.close();
    }
  });

  it("joins keys by the time that the engine suspects duplicates within", async () => {
    const store = memoryStore();
    const engineWith = (suspectWithinMs?: number) =>
      createIchido({
        store,
        scope: () => scope,
        onUnknown: "rerun",
        sweepMs: "off",
        attemptLog: { flushMs: 10_000, ...(suspectWithinMs !== undefined && { suspectWithinMs }) },
      });
    const [none, short, usual] = [engineWith(0), engineWith(20), engineWith()];
    for (const key of ["pen-a", "pen-b"]) {
      await none.run({ operation: "pay", scope, key, input: "pen", labels: { customer: "cus_1" } }, () => "ok");
      await sleep(60);
    }
    const verdictBy = async (ichido: Ichido) => (await why({ ichido }, { text: "cus_1" })).verdict;
    expect(await verdictBy(none)).toBe("two-intents");
    expect(await verdictBy(short)).toBe("two-intents");
    expect(await verdictBy(usual)).toBe("two-keys-one-intent");
    await Promise.all([none.close(), short.close(), usual.close()]);
  });

  it("has one refund for each intent that was charged twice", async () => {
    const { ichido, charges, charge } = await bought(
      ["pen-a", "pen"],
      ["ink-a", "ink"],
      ["pen-b", "pen"],
      ["ink-b", "ink"],
    );
    const verdict = await why({ ichido }, { text: "cus_1" });
    expect(verdict.says).toContain("(ch_1, ch_3, ch_2, ch_4)");
    expect(verdict.next.slice(0, 2)).toEqual(["refund ch_3", "refund ch_4"]);
    // The provider took the reference of the first for a new one.
    charge([...charges.keys()][0] ?? "");
    const worse = await why({ ichido }, { text: "cus_1" });
    expect(worse.verdict).toBe("two-effects-one-key");
    expect(worse.says).toMatch(/\(ch_1, ch_5, ch_3\)/);
    expect(worse.next.filter((each) => each.startsWith("refund"))).toEqual(["refund ch_5, ch_3", "refund ch_4"]);
    await ichido.close();
  });

  it("says what is open, since when, and what the provider said", async () => {
    const store = memoryStore();
    const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off" });
    const lost = (): never => {
      throw new Error("no answer");
    };
    for (const key of ["with-step", "no-step"]) {
      const request = { operation: "pay", scope, key, input: key };
      await ichido.run(request, (ctx) => (key === "no-step" ? lost() : ctx.step("bank.charge", lost))).catch(() => 0);
    }
    const none = { "bank.charge": () => [] };
    const down = { "bank.charge": () => Promise.reject(new Error("the bank is down")) };
    for (const text of ["with-step", "no-step"]) {
      const late = await why({ ichido: { store, probes: none } }, { text });
      expect(late).toMatchObject({ verdict: "not-known", severity: "warning", confidence: "low" });
      expect(late.says).toMatch(/^outcome unknown since [\d:]{8}, provider says: nothing under its reference$/);
      expect(late.next).toEqual([expect.stringContaining("settle <key> adopt or release")]);
      const { says } = await why({ ichido: { store, probes: down } }, { text });
      expect(says).toMatch(/the provider cannot be asked \(the bank is down\)$/);
      expect((await why({ ichido: { store } }, { text })).says).toMatch(/the provider cannot be asked$/);
    }
    await ichido.close();
  });

  it("finds a charge whose answer was lost by its amount and time, and says what nobody tells", async () => {
    const store = memoryStore();
    const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off" });
    const lost = (): never => {
      throw new Error("no answer");
    };
    const request = { operation: "pay", scope, key: "lost", input: 1 };
    await ichido.run(request, (ctx) => ctx.step("bank.charge", lost)).catch(() => undefined);
    const question = { amount: 42, atMs: Date.now() };
    const ask = (effects?: readonly ProviderEffect[], more = {}) =>
      why(
        { ichido: { store, ...(effects && { probes: { "bank.charge": () => effects } }) } },
        { ...question, ...more },
      );
    expect(await ask([{ id: "ch_1", amount: 4_200 }])).toMatchObject({
      verdict: "orphan-effect",
      confidence: "high",
      understood: ["amount and time"],
    });
    expect((await ask([{ id: "ch_1", amount: 4_200 }], { atMs: 0 })).verdict).toBe("nothing-found");
    expect(await ask([{ id: "ch_1", amount: 4_300 }])).toMatchObject({ verdict: "nothing-found", confidence: "high" });
    for (const effects of [[], [{ id: "ch_1" }], undefined]) {
      const untold = await ask(effects);
      expect(untold).toMatchObject({ verdict: "nothing-found", confidence: "low" });
      expect(untold.missing[0]).toBe("1 record(s) of that time are in doubt, and nobody tells their amount");
    }
    await ichido.close();
  });

  it("names what was left out of a long log: attempts, not records", async () => {
    const store = memoryStore();
    const entry = { outcome: "replayed", atMs: Date.now(), record: {} } as unknown as LoggedAttempt;
    const follow: Store["follow"] = async ({ limit }) => ({
      entries: Array.from({ length: limit }, () => entry),
      cursor: "c",
    });
    const { missing, confidence } = await why(
      { ichido: { store: { ...store, follow } } },
      { amount: 1, atMs: Date.now() },
    );
    expect([missing[0], confidence]).toEqual([
      "only the oldest 5000 attempts since the beginning of that time were looked at",
      "low",
    ]);
  });

  it("says that an attempt vanished only of one whose end nobody logged", async () => {
    const pay = (key: string, ichido: Ichido, fn: () => string) =>
      ichido.run({ operation: "pay", scope, key, input: key }, fn).catch(() => undefined);
    const engineOn = (store: Store) =>
      createIchido({ store, scope: () => scope, onUnknown: "rerun", sweepMs: "off", attemptLog: { flushMs: 10 } });
    const [store, elsewhere] = [memoryStore(), memoryStore()];
    const [ichido, other] = [engineOn(store), engineOn(elsewhere)];
    await pay("refused", ichido, () => {
      throw new Error("no stock");
    });
    await pay("refused", ichido, () => "ok");
    // A process that claims, and is not heard of any more.
    await pay("gone", other, () => "ok");
    const { records } = await elsewhere.list({ key: "gone", limit: 1 });
    const { identity, fingerprint } = records[0] as StoredRecord;
    const owner = "gone-process" as OwnerToken;
    await store.claim({ identity, fingerprint, owner, leaseMs: 50, retentionMs: 60_000, takeover: "none" });
    await sleep(80);
    await pay("gone", ichido, () => "ok");
    await Promise.all([ichido.close(), other.close()]);
    const asked = async (text: string) => why({ ichido: { store } }, { text });
    const [refused, gone] = [await asked("refused"), await asked("gone")];
    expect(refused.says).toBe("charged once; after 2 attempts");
    expect(refused.timeline.map(({ kind }) => kind)).not.toContain("takeover");
    expect(gone.says).toBe("charged once; 1 earlier attempt(s) vanished, and a later one found out what had happened");
    expect(gone.timeline.map(({ kind }) => kind)).toContain("takeover");
  });

  it("says that the provider could not be asked where an id is known to nobody else", async () => {
    const store = memoryStore();
    const engine = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off" });
    const lost = (): never => {
      throw new Error("no answer");
    };
    await engine
      .run({ operation: "pay", scope, key: "stuck-key-0001" }, (ctx) => ctx.step("bank.charge", lost))
      .catch(() => undefined);
    const down = { "bank.charge": () => Promise.reject(new Error("the bank is down")) };
    const verdict = await why({ ichido: { store, probes: down } }, { text: "ch_unheard_of" });
    expect(verdict).toMatchObject({ verdict: "nothing-found", confidence: "low" });
    expect(verdict.missing).toEqual(["the provider could not be asked: bank.charge: the bank is down"]);
    const up = { "bank.charge": () => [{ id: "ch_unheard_of" }] };
    expect(await why({ ichido: { store, probes: up } }, { text: "ch_unheard_of" })).toMatchObject({
      understood: ["provider's id"],
      keys: [{ key: "stuck-key-0001" }],
    });
    await engine.close();
  });
});
