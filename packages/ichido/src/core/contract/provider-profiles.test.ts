import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, problemIn, type Bed } from "../../../../../test/support/engine-bed.ts";
import { providerProfiles, stepOptionsFor } from "./provider-profiles.ts";
import type { StepOptions } from "./options.ts";

/** The first attempt starts the step and loses its answer; the second one meets it after `laterMs`. */
async function meets(options: StepOptions<string>, laterMs: number): Promise<{ world: Bed; calls: string[] }> {
  const world = bed({ leaseMs: 1_000, executionMs: 500, retentionMs: 300 * 86_400_000 });
  const calls: string[] = [];
  const first = executionOf(await world.ask());
  const lost = first.context.step("bank.charge", options, ({ reference }) => {
    calls.push(reference);
    throw new Error("the connection was reset");
  });
  await lost.catch(() => undefined);
  await answer(first, { status: 500 });
  await world.clock.advance(laterMs);
  const decision = await world.ask();
  if (decision.kind === "execute") {
    const again = decision.execution.context.step("bank.charge", options, ({ reference }) => {
      calls.push(reference);
      return "charged";
    });
    const value = await again.catch(() => undefined);
    await answer(decision.execution, value === undefined ? { status: 500 } : {});
  }
  return { world, calls };
}

describe("stepOptionsFor", () => {
  it("a provider that honours references is called again with the same one while it surely remembers", async () => {
    const { world, calls } = await meets(stepOptionsFor(providerProfiles.stripe), 3_600_000);
    expect(calls).toHaveLength(2);
    expect(new Set(calls).size).toBe(1);
    expect((await world.ask()).kind).toBe("replay");
  });

  it.each([
    ["stripe", 22],
    ["paypal", 5.5],
    ["adyen", 7 * 24 * 0.95],
  ] as const)("%s: past what it surely remembers, the record goes on hold", async (name, hours) => {
    const { world, calls } = await meets(stepOptionsFor(providerProfiles[name]), hours * 3_600_000);
    expect(calls).toHaveLength(1);
    expect(problemIn(await world.ask())["code"]).toBe("outcome-unknown");
    const [record] = (await world.store.list({ limit: 1 })).records;
    expect(record?.holdReason).toMatch(/longer than the provider remembers/);
  });

  it("a provider that honours none and cannot be asked: on hold", async () => {
    const { world, calls } = await meets(stepOptionsFor(providerProfiles.keyless), 10_000);
    expect(calls).toHaveLength(1);
    expect(problemIn(await world.ask())["code"]).toBe("outcome-unknown");
  });

  it("a provider that can be asked: absent is believed only when the effect would be visible", async () => {
    const asked = stepOptionsFor<string>(providerProfiles.keyless, () => ({ verdict: "absent" }));
    expect((await meets(asked, 10_000)).calls).toHaveLength(1);
    expect((await meets(asked, 301_000)).calls).toHaveLength(2);
    const found = stepOptionsFor<string>(providerProfiles.keyless, () => ({ verdict: "found", value: "charged" }));
    const { world, calls } = await meets(found, 10_000);
    expect(calls).toHaveLength(1);
    expect((await world.ask()).kind).toBe("replay");
  });

  it("refuses a profile that contradicts itself", () => {
    expect(() => stepOptionsFor({ ...providerProfiles.stripe, remembersMs: 0 })).toThrow(/does not go with/);
    expect(() => stepOptionsFor({ ...providerProfiles.keyless, remembersMs: 5 })).toThrow(/does not go with/);
  });
});
