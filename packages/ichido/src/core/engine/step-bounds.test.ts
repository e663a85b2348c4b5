import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, type Bed } from "../../../../../test/support/engine-bed.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { limits } from "../contract/defaults.ts";
import type { StepFunction } from "../contract/context.ts";
import type { StepOptions } from "../contract/options.ts";

type Stepping = {
  step(name: string, options: StepOptions<unknown>, fn: StepFunction<unknown>): Promise<unknown>;
};

const fails = (): never => {
  throw new Error("timeout");
};

async function failedStep({ ask }: Bed, options: StepOptions<unknown> = {}): Promise<Stepping> {
  const context = executionOf(await ask()).context as Stepping;
  await expect(context.step("pay", options, fails)).rejects.toThrow("timeout");
  return context;
}

const stateOf = async ({ store }: Bed): Promise<string | undefined> =>
  (await store.list({ limit: 1 })).records[0]?.state;

describe("a step that is called again in the same attempt", () => {
  it("is not called where its route holds, and the record waits for a person", async () => {
    const all = bed({ onUnknown: "hold" });
    const context = await failedStep(all);
    let calls = 0;
    const again = context.step("pay", {}, () => (calls += 1));
    await expect(again).rejects.toMatchObject({ name: "OutcomeOpen", message: 'step "pay" has no recorded result' });
    expect(calls).toBe(0);
  });

  it("I12 is left open where its route verifies: nobody has asked since the call", async () => {
    const all = bed({ onUnknown: { verify: () => ({ verdict: "absent" }) } });
    const context = await failedStep(all);
    await expect(context.step("pay", {}, () => expect.unreachable())).rejects.toMatchObject({
      name: "OutcomeOpen",
      message: 'step "pay" has no recorded result, and verify is to be asked first',
      holdReason: undefined,
    });
    expect(await stateOf(all)).toBe("unknown");
    await expect((await failedStep(bed())).step("pay", {}, () => 1)).resolves.toBe(1);
    const own = { onUnknown: "rerun" } as const;
    const asked = bed({ onUnknown: { verify: () => ({ verdict: "absent" }) } });
    await expect((await failedStep(asked, own)).step("pay", own, () => 2)).resolves.toBe(2);
  });

  it.each(["fail", "lose"] as const)(
    "I13 is not called while its result is known here, and the store did not take it (%s): it is noted again",
    async (fault) => {
      const all = bed({ onUnknown: "hold" });
      const { context } = executionOf(await all.ask());
      let calls = 0;
      const pay = (): Promise<unknown> => context.step("pay", () => (calls += 1));
      all.store.break("finishStep", fault, 2);
      for (let time = 0; time < 2; time += 1) await expect(pay()).rejects.toMatchObject({ verb: "finishStep" });
      expect(await pay()).toBe(1);
      expect(calls).toBe(1);
      const [record] = (await all.store.list({ limit: 1 })).records;
      const steps = record === undefined ? [] : await all.store.steps(record.identity);
      expect(steps).toMatchObject([{ name: "pay", state: "finished" }]);
      await expect(pay()).rejects.toMatchObject({ code: "usage-invalid" });
    },
  );

  it("is verified with its age since the last start", async () => {
    const all = bed();
    await all.clock.advance(5);
    const ages: number[] = [];
    const options: StepOptions<unknown> = {
      verify({ ageMs }) {
        ages.push(ageMs);
        return { verdict: "absent" };
      },
    };
    const context = await failedStep(all, options);
    for (const pauseMs of [700, 300]) {
      await all.clock.advance(pauseMs);
      await expect(context.step("pay", options, fails)).rejects.toThrow("timeout");
    }
    expect(ages).toEqual([700, 300]);
  });

  it("is called as long as the provider remembers the first start, and not a moment longer", async () => {
    const all = bed();
    await all.clock.advance(5);
    const options = { retentionMs: 1_000 };
    const context = await failedStep(all, options);
    await all.clock.advance(999);
    await expect(context.step("pay", options, fails)).rejects.toThrow("timeout");
    await all.clock.advance(1);
    await expect(context.step("pay", options, fails)).rejects.toMatchObject({
      name: "OutcomeOpen",
      message: 'step "pay" is older than the provider remembers its reference',
      holdReason: 'step "pay" was first started 1000 ms ago, longer than the provider remembers references',
    });
  });
});

