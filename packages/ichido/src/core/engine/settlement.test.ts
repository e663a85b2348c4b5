import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { createIchido } from "./create-ichido.ts";
import { settle, type Settlement } from "./settlement.ts";

const who = { actor: "ann", reason: "looked at the bank's list" };

async function held() {
  const store = memoryStore();
  const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "hold" });
  const ask = { operation: "payment.create", scope: { principal: "p" }, key: "k-1", input: {} };
  const pay = (fail: boolean) =>
    ichido.run(ask, () => {
      if (fail) throw new Error("the bank did not answer");
      return "paid";
    });
  await expect(pay(true)).rejects.toThrow();
  await expect(pay(false)).rejects.toMatchObject({ code: "outcome-unknown" });
  const { records } = await store.list({ state: "unknown", limit: 1 });
  const [record] = records;
  if (record === undefined) throw new Error("expected a record in doubt");
  return { ichido, store, pay, record };
}

test("the record as it was listed can be settled, and counts as it was seen", async () => {
  const { ichido, pay, record } = await held();
  expect(
    await settle(ichido, { record: { ...record, fence: record.fence + 1 }, decision: { kind: "release" }, ...who }),
  ).toBe("stale");
  expect(await settle(ichido, { record, decision: { kind: "release" }, ...who })).toBe("ok");
  expect(await pay(false)).toEqual({ value: "paid", replayed: false });
  await ichido.close();
});

test("a reason may be a thousand characters long; a record that is gone is absent", async () => {
  const { ichido, record } = await held();
  const settlement = { record, decision: { kind: "release" }, actor: "ann", reason: "x".repeat(1_000) } as const;
  expect(await settle(ichido, settlement)).toBe("ok");
  const gone = { ...record.identity, key: "k-2" as typeof record.identity.key };
  expect(await settle(ichido, { ...settlement, record: gone })).toBe("absent");
  await ichido.close();
});

test.each([
  ["decision", { decision: "release" }, /decision: expected \{ kind: "release" \}.*got "release"/],
  ["decision", { decision: { kind: "drop" } }, /decision: expected/],
  ["record", { record: { key: "k-1" } }, /record: expected a record of store\.list/],
  ["record", { record: undefined }, /record: expected a record of store\.list/],
  ["record", { record: null }, /record: expected a record of store\.list/],
  ["actor", { actor: " " }, /actor: expected 1 to 1000 characters, so that the audit says who decided/],
  ["actor", { actor: 7 }, /actor: expected 1 to 1000 characters/],
  ["reason", { reason: "x".repeat(1_001) }, /reason: expected 1 to 1000 characters/],
  ["name", { reasn: "typed wrong" }, /settle has no such option/],
])("a wrong %s is refused by name, and nothing is changed", async (_, wrong, message) => {
  const { ichido, store, record } = await held();
  const settlement = { record, decision: { kind: "release" }, ...who, ...wrong } as Settlement;
  await expect(settle(ichido, settlement)).rejects.toThrow(message);
  expect((await store.find(record.identity))?.holdReason).toBe(record.holdReason);
  await ichido.close();
});
