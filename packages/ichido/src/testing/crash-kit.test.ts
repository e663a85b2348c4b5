import { describe, expect, it } from "vitest";
import { createIchido } from "../core/engine/create-ichido.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { answerMatchers } from "./answer-matchers.ts";
import { fakeClock } from "./clock.ts";
import { everyCrashPoint, type CrashLife, type CrashRun, type EveryCrashPointOptions } from "./crash-points.ts";
import { everyStoreFault, faultyStore, type EveryStoreFaultOptions, type StoreFaultRun } from "./faulty-store.ts";
import { race } from "./race.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner } from "./store-suite/samples.ts";

interface World {
  readonly charges: readonly string[];
  readonly value: unknown;
}

/** One engine after the other is asked for the same payment. A `careful` bank knows its references. */
async function paid(run: CrashRun, careful: boolean): Promise<World> {
  const clock = fakeClock();
  const store = memoryStore({ nowMs: clock.nowMs });
  const charges: string[] = [];
  let value: unknown;
  for (const { faults, crashed } of run.lives) {
    const options = { store, dangerouslyShareKeys: true, onUnknown: "rerun", sweepMs: "off" } as const;
    const ichido = createIchido({ ...options, faults, environment: clock.environment, onEvent: () => undefined });
    const answer = ichido.run({ operation: "pay", scope: { tenant: "t" }, key: "k-1", input: 1 }, (context) =>
      context.step("charge", ({ reference }) => {
        if (!careful || !charges.includes(reference)) charges.push(reference);
        return { charge: charges.length };
      }),
    );
    await Promise.race([answer.then((result) => (value = result.value)), crashed]);
    await clock.advance(120_000);
  }
  return { charges, value };
}

const once = ({ charges, value }: World): void => {
  expect(charges).toHaveLength(1);
  expect(value).toEqual({ charge: 1 });
};

describe("everyCrashPoint with pairs", () => {
  it("crashes the engine that retries, too, at every point that it passes", async () => {
    const { verdicts, matrix } = await everyCrashPoint((run) => paid(run, true), once, { pairs: true, nthMax: 1 });
    const pairs = verdicts.filter(({ second }) => second !== undefined);
    expect(pairs.length).toBeGreaterThan(20);
    expect(verdicts.slice(1).filter(({ reached }) => !reached)).toEqual([]);
    expect(matrix).toContain("after-step-start #1, then before-step-finish #1");
    expect(pairs.filter(({ point }) => point === "after-complete").map(({ second }) => second?.point)).not.toContain(
      "before-complete",
    );
  });

  it("finds what a single crash does not show", async () => {
    /** Bears one lost attempt, not two. */
    const bearsOne = ({ charges }: World): void => expect(charges.length).toBeLessThanOrEqual(2);
    await everyCrashPoint((run) => paid(run, false), bearsOne, { nthMax: 1 });
    const failure: unknown = await everyCrashPoint((run) => paid(run, false), bearsOne, {
      nthMax: 1,
      pairs: true,
    }).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/before-step-finish #1, then before-step-finish #1 +crashed +BROKEN/);
  });

  it("tells a child process where to die in each of its lives", async () => {
    const seen: string[] = [];
    const points = ["after-claim", "before-complete"] as const;
    await everyCrashPoint(
      async ({ lives }) => void seen.push(lives.map(({ env }) => env["ICHIDO_FAULTS"] ?? "lives").join(" | ")),
      () => {},
      { pairs: true, points },
    );
    expect(seen).toEqual([
      "lives",
      "after-claim:kill:1 | lives",
      "after-claim:kill:1 | after-claim:kill:1 | lives",
      "after-claim:kill:1 | before-complete:kill:1 | lives",
      "before-complete:kill:1 | lives",
      "before-complete:kill:1 | after-claim:kill:1 | lives",
      "before-complete:kill:1 | before-complete:kill:1 | lives",
    ]);
  });
});