describe("a step that a former attempt left without a result", () => {
  it("is open although its new start could not be noted: the record is not released", async () => {
    const all = bed();
    const one = executionOf(await all.ask());
    await expect(one.context.step("pay", fails)).rejects.toThrow("timeout");
    await one.settle({ kind: "threw", error: new Error("x") });
    const two = executionOf(await all.ask());
    all.store.break("startStep", "fail", 1);
    await expect(two.context.step("pay", () => 1)).rejects.toMatchObject({ verb: "startStep" });
    await two.settle({ kind: "threw", error: new Error("x") });
    expect(await stateOf(all)).toBe("unknown");
  });

  it("A61 is as old as it is when it is met, however long ago it was read", async () => {
    const all = bed();
    const one = executionOf(await all.ask());
    await one.context.step("stock", () => 1);
    const options = { retentionMs: 1_000 };
    await expect(one.context.step("pay", options, fails)).rejects.toThrow("timeout");
    await one.settle({ kind: "threw", error: new Error("x") });
    await all.clock.advance(600);
    const { context } = executionOf(await all.ask());
    await context.step("stock", () => expect.unreachable());
    await all.clock.advance(400);
    await expect(context.step("pay", options, () => expect.unreachable())).rejects.toMatchObject({
      name: "OutcomeOpen",
      holdReason: 'step "pay" was first started 1000 ms ago, longer than the provider remembers references',
    });
  });

  it("is asked about by its age since its last start, however often, and without a warning", async () => {
    const all = bed();
    const one = executionOf(await all.ask());
    await expect(one.context.step("pay", fails)).rejects.toThrow("timeout");
    await one.settle({ kind: "threw", error: new Error("x") });
    await all.clock.advance(400);
    const ages: number[] = [];
    const options: StepOptions<unknown> = {
      verify({ ageMs }) {
        ages.push(ageMs);
        return { verdict: "not-visible-yet" };
      },
    };
    const { context } = executionOf(await all.ask());
    const ask = (): Promise<unknown> => (context as Stepping).step("pay", options, () => expect.unreachable());
    await expect(ask()).rejects.toMatchObject({
      name: "OutcomeOpen",
      message: 'step "pay": its outcome is not visible yet',
    });
    await all.clock.advance(500);
    await expect(ask()).rejects.toMatchObject({ name: "OutcomeOpen" });
    expect(ages).toEqual([400, 900]);
    expect(all.events.filter(({ type }) => type === "warning")).toEqual([]);
  });

  it("I12 is never told to verify as older than it is: the question for it was long under way", async () => {
    const all = bed({}, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        async steps(identity) {
          await new Promise<void>((resolve) => void environment.after(300, resolve));
          return base.steps(identity);
        },
      };
    });
    const one = executionOf(await all.ask());
    await expect(one.context.step("pay", fails)).rejects.toThrow("timeout");
    await one.settle({ kind: "threw", error: new Error("x") });
    await all.clock.advance(400);
    const ages: number[] = [];
    const options: StepOptions<unknown> = {
      verify({ ageMs }) {
        ages.push(ageMs);
        return { verdict: "absent" };
      },
    };
    const { context } = executionOf(await all.ask());
    const paid = (context as Stepping).step("pay", options, () => "paid");
    await all.clock.advance(300);
    expect(await paid).toBe("paid");
    expect(ages).toEqual([700]);
  });
});

describe("what a record says once its attempt failed, under rerun", () => {
  it("is released where each step has its result, and unknown where one has none", async () => {
    const done = bed();
    const first = executionOf(await done.ask());
    await first.context.step("pay", () => 1);
    await answer(first, { status: 500 });
    expect(await stateOf(done)).toBe("failed");
    const open = bed();
    const execution = executionOf(await open.ask());
    await expect(execution.context.step("pay", fails)).rejects.toThrow("timeout");
    await answer(execution, { status: 500 });
    expect(await stateOf(open)).toBe("unknown");
  });
});

describe("steps of a former attempt", () => {
  const unmet = ({ events }: Bed): readonly string[] =>
    events.flatMap((event) => (event.type === "warning" && event.code === "step-unmet" ? [event.message] : []));

  it("that have their results make no new step suspicious", async () => {
    const all = bed();
    const first = executionOf(await all.ask());
    await first.context.step("pay", () => 1);
    await answer(first, { status: 500 });
    const second = executionOf(await all.ask());
    expect(await second.context.step("mail", () => 2)).toBe(2);
    expect(unmet(all)).toEqual([]);
  });

  it.each([
    [["pay"], '"pay" without'],
    [["pay", "mail", "stock"], '"pay" and 2 more without'],
  ] as const)("that have none are named in a warning: %j", async (names, text) => {
    const all = bed();
    const first = executionOf(await all.ask());
    for (const name of names) await expect(first.context.step(name, fails)).rejects.toThrow("timeout");
    await answer(first, { status: 500 });
    await executionOf(await all.ask()).context.step("other", () => 1);
    expect(unmet(all)).toEqual([expect.stringContaining(`left ${text} a result`)]);
  });

  it("are not read where there are none", async () => {
    let reads = 0;
    const all = bed({}, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        steps(identity) {
          reads += 1;
          return base.steps(identity);
        },
      };
    });
    await executionOf(await all.ask()).context.step("pay", () => 1);
    expect(reads).toBe(0);
  });
});

it("a step may have a name and a result of the longest length, and no longer; an option must be known", async () => {
  const { context } = executionOf(await bed().ask());
  const longest = "x".repeat(limits.stepBytesMax - '""'.length);
  expect(await context.step("n".repeat(limits.stepNameLengthMax), () => longest)).toBe(longest);
  await expect(context.step("n".repeat(limits.stepNameLengthMax + 1), () => 1)).rejects.toMatchObject({
    code: "usage-invalid",
    message: `a step needs a name of 1 to ${limits.stepNameLengthMax} characters`,
  });
  await expect(context.step(7 as never, () => 1)).rejects.toMatchObject({ code: "usage-invalid" });
  await expect(context.step("long", () => `${longest}x`)).rejects.toMatchObject({
    code: "value-not-serialisable",
    message: expect.stringContaining('step "long" has 65537 bytes, at most 65536') as string,
  });
  await expect(context.step("date", () => new Date() as unknown)).rejects.toThrow(
    'the result of step "date" is a Date',
  );
  await expect(context.step("pay", { onUnkown: "hold" } as never, () => 1)).rejects.toMatchObject({
    code: "option-invalid",
    message: expect.stringContaining("ctx.step") as string,
  });
});
