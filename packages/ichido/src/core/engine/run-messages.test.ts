import { describe, expect, it } from "vitest";
import { bed } from "../../../../../test/support/engine-bed.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { RunRequest } from "./run.ts";

const request = (more: Partial<RunRequest> = {}): RunRequest => ({
  operation: "mail.send",
  scope: { principal: "p" },
  key: "k-1",
  ...more,
});

const boom = (): never => {
  throw new Error("boom");
};

describe("what run rejects with says what happened and what to do", () => {
  it("another input, a call that runs, an outcome that is open, a process that ends", async () => {
    const { ichido, clock } = bed();
    const gate = Promise.withResolvers<number>();
    const first = ichido.run(request(), () => gate.promise);
    await clock.advance(1);
    await expect(ichido.run(request({ input: 1 }), () => 1)).rejects.toMatchObject({
      code: "idempotency-key-reused",
      message: "mail.send: this key was used before with another input; use a new key",
    });
    await expect(ichido.run(request(), () => 1)).rejects.toMatchObject({
      code: "idempotency-in-flight",
      message: "mail.send: a call with this key is still running; ask again later",
    });
    gate.resolve(1);
    await first;
    const held = request({ key: "k-2", onUnknown: "hold" });
    await expect(ichido.run(held, boom)).rejects.toThrow("boom");
    const open = {
      code: "outcome-unknown",
      message: "mail.send: an earlier call with this key ended without telling its outcome",
    };
    await expect(ichido.run(held, () => 1)).rejects.toMatchObject(open);
    const verify = (): { verdict: "not-visible-yet" } => ({ verdict: "not-visible-yet" });
    const verified = request({ key: "k-3", onUnknown: { verify } });
    await expect(ichido.run(verified, boom)).rejects.toThrow("boom");
    await expect(ichido.run(verified, () => 1)).rejects.toMatchObject(open);
    await ichido.close();
    await expect(ichido.run(request(), () => 1)).rejects.toMatchObject({
      code: "engine-closed",
      message: "mail.send: this process is shutting down",
    });
  });

  it("a store that is full, or takes no more of this caller, or fails", async () => {
    const small = (clock: { nowMs: () => number }) => memoryStore({ recordsMax: 2, nowMs: clock.nowMs });
    const { ichido, store } = bed({}, small);
    await ichido.run(request(), () => 1);
    await expect(ichido.run(request({ key: "k-2" }), () => 1)).rejects.toMatchObject({
      code: "quota-exceeded",
      message: "mail.send: this scope has its share of the store; no new keys of it",
    });
    await ichido.run(request({ scope: { principal: "another" } }), () => 1);
    await expect(ichido.run(request({ scope: { principal: "third" } }), () => 1)).rejects.toMatchObject({
      code: "store-unavailable",
      message: "mail.send: the store is full and takes no new keys",
    });
    store.break("claim", "fail");
    await expect(ichido.run(request(), () => 1)).rejects.toMatchObject({
      code: "store-unavailable",
      message: "mail.send: nothing was run, because the memory store failed at claim: Error",
      cause: { name: "StoreFailure", verb: "claim" },
    });
  });

  it("a key that is none, an option that is none, a value that was not kept", async () => {
    const { ichido } = bed();
    for (const key of [undefined, 7, "", "tab\t"]) {
      await expect(ichido.run(request({ key: key as string }), () => 1)).rejects.toMatchObject({
        code: "idempotency-key-invalid",
        message: "mail.send: key must be 1 to 255 printable ASCII characters",
      });
    }
    await expect(ichido.run(request({ zzzzzz: 1 } as never), () => 1)).rejects.toThrow(
      "option zzzzzz: ichido.run has no such option; it has operation, scope, key, input, onUnknown, leaseMs, retentionMs, inFlight, labels",
    );
    await expect(ichido.run(request(), () => 1n)).rejects.toThrow(
      "the returned value is a bigint, which cannot be stored and given back unchanged",
    );
    await expect(ichido.run(request(), () => 1)).rejects.toMatchObject({
      code: "response-not-stored",
      message: "mail.send: done before, but its value was not kept; it is not run again",
    });
  });

  it("a lease that was lost: a person's business under hold, the next caller's otherwise", async () => {
    for (const [onUnknown, code] of [
      ["hold", "outcome-unknown"],
      ["rerun", "idempotency-in-flight"],
    ] as const) {
      const { ichido, clock, store } = bed({ leaseMs: 1_000, onUnknown });
      const gate = Promise.withResolvers<number>();
      const call = ichido.run(request(), () => gate.promise);
      await clock.advance(1);
      const [record = expect.fail()] = (await store.list({ limit: 1 })).records;
      store.break("renew", "fail");
      await clock.advance(2_000);
      const decision = { kind: "release" } as const;
      await store.settle({ identity: record.identity, fence: record.fence, decision, actor: "ann", reason: "x" });
      gate.resolve(1);
      await expect(call).rejects.toMatchObject({
        code,
        message: "the lease of this call was lost; ask again with the same key",
      });
    }
  });

  it("a function that stops at its lost lease, or leaves the outcome open, and why", async () => {
    const { ichido, clock, store } = bed({ leaseMs: 1_000 });
    const gate = Promise.withResolvers<void>();
    const call = ichido.run(request(), async ({ step }) => {
      await gate.promise;
      return step("bank", () => 1);
    });
    await clock.advance(1);
    store.break("renew", "fail");
    await clock.advance(2_000);
    gate.resolve();
    await expect(call).rejects.toMatchObject({ code: "idempotency-in-flight", cause: { code: "fence-lost" } });
    store.mend();
    const open = ichido.run(request({ key: "k-2" }), async ({ unknown }) => {
      await unknown({ status: 202 });
      throw new Error("stopped here");
    });
    await expect(open).rejects.toMatchObject({
      code: "outcome-unknown",
      message: "the outcome of this call is open; ask again with the same key",
      cause: { message: "stopped here" },
    });
    const returned = ichido.run(request({ key: "k-3" }), async ({ unknown }) => unknown({ status: 202 }));
    await expect(returned).rejects.toMatchObject({ code: "outcome-unknown" });
  });
});

