import { describe, expect, it } from "vitest";
import { checkStorm, PAYMENTS_MAX, paymentsOffered, planOf, type StormOrder } from "../src/playground/storm-plan.ts";

const order: StormOrder = {
  payments: 50,
  concurrency: 8,
  seed: 71_934,
  bankMode: "dedupes",
  mix: { kill: 6, cutAfterAnswer: 15, cutBeforeArrival: 5, doubleClick: 20, databaseDrop: 0 },
};

describe("the schedule of a storm", () => {
  it("is the seed's: the same in every version, so that a storm that was told of can be seen again", () => {
    const blows = planOf(order).map((blow) => (blow.kind === "kill" ? `kill ${blow.point}` : blow.kind));
    expect(blows.slice(0, 14)).toEqual([
      "cut-after-answer",
      "none",
      "none",
      "double-click",
      "cut-after-answer",
      "none",
      "none",
      "none",
      "double-click",
      "none",
      "cut-before-arrival",
      "double-click",
      "kill before-claim",
      "cut-after-answer",
    ]);
    const counts = Object.groupBy(planOf({ ...order, payments: 5_000 }), ({ kind }) => kind);
    expect([counts.kill, counts["double-click"], counts.none].map((all) => all?.length)).toEqual([315, 1_017, 2_672]);
  });

  it("of a longer storm begins like that of a shorter one", () => {
    const [short, , long] = paymentsOffered.map((payments) => planOf({ ...order, payments }));
    expect(long).toHaveLength(5_000);
    expect(long?.slice(0, 50)).toEqual(short);
  });
});

describe("an order for a storm", () => {
  it.each([1, ...paymentsOffered, 4_999])("of %i payments is taken", (payments) => {
    expect(checkStorm({ ...order, payments }, undefined)).toEqual({ ...order, payments });
  });

  it.each([0, -1, 1.5, PAYMENTS_MAX + 1, "50", null])("of %j payments is refused with the bounds", (payments) => {
    expect(checkStorm({ ...order, payments }, undefined)).toBe("payments must be a whole number from 1 to 5000");
  });

  it("with more faults than payments is refused", () => {
    const mix = { ...order.mix, doubleClick: 80 };
    expect(checkStorm({ ...order, mix }, undefined)).toBe("the mix is more than 100 percent");
  });
});
