import { expect, test } from "vitest";
import { openBed } from "../incidents/bed.ts";
import { measure, tableOf } from "../incidents/measure.ts";
import { customersFor, seed } from "../incidents/seed.ts";
import { newFolder } from "./support/program.ts";

test("why --json gives every seeded incident its verdict among 500 payments and 30 honest repeats, as the ledger has it", async () => {
  const set = { ordinary: 500, repeats: 30, each: 2 };
  const bed = await openBed(newFolder(), customersFor(set));
  try {
    const measured = await measure(bed, await seed(bed, set));
    console.log(tableOf(measured));
    expect(measured.wrong).toEqual([]);
    expect(measured.recall).toBe(1);
    expect(measured.precision).toBeGreaterThanOrEqual(0.95);
  } finally {
    await bed.close();
  }
}, 120_000);
