import { describe, expect, expectTypeOf, it } from "vitest";
import { defineTransitions } from "./transitions.ts";
import { quotedName, type GuardExecutor } from "./statement.ts";

const payment = defineTransitions({ pending: ["paid", "failed"], paid: ["refunded"] });

function recording(affected: number, row?: Readonly<Record<string, unknown>>) {
  const sent: { sql: string; values: readonly unknown[] }[] = [];
  const on: GuardExecutor = {
    dialect: "postgres",
    async execute(sql, values) {
      sent.push({ sql, values });
      return { affected: sql.startsWith("UPDATE") ? affected : 0, rows: row === undefined ? [] : [row] };
    },
  };
  return { on, sent };
}

describe("defineTransitions", () => {
  it("knows every state, as source or target, also in types", () => {
    expect(payment.states.toSorted()).toEqual(["failed", "paid", "pending", "refunded"]);
    expectTypeOf(payment.states).items.toEqualTypeOf<"pending" | "paid" | "failed" | "refunded">();
    expect(payment.allows("pending", "paid")).toBe(true);
    expect(payment.allows("paid", "pending")).toBe(false);
    expect(payment.allows("refunded", "paid")).toBe(false);
    expect(payment.sourcesOf("refunded")).toEqual(["paid"]);
  });

  it("refuses a state that leads to itself", () => {
    expect(() => defineTransitions({ paid: ["paid"] })).toThrow(/leads to itself/);
  });

  it("moves in one conditional statement", async () => {
    const { on, sent } = recording(1);
    const result = await payment.move(on, {
      table: "shop.payments",
      key: { id: 1 },
      to: "paid",
      set: { paid_by: "x" },
    });
    expect(result).toEqual({ outcome: "applied" });
    expect(sent).toEqual([
      {
        sql: 'UPDATE "shop"."payments" SET "state" = $1, "paid_by" = $2 WHERE "id" = $3 AND "state" IN ($4)',
        values: ["paid", "x", 1, "pending"],
      },
    ]);
  });

  it("a first state is never moved to, only found", async () => {
    const { on, sent } = recording(1, { found: "paid" });
    expect(await payment.move(on, { table: "payments", key: { id: 1 }, to: "pending" })).toEqual({
      outcome: "illegal",
      state: "paid",
    });
    expect(sent.every(({ sql }) => sql.startsWith("SELECT"))).toBe(true);
  });

  it("refuses names that could be more than names, a key without columns and undefined", async () => {
    const { on } = recording(1);
    expect(() => quotedName(on, 'x" OR 1=1 --')).toThrow(/letters, digits/);
    await expect(payment.move(on, { table: "t", key: {}, to: "paid" })).rejects.toThrow(/at least one column/);
    const missing = { id: undefined } as unknown as { id: number };
    await expect(payment.move(on, { table: "t", key: missing, to: "paid" })).rejects.toThrow(/undefined/);
    await expect(payment.move(on, { table: "t", key: { id: 1 }, to: "gone" as "paid" })).rejects.toThrow(/no state/);
  });
});