describe("what run tells", () => {
  it("in the words of a request, with the time that it took, and never the key", async () => {
    const { ichido, events, clock, store } = bed();
    await clock.advance(5);
    await ichido.run(request(), () => clock.advance(7).then(() => 1));
    store.break("claim", "late", 1);
    const replayed = ichido.run(request(), () => 2);
    await clock.advance(3);
    store.arrive();
    await replayed;
    await expect(ichido.run(request({ input: 2 }), () => 3)).rejects.toThrow();
    store.break("claim", "fail");
    await expect(ichido.run(request(), () => 4)).rejects.toThrow();
    const told = events.filter((event) => event.type === "request");
    const keyHash = expect.stringMatching(/^[0-9a-f]{8}$/) as string;
    const common = { type: "request", operation: "mail.send", observed: false, keyHash } as const;
    expect(told).toEqual([
      { ...common, outcome: "executed", status: 200, durationMs: 7, attempt: 1 },
      { ...common, outcome: "replayed", status: undefined, durationMs: 3 },
      { ...common, outcome: "key_reused", status: undefined, durationMs: 0 },
      { ...common, outcome: "store_error", status: undefined, durationMs: 0 },
    ]);
  });

  it("with the link of the console for an outcome that is open, and for no other", async () => {
    const consoleUrl = "https://ops.example/console";
    const { ichido, events } = bed({ consoleUrl, operationIdSecret: "a secret of thirty-two characters" });
    await ichido.run(request(), () => 1);
    await ichido.run(request(), () => 2);
    const held = request({ key: "k-2", onUnknown: "hold" });
    await expect(ichido.run(held, boom)).rejects.toThrow("boom");
    await expect(ichido.run(held, () => 3)).rejects.toMatchObject({ code: "outcome-unknown" });
    const told = events.filter((event) => event.type === "request");
    expect(told.map((event) => [event.outcome, "console" in event])).toEqual([
      ["executed", false],
      ["replayed", false],
      ["executed", true],
      ["outcome_unknown", true],
    ]);
  });

  it("is protected although the engine only observes, by the options of the call", async () => {
    const { ichido, store } = bed({ enforce: false });
    const call = request({ leaseMs: 5_000, retentionMs: 200_000, labels: { order: "o-1" } });
    expect(await ichido.run(call, () => 1)).toEqual({ value: 1, replayed: false });
    expect(await ichido.run(call, () => 2)).toEqual({ value: 1, replayed: true });
    const [record = expect.fail()] = (await store.list({ limit: 1 })).records;
    expect(record.expiresAtMs - record.createdAtMs).toBe(200_000);
    expect(record.labels).toEqual({ order: "o-1" });
  });
});