describe("everyCrashPoint of a scenario in which nothing crashes", () => {
  const refusal = (scenario: (run: CrashRun) => Promise<World>, options: EveryCrashPointOptions = {}) =>
    everyCrashPoint(scenario, once, options).then(
      ({ matrix }) => matrix,
      ({ code, message }: { readonly code: string; readonly message: string }) => `${code}: ${message}`,
    );
  const unharmed: CrashLife = { faults: () => undefined, env: {}, crashed: new Promise(() => {}) };

  it("is refused where the engine has no faults, before anything is tried", async () => {
    let runs = 0;
    const forgetful = ({ lives: [{ crashed } = unharmed] }: CrashRun): Promise<World> => {
      runs += 1;
      return paid({ ...unharmed, point: undefined, nth: 0, lives: [{ ...unharmed, crashed }] }, true);
    };
    for (const options of [{}, { pairs: true }, { points: ["after-claim"] }] as const) {
      expect(await refusal(forgetful, options)).toMatch(/^usage-invalid: .*createIchido\(\{ …, faults \}\).*\{ env \}/);
    }
    expect(runs).toBe(3);
  });

  it("is refused where it never comes to a point that was asked for, which would hold whatever the handler does", async () => {
    const scenario = (run: CrashRun): Promise<World> => paid(run, true);
    const told = await refusal(scenario, { points: ["after-claim", "before-commit"] });
    expect(told).toMatch(
      /^usage-invalid: .*never comes to before-commit,.* It comes to .*after-claim, .*after-complete/,
    );
  });

  it("tells what the scenario threw, where it never came to an engine", async () => {
    const told = await refusal(() => Promise.reject(new Error("no database")), { points: ["after-claim"] });
    expect(told).toMatch(/2 of 2 runs broke the invariant:[^]*no database/);
  });

  it("is refused where pairs are asked for and the second life is left out", async () => {
    const single = async (run: CrashRun): Promise<World> => {
      const { lives } = run;
      const [first = unharmed] = lives;
      return paid({ ...run, lives: [first, unharmed] }, true);
    };
    expect(await refusal(single, { points: ["after-claim"] })).toMatch(/after-claim #1 +crashed +holds/);
    expect(await refusal(single, { points: ["after-claim"], pairs: true })).toMatch(
      /^usage-invalid: .*the second of the run's lives/,
    );
  });

  it("is refused where the options leave no point", async () => {
    for (const options of [{ points: [] }, { nthMax: 0 }]) {
      expect(await refusal((run) => paid(run, true), options)).toMatch(/^usage-invalid: .*points and nthMax/);
    }
  });
});

describe("everyStoreFault", () => {
  /** The caller tries again until there is an answer. */
  async function asked({ wrap, arrive }: StoreFaultRun, isRemembered: boolean): Promise<World> {
    const clock = fakeClock();
    const store = wrap(memoryStore({ nowMs: clock.nowMs }));
    const charges: string[] = [];
    const options = { dangerouslyShareKeys: true, onUnknown: "rerun", sweepMs: "off" } as const;
    const ichido = createIchido({ ...options, store, environment: clock.environment, onEvent: () => undefined });
    const request = { operation: "pay", scope: { tenant: "t" }, key: "k-1", input: 1 };
    for (;;) {
      const trying = ichido
        .run(request, ({ reference }) => {
          if (!isRemembered || !charges.includes(reference("charge"))) charges.push(reference("charge"));
          return { charge: charges.length };
        })
        .catch(() => undefined);
      await clock.advance(10_000);
      arrive();
      await clock.advance(120_000);
      const result = await trying;
      if (result !== undefined) return { charges, value: result.value };
    }
  }

  it("loses, delays and refuses every answer of the store once", async () => {
    const { runs, matrix } = await everyStoreFault((run) => asked(run, true), once);
    expect(runs).toBeGreaterThanOrEqual(6);
    for (const line of ["claim #1 fail", "claim #1 lose", "claim #1 late", "complete #1 lose"]) {
      expect(matrix).toMatch(new RegExp(`^${line} +holds$`, "m"));
    }
  });

  it("refuses a scenario of which no call would be broken", async () => {
    let tried = 0;
    const refusal = (scenario: (run: StoreFaultRun) => Promise<World>, options: EveryStoreFaultOptions = {}) =>
      everyStoreFault((run) => ((tried += 1), scenario(run)), once, options).then(
        ({ runs }) => `${runs} runs`,
        ({ code, message }: { readonly code: string; readonly message: string }) => `${code}: ${message}`,
      );
    const unwrapped = (run: StoreFaultRun): Promise<World> => asked({ ...run, wrap: (store) => store }, true);
    const wrapped = (run: StoreFaultRun): Promise<World> => asked(run, true);
    expect(await refusal(unwrapped)).toMatch(/^usage-invalid: .*store: wrap\(store\)/);
    expect(await refusal(unwrapped, { verbs: ["claim"] })).toMatch(/^usage-invalid: .*store: wrap\(store\)/);
    expect(await refusal(wrapped, { verbs: ["settle", "claim", "forget"] })).toMatch(
      /^usage-invalid: .*never called settle, forget; it called .*claim/,
    );
    for (const options of [{ verbs: [] }, { faults: [] }, { nthMax: 0 }]) {
      expect(await refusal(wrapped, options)).toMatch(/^usage-invalid: .*verbs, faults and nthMax/);
    }
    expect(tried).toBe(6);
    expect(await refusal(() => Promise.reject(new Error("no database")))).toMatch(/1 of 1 runs[^]*no database/);
  });

  it("names the call at which an invariant breaks", async () => {
    const failure: unknown = await everyStoreFault(
      (run) => asked(run, true),
      (_world, { verb, fault }) => expect(`${verb} ${fault}`).not.toBe("complete lose"),
      { verbs: ["claim", "complete"], nthMax: 1 },
    ).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    expect(String(failure)).toMatch(/1 of 7 runs[^]*complete #1 lose +BROKEN/);
  });
});

describe("faultyStore", () => {
  const claim = {
    identity: sampleIdentity("k"),
    owner: sampleOwner("o"),
    fingerprint: sampleFingerprint(),
    leaseMs: 1_000,
    retentionMs: 60_000,
    takeover: "none",
  } as const;

  it("refuses without effect, loses what took effect, and gives late replies when told", async () => {
    const store = faultyStore(memoryStore());
    store.break("claim", "fail", 1);
    await expect(store.claim(claim)).rejects.toThrow("fail");
    expect(await store.find(claim.identity)).toBeUndefined();
    store.break("claim", "lose", 1);
    await expect(store.claim(claim)).rejects.toThrow("lose");
    expect(await store.claim(claim)).toMatchObject({ outcome: "granted", resent: true });
    store.break("find", "late");
    let isHere = false;
    const late = store.find(claim.identity).then(() => (isHere = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isHere).toBe(false);
    store.arrive();
    await late;
    store.mend();
    expect(await store.find(claim.identity)).toBeDefined();
    expect(store.calls).toEqual(["claim", "find", "claim", "claim", "find", "find"]);
  });
});

describe("race", () => {
  it("begins all calls before any goes on, and gives what became of each", async () => {
    let running = 0;
    const { answers, errors } = await race(20, async (index) => {
      running += 1;
      await Promise.resolve();
      if (index === 3) throw new Error("three");
      return [index, running] as const;
    });
    expect(answers.map(([index]) => index)).toEqual(Array.from({ length: 20 }, (_, at) => at).filter((at) => at !== 3));
    expect(new Set(answers.map(([, seen]) => seen))).toEqual(new Set([20]));
    expect(errors).toEqual([new Error("three")]);
    await expect(race(0, () => 1)).rejects.toMatchObject({ code: "option-invalid" });
  });
});

describe("answerMatchers", () => {
  const answer = (status: number, headers: Record<string, string> = {}, body = ""): Response =>
    new Response(body, { status, headers });
  const problem = { "content-type": "application/problem+json" };

  it("tell replays, first answers and refusals apart", async () => {
    const first = answer(201);
    const replay = answer(201, { "idempotency-replayed": "true" });
    const stripes = answer(201, { "idempotent-replayed": "true" });
    const unstored = answer(201, { "idempotency-stored": "false" });
    const refusal = answer(409, problem, '{"code":"idempotency-in-flight"}');
    const all = [first, replay, stripes, unstored, refusal];
    expect(all.map((each) => answerMatchers.toBeReplayed(each).pass)).toEqual([false, true, true, false, false]);
    expect(all.map((each) => answerMatchers.toBeFirstAnswer(each).pass)).toEqual([true, false, false, false, false]);
    expect((await answerMatchers.toBeRefusedWith(refusal, "idempotency-in-flight")).pass).toBe(true);
    expect((await answerMatchers.toBeRefusedWith(refusal, "idempotency-key-reused")).pass).toBe(false);
    expect((await answerMatchers.toBeRefusedWith(answer(409), "idempotency-in-flight")).pass).toBe(false);
    expect((await answerMatchers.toBeRefusedWith(answer(409, problem, "{"), "idempotency-in-flight")).pass).toBe(false);
    expect(await refusal.text()).toContain("in-flight");
  });

  it("say what they got", async () => {
    const replay = answer(201, { "idempotency-replayed": "true" });
    expect(answerMatchers.toBeFirstAnswer(replay).message()).toBe(
      "expected a first answer, got status 201, idempotency-replayed: true",
    );
    const { message } = await answerMatchers.toBeRefusedWith(replay, "idempotency-in-flight");
    expect(message()).toContain("expected refusal with idempotency-in-flight, got status 201");
  });
});
