import { describe, expect, it } from "vitest";
import { DeadlineExceeded } from "../contract/deadline.ts";
import { IchidoError } from "../contract/errors.ts";
import type { IchidoEvent } from "../contract/events.ts";
import type { Store } from "../contract/store.ts";
import { fakeClock } from "../../testing/clock.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner } from "../../testing/store-suite/samples.ts";
import {
  codeOf,
  createStoreCalls,
  failureDetail,
  isUnheard,
  isUnstorable,
  StoreFailure,
  type StoreCalls,
} from "./store-calls.ts";

const identity = sampleIdentity("a");
const claim = { identity, owner: sampleOwner("a"), fence: 1 };
const claimRequest = {
  identity,
  owner: claim.owner,
  fingerprint: sampleFingerprint(),
  leaseMs: 1_000,
  retentionMs: 1_000,
  takeover: "lapsed",
} as const;

/** Every verb, with what it is called with. */
const verbs: readonly (readonly [verb: string, call: (calls: StoreCalls) => Promise<unknown>, given: unknown])[] = [
  ["claim", (calls) => calls.claim(claimRequest), claimRequest],
  ["complete", (calls) => calls.complete(claim as never), claim],
  ["landed", (calls) => calls.landed(claim), claim],
  ["release", (calls) => calls.release(claim), claim],
  ["suspend", (calls) => calls.suspend(claim), claim],
  ["startStep", (calls) => calls.startStep(claim as never), claim],
  ["finishStep", (calls) => calls.finishStep(claim as never), claim],
  ["steps", (calls) => calls.steps(identity), identity],
  ["resources", (calls) => calls.resources(identity), identity],
  ["log", (calls) => calls.log(claim as never), claim],
  ["note", (calls) => calls.note(claim as never), claim],
  ["forget", (calls) => calls.forget(claim as never), claim],
  ["find", (calls) => calls.find(identity), identity],
  ["list", (calls) => calls.list({ limit: 1 }), { limit: 1 }],
  ["settle", (calls) => calls.settle(claim as never), claim],
  ["tick", (calls) => calls.tick({ intervalMs: 5 }), { intervalMs: 5 }],
  ["sweep", (calls) => calls.sweep({ limit: 1, budgetMs: 250 }), { limit: 1, budgetMs: 250 }],
  ["ping", (calls) => calls.ping(), undefined],
  ["renew", (calls) => calls.renew([], 700), []],
  ["noteEngine", (calls) => calls.noteEngine({ engine: "e", text: "{}" }), { engine: "e", text: "{}" }],
];

/** A store each of whose verbs answers with its own name, or as it is told. */
function setUp(answer: (verb: string) => unknown = (verb) => verb, faults?: (point: string) => Promise<void>) {
  const clock = fakeClock();
  const events: IchidoEvent[] = [];
  const asked: [string, ...unknown[]][] = [];
  const store = new Proxy({ name: "own" } as Store, {
    get: (target, name) => {
      if (typeof name !== "string" || name in target) return Reflect.get(target, name) as unknown;
      return (...given: unknown[]) => {
        asked.push([name, ...given]);
        return answer(name);
      };
    },
  });
  const calls = createStoreCalls({
    store,
    environment: clock.environment,
    timeoutMs: 1_000,
    emit: (event) => void events.push(event),
    faults,
  });
  return { clock, events, asked, calls };
}

