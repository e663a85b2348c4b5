import { strict as assert } from "node:assert";
import { createIchido, type Context } from "ichido";
import { memoryStore } from "ichido/memory";
import { everyCrashPoint, fakeClock, type CrashRun } from "ichido/testing";

const pay = (ctx: Context, bank: Set<string>) => ctx.step("charge", ({ reference }) => bank.add(reference).size);

const options = { scope: () => ({ tenant: "t" }), onUnknown: "rerun", onEvent: () => undefined } as const;
const request = { operation: "pay", scope: { tenant: "t" }, key: "k-1", input: { amount: 1200 } };
async function scenario({ lives }: CrashRun) {
  const clock = fakeClock();
  const store = memoryStore({ nowMs: clock.nowMs });
  const bank = new Set<string>();
  for (const { faults, crashed } of lives) {
    const ichido = createIchido({ ...options, store, faults, environment: clock.environment });
    await Promise.race([ichido.run(request, (ctx) => pay(ctx, bank)), crashed]); // who crashed never answers
    await clock.advance(120_000); // its lease lapses
  }
  return bank.size;
}
const { matrix } = await everyCrashPoint(scenario, (n) => assert.ok(n === 1, `charged ${n} times`), { pairs: true });
console.log(matrix);
