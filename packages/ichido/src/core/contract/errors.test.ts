import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, problemIn } from "../../../../../test/support/engine-bed.ts";
import { catalogue, IchidoError, isIchidoError } from "./errors.ts";
import { CommitFailed, GivenUp, TransactionAborted } from "./transaction.ts";

/** A second copy of the module, as a program has that installed ichido twice. */
async function copied(): Promise<typeof import("./errors.ts")> {
  const path = "./errors.ts?copy";
  return (await import(path)) as typeof import("./errors.ts");
}

describe("every error is an IchidoError with a code", () => {
  it("is recognised by its brand, also from another copy of ichido", async () => {
    const other = await copied();
    const error = new other.IchidoError("schema-missing", "no tables");
    expect(error).not.toBeInstanceOf(IchidoError);
    expect(isIchidoError(error)).toBe(true);
    for (const stranger of [new Error("x"), null, undefined, "schema-missing", { code: "schema-missing" }]) {
      expect(isIchidoError(stranger)).toBe(false);
    }
  });

  it("has its status also by the names that frameworks look for", () => {
    const named = ({ status, statusCode, expose }: IchidoError): unknown[] => [status, statusCode, expose];
    expect(named(new IchidoError("fence-lost", "taken over"))).toEqual([409, 409, true]);
    expect(named(new IchidoError("idempotency-in-flight", "wait", { status: 503 }))).toEqual([503, 503, false]);
    expect(named(new IchidoError("access-denied", "grant it"))).toEqual([500, 500, undefined]);
  });

  it("can be given another status, as http-errors does with an error of somebody else's", () => {
    const error = new IchidoError("store-unavailable", "away");
    const given = { expose: true, status: 418, statusCode: 418 };
    expect(Object.assign(error, given)).toMatchObject({ ...given, code: "store-unavailable" });
  });

  it("what runners of transactions throw has a code", () => {
    for (const error of [new CommitFailed("lost"), new GivenUp(), new TransactionAborted()]) {
      expect(isIchidoError(error) && error.code in catalogue).toBe(true);
    }
  });

  it("a step on a failing store, a lost fence and an open outcome have codes", async () => {
    const { ask, store, clock } = bed({ leaseMs: 1_000, onUnknown: "hold" });
    const first = executionOf(await ask());
    store.break("startStep", "fail", 1);
    await expect(first.context.step("a", () => 1)).rejects.toMatchObject({ code: "store-unavailable" });
    const unfinished = first.context.step("b", () => Promise.reject(new Error("no answer")));
    await expect(unfinished).rejects.toThrow("no answer");
    await expect(first.context.step("b", () => 1)).rejects.toMatchObject({ code: "outcome-unknown" });
    const second = executionOf(await ask({ key: "key-2", route: { onUnknown: "rerun" } }));
    store.break("renew", "fail");
    await clock.advance(2_000);
    await expect(second.context.step("a", () => 1)).rejects.toMatchObject({ code: "fence-lost" });
    expect(isIchidoError(second.context.signal.reason)).toBe(true);
  });

  it("an answer that is none is told as such", async () => {
    const { ask } = bed();
    const first = executionOf(await ask());
    await expect(first.context.unknown(undefined as never)).rejects.toMatchObject({
      code: "usage-invalid",
      message: expect.stringContaining("{ status, headers, body }") as string,
    });
  });
});

describe("what no waiting mends is not called unavailable", () => {
  const throwing = (error: unknown): Parameters<typeof bed>[1] => {
    const { store } = bed();
    return () => ({ ...store, name: "sample", claim: () => Promise.reject(error as Error) });
  };
  const request = { operation: "a", scope: { principal: "p" }, key: "k" };

  it.each([
    ["schema-missing", new IchidoError("schema-missing", "the tables are missing; run migrate()"), "run migrate()"],
    ["internal-error", new TypeError("x is not a function"), "x is not a function"],
  ] as const)("%s reaches the caller, over HTTP without a word of the cause", async (code, error, words) => {
    const { ask, ichido } = bed({}, throwing(error));
    const problem = problemIn(await ask());
    expect(problem).toMatchObject({ status: 500, code, retryable: false });
    expect(JSON.stringify(problem)).not.toContain(words);
    await expect(ichido.run(request, () => 1)).rejects.toMatchObject({
      code,
      retryable: false,
      message: expect.stringContaining(words) as string,
    });
  });

  it("an outage stays one, also where the driver throws a TypeError for it, and its text is not repeated", async () => {
    const outages = [
      Object.assign(new Error("secret of the driver"), { code: "ECONNREFUSED" }),
      new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }),
    ];
    for (const outage of outages) {
      const { ask, ichido } = bed({}, throwing(outage));
      expect(problemIn(await ask())).toMatchObject({ status: 503, code: "store-unavailable", retryable: true });
      await expect(ichido.run(request, () => 1)).rejects.toMatchObject({
        code: "store-unavailable",
        message: expect.not.stringContaining("secret") as string,
      });
    }
  });

  it("the same request runs once the store works", async () => {
    const { ask, store } = bed();
    store.break("claim", "fail", 1);
    expect(problemIn(await ask())).toMatchObject({ status: 503 });
    expect((await answer(executionOf(await ask()))).kind).toBe("send");
  });
});