describe("a call of the store", () => {
  it.each(verbs)(
    "%s goes through with what it is given, and is told of with its duration",
    async (verb, call, given) => {
      const { calls, asked, events } = setUp(async () => ({ of: verb }));
      expect(await call(calls)).toEqual({ of: verb });
      expect(asked).toEqual([given === undefined ? [verb] : expect.arrayContaining([verb, given])]);
      expect(events).toEqual([{ type: "store-call", store: "own", verb, durationMs: 0 }]);
    },
  );

  it.each(verbs)("%s that throws, rejects or hangs is a failure by its name, told of", async (verb, call) => {
    const down = new Error("down");
    const throwing = setUp(() => {
      throw down;
    });
    await expect(call(throwing.calls)).rejects.toMatchObject({
      name: "StoreFailure",
      verb,
      code: "store-unavailable",
      cause: down,
      message: `the own store failed at ${verb}: Error`,
    });
    expect(throwing.events).toContainEqual({ type: "store-call", store: "own", verb, durationMs: 0, error: down });
    const hanging = setUp(() => new Promise(() => undefined));
    const hung = call(hanging.calls).catch((error: unknown) => error);
    const boundMs = { list: 3_601_000, sweep: 1_250, renew: 700 }[verb] ?? 1_000;
    await hanging.clock.advance(boundMs - 1);
    expect(hanging.events).toEqual([]);
    await hanging.clock.advance(1);
    expect(await hung).toMatchObject({
      verb,
      message: `the own store failed at ${verb}: no answer within ${boundMs} ms`,
    });
    expect(hanging.events[0]).toMatchObject({ type: "store-call", verb, durationMs: boundMs });
  });

  it.each([
    ["claim", "before-claim", "after-claim"],
    ["complete", "before-complete", "after-complete"],
    ["release", "before-release", "after-release"],
    ["suspend", "before-suspend", "after-suspend"],
    ["startStep", "before-step-start", "after-step-start"],
    ["finishStep", "before-step-finish", "after-step-finish"],
    ["renew", "before-renew", "after-renew"],
  ])("%s passes its fault points", async (verb, before, after) => {
    const order: string[] = [];
    const { calls } = setUp(
      async (name) => {
        order.push(name);
        return {};
      },
      async (point) => void order.push(point),
    );
    await verbs.find(([name]) => name === verb)?.[1](calls);
    expect(order).toEqual([before, verb, after]);
  });

  it("a claim may take as long as it waits beyond the bound; on a file of its own there is none", async () => {
    const { calls, clock, events } = setUp(() => new Promise(() => undefined));
    const waiting = { ...claimRequest, waitMs: 500 };
    const all = [
      calls.claim(waiting),
      calls.claimAnyhow(waiting),
      calls.claimAnyhow(waiting, { writesAlone: false } as never),
      calls.complete(claim as never, {} as never),
      calls.claimAnyhow(waiting, { writesAlone: true } as never),
      calls.complete(claim as never, { writesAlone: true } as never),
    ].map((call) => call.catch(() => undefined));
    const told = (): number =>
      events.filter((event) => event.type === "store-call" && ["claim", "complete"].includes(event.verb)).length;
    await clock.advance(1_000);
    expect(told(), "the completion").toBe(1);
    await clock.advance(499);
    expect(told()).toBe(1);
    await clock.advance(1);
    expect(told()).toBe(4);
    await clock.advance(1e9);
    expect(told(), "two are still waited for").toBe(all.length - 2);
  });

  it("without a bound it fails and works as with one, with the transaction that it is given", async () => {
    const handle = { writesAlone: true } as never;
    const working = setUp(async () => "ok");
    expect(await working.calls.complete(claim as never, handle)).toBe("ok");
    expect(working.asked).toEqual([["complete", claim, handle]]);
    expect(working.events).toMatchObject([{ type: "store-call", verb: "complete" }]);
    const failing = setUp(() => Promise.reject(new Error("down")));
    await expect(failing.calls.claimAnyhow(claimRequest, handle)).rejects.toMatchObject({ verb: "claim" });
    expect(failing.asked).toEqual([["claim", claimRequest, handle]]);
    expect(failing.events).toMatchObject([{ type: "store-call", verb: "claim" }, { code: "store-failed" }]);
  });
});

describe("a claim that failed", () => {
  const minutes = 60_000;

  it("is looked for where it may have been granted, and not where the store can never grant it", async () => {
    for (const [error, looks] of [
      [new Error("down"), true],
      [new IchidoError("schema-missing", "no tables"), false],
    ] as const) {
      const { calls, asked, clock } = setUp((verb) => (verb === "claim" ? Promise.reject(error) : undefined));
      await expect(calls.claim(claimRequest)).rejects.toThrow();
      await clock.advance(5 * minutes);
      expect(asked.some(([verb]) => verb === "find")).toBe(looks);
    }
  });

  /** What is asked of the store because of a claim that is answered after all looks for it are over. */
  async function answeredLate(result: object, giveBack: () => unknown = () => "ok") {
    const late = Promise.withResolvers<unknown>();
    const { calls, asked, clock } = setUp(async (verb) => {
      if (verb === "claim") return late.promise;
      return verb === "find" ? undefined : giveBack();
    });
    const failed = expect(calls.claim(claimRequest)).rejects.toThrow("no answer");
    await clock.advance(5 * minutes);
    await failed;
    asked.length = 0;
    late.resolve(result);
    await clock.advance(1);
    return { asked, clock };
  }

  it.each([
    ["release", "new"],
    ["suspend", "lapsed"],
  ])("is given back however late it is granted: by %s where it is %s", async (verb, origin) => {
    const { asked } = await answeredLate({ outcome: "granted", fence: 7, origin });
    expect(asked).toEqual([[verb, { identity, owner: claim.owner, fence: 7 }]]);
  });

  it("is looked for again where that fails, and left alone where it is refused late", async () => {
    const failing = await answeredLate({ outcome: "granted", fence: 7, origin: "new" }, () =>
      Promise.reject(new Error("down")),
    );
    await failing.clock.advance(1_000);
    expect(failing.asked.map(([verb]) => verb).slice(0, 2)).toEqual(["release", "find"]);
    const refused = await answeredLate({ outcome: "mismatch" });
    await refused.clock.advance(5 * minutes);
    expect(refused.asked).toEqual([]);
  });
});

describe("a transaction that does not begin", () => {
  it("is a failure at begin, and stands until one begins; what the function throws goes through", async () => {
    const { calls } = setUp();
    const error = new Error("no connection");
    const broken = { run: () => Promise.reject(error) } as never;
    expect(calls.beginProblem).toBeUndefined();
    await expect(calls.begin(broken, async () => undefined, {})).rejects.toMatchObject({ verb: "begin", cause: error });
    expect(calls.beginProblem).toMatchObject({ message: "the own store failed at begin: Error" });
    const given: unknown[] = [];
    const works = {
      run: async (fn: (...args: unknown[]) => Promise<void>, options: unknown) => {
        given.push(options);
        await fn("tx", "handle");
      },
    } as never;
    const thrown = new Error("of the function");
    const fails = (...args: unknown[]): Promise<void> => {
      given.push(...args);
      return Promise.reject(thrown);
    };
    await expect(calls.begin(works, fails as never, { callMs: 5 })).rejects.toBe(thrown);
    expect(given).toEqual([{ callMs: 5 }, "tx", "handle"]);
    expect(calls.beginProblem).toBeUndefined();
  });
});

describe("the words for a failure", () => {
  it.each([
    [new Error("secret"), "Error", "store-unavailable"],
    [Object.assign(new Error("secret"), { code: "ECONNREFUSED" }), "Error ECONNREFUSED", "store-unavailable"],
    [Object.assign(new Error("secret"), { code: 7 }), "Error", "store-unavailable"],
    ["secret", "it threw what is no error", "store-unavailable"],
    [null, "it threw what is no error", "store-unavailable"],
    [new TypeError("x is not a function"), "TypeError: x is not a function", "internal-error"],
    [new TypeError("fetch failed", { cause: 1 }), "TypeError", "store-unavailable"],
    [new DeadlineExceeded("no answer within 5 ms"), "no answer within 5 ms", "store-unavailable"],
    [new IchidoError("schema-missing", "no tables"), "no tables", "schema-missing"],
    [new IchidoError("commit-failed", "lost"), "lost", "store-unavailable"],
  ])("%o is %j, by the code %s, and quotes no driver", (cause, reason, code) => {
    expect(codeOf(cause)).toBe(code);
    const failure = new StoreFailure("own", "claim", cause);
    expect(failure).toMatchObject({ message: `the own store failed at claim: ${reason}`, code, name: "StoreFailure" });
  });

  it("a caller is told no more than what concerns it", () => {
    const failure = (cause: unknown): StoreFailure => new StoreFailure("own", "claim", cause);
    expect(failureDetail(failure(new DeadlineExceeded("")))).toBe("the store did not answer in time");
    expect(failureDetail(failure(new Error("x")))).toBe("the store refused or could not be reached");
    expect(failureDetail(new DeadlineExceeded(""))).toBe("the store refused or could not be reached");
    expect(failureDetail(failure(new IchidoError("schema-missing", "x")))).toBe(
      "The service is not set up as it must be; its log says why.",
    );
  });

  it("tells what a store can never take, and an answer that was not heard", () => {
    const code = "value-not-serialisable";
    expect(isUnstorable(new StoreFailure("own", "complete", new IchidoError(code, "too large")))).toBe(true);
    expect(isUnstorable(new StoreFailure("own", "complete", new IchidoError("usage-invalid", "x")))).toBe(false);
    expect(isUnstorable(new StoreFailure("own", "complete", new Error("x")))).toBe(false);
    expect(isUnstorable(new IchidoError(code, "x", { cause: new IchidoError(code, "x") }))).toBe(false);
    expect(isUnheard({ outcome: "mismatch", unheard: true } as never)).toBe(true);
    expect(isUnheard({ outcome: "mismatch" })).toBe(false);
  });
});

it("where nobody listens no call is told of, but trouble is", async () => {
  const events: IchidoEvent[] = [];
  const { environment } = fakeClock();
  const store = { name: "own", ping: async () => undefined, find: () => Promise.reject(new Error("x")) } as never;
  const emit = (event: IchidoEvent): void => void events.push(event);
  const calls = createStoreCalls({
    store,
    environment,
    timeoutMs: 1_000,
    emit,
    isHeard: () => false,
    faults: undefined,
  });
  await calls.ping();
  await expect(calls.find(identity)).rejects.toThrow();
  expect(events).toMatchObject([{ type: "warning", code: "store-failed" }]);
});
