import { describe, expect, it } from "vitest";
import { bed } from "../../../../../test/support/engine-bed.ts";
import { createIchido } from "./create-ichido.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { RunRequest } from "./run.ts";
import { settle } from "./settlement.ts";
import { sampleResponse, settlement } from "../../testing/store-suite/samples.ts";

const scope = { tenant: "acme", principal: "alice" };
const request = (more: Partial<RunRequest> = {}): RunRequest => ({
  operation: "mail.send",
  scope,
  key: "k-1",
  input: { to: 1 },
  ...more,
});

describe("run", () => {
  it("K-02 runs the function once and gives the stored value afterwards", async () => {
    const { ichido } = bed();
    let runs = 0;
    const send = async (): Promise<{ id: number }> => ({ id: (runs += 1) });
    expect(await ichido.run(request(), send)).toEqual({ value: { id: 1 }, replayed: false });
    expect(await ichido.run(request(), send)).toEqual({ value: { id: 1 }, replayed: true });
    expect(runs).toBe(1);
  });

  it.each([undefined, null, false, 0, "", [], {}])("A19 gives %j back unchanged", async (value) => {
    const { ichido } = bed();
    await ichido.run(request(), () => value);
    expect(await ichido.run(request(), () => "never")).toEqual({ value, replayed: true });
  });

  it("K-05 input is what is compared: another input is refused, an absent one is an input of its own", async () => {
    const { ichido } = bed();
    await ichido.run(request(), () => 1);
    await expect(ichido.run(request({ input: { to: 2 } }), () => 2)).rejects.toMatchObject({
      code: "idempotency-key-reused",
    });
    await expect(ichido.run({ operation: "mail.send", scope, key: "k-1" }, () => 2)).rejects.toMatchObject({
      status: 422,
    });
  });

  it("C-01 a second call while the first runs is refused, or waits where told", async () => {
    const { ichido, clock } = bed();
    const gate = Promise.withResolvers<number>();
    const first = ichido.run(request(), () => gate.promise);
    await clock.advance(1);
    await expect(ichido.run(request(), () => 2)).rejects.toMatchObject({
      code: "idempotency-in-flight",
      retryable: true,
    });
    const waiting = ichido.run(request({ inFlight: { waitMs: 5_000 } }), () => 3);
    await clock.advance(50);
    gate.resolve(1);
    expect(await first).toEqual({ value: 1, replayed: false });
    await clock.advance(1_000);
    expect(await waiting).toEqual({ value: 1, replayed: true });
  });

  it("a throw follows onUnknown: rerun runs again, hold does not", async () => {
    const { ichido } = bed();
    const boom = (): never => {
      throw new Error("boom");
    };
    await expect(ichido.run(request(), boom)).rejects.toThrow("boom");
    expect((await ichido.run(request(), () => "again")).value).toBe("again");
    await expect(ichido.run(request({ key: "k-2", onUnknown: "hold" }), boom)).rejects.toThrow("boom");
    const held = ichido.run(request({ key: "k-2", onUnknown: "hold" }), () => 1);
    await expect(held).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it.each([
    ["a page", { status: 200, headers: { "content-type": "text/html" }, body: "<b>paid</b>" }],
    [
      "bytes that are no text",
      { status: 200, headers: { "content-type": "application/json" }, body: new Uint8Array([255]) },
    ],
  ])(
    "an answer adopted for its key that is no value (%s) is an error of ichido's own, and nothing runs",
    async (_, answer) => {
      const { ichido, store } = bed({ onUnknown: "hold" });
      await ichido.run(request(), () => Promise.reject(new Error("boom"))).catch(() => undefined);
      const [record] = (await store.list({ limit: 1 })).records;
      if (record === undefined) throw new Error("there is no record");
      const decision = { kind: "adopt", answer } as const;
      expect(await settle(store, { record: record.identity, decision, actor: "ann", reason: "seen at the bank" })).toBe(
        "ok",
      );
      await expect(ichido.run(request(), () => expect.unreachable())).rejects.toMatchObject({
        code: "response-not-stored",
        retryable: false,
        message: expect.stringMatching(/^mail\.send: done before, but its answer \((text\/html|application\/json)\)/),
      });
    },
  );

  it.each([
    ["text/plain; charset=utf-8", "paid"],
    ["application/octet-stream; type=receipt", new TextEncoder().encode("paid")],
  ])("an answer adopted for its key is a value by its type, whatever is said beside that: %s", async (type, value) => {
    const { ichido, store } = bed({ onUnknown: "hold" });
    await ichido.run(request(), () => Promise.reject(new Error("boom"))).catch(() => undefined);
    const [{ identity: record } = expect.unreachable()] = (await store.list({ limit: 1 })).records;
    const decision = {
      kind: "adopt",
      answer: { status: 200, headers: { "content-type": type }, body: "paid" },
    } as const;
    await settle(store, { record, decision, actor: "ann", reason: "seen at the bank" });
    expect(await ichido.run(request(), () => expect.unreachable())).toEqual({ value, replayed: true });
  });

  it("an answer without a type that is no JSON either is told as that", async () => {
    const { ichido, store } = bed({ onUnknown: "hold" });
    await ichido.run(request(), () => Promise.reject(new Error("boom"))).catch(() => undefined);
    const [record = expect.unreachable()] = (await store.list({ limit: 1 })).records;
    const response = sampleResponse({ headers: [], body: new Uint8Array([255]) });
    await store.settle(settlement(record, { kind: "adopt", response }));
    await expect(ichido.run(request(), () => expect.unreachable())).rejects.toMatchObject({
      message: expect.stringContaining("its answer (without a type) is neither") as string,
      cause: expect.any(Error) as unknown,
    });
  });

  it("verify that cannot tell yet is outcome-unknown", async () => {
    const { ichido } = bed();
    const onUnknown = { verify: () => ({ verdict: "not-visible-yet" as const }) };
    await expect(ichido.run(request({ onUnknown }), () => Promise.reject(new Error("x")))).rejects.toThrow("x");
    await expect(ichido.run(request({ onUnknown }), () => 1)).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it.each([
    ["a date", { at: new Date(0) }],
    ["a map", new Map()],
    ["not a number", Number.NaN],
    ["a bigint", 1n],
    ["a function", () => 1],
  ])(
    "a value that cannot be given back (%s) is refused by name, and what was done is not run again",
    async (_, value) => {
      const { ichido } = bed();
      await expect(ichido.run(request(), () => value as unknown)).rejects.toMatchObject({
        code: "value-not-serialisable",
      });
      await expect(ichido.run(request(), () => 1)).rejects.toMatchObject({ code: "response-not-stored" });
    },
  );

  it("a cycle is refused instead of hanging", async () => {
    const { ichido } = bed();
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    await expect(ichido.run(request(), () => cycle)).rejects.toMatchObject({ code: "value-not-serialisable" });
  });

  it.each(["", "x".repeat(256), "tab\t", "é", undefined])("refuses the key %j and runs nothing", async (key) => {
    const { ichido, store } = bed();
    await expect(ichido.run(request({ key: key as string }), () => 1)).rejects.toMatchObject({
      code: "idempotency-key-invalid",
    });
    expect(store.calls).not.toContain("claim");
  });

  it("takes keys with quotes and backslashes as they are", async () => {
    const { ichido } = bed();
    await ichido.run(request({ key: 'a"b\\c' }), () => 1);
    expect((await ichido.run(request({ key: 'a"b\\c' }), () => 2)).replayed).toBe(true);
  });

  it("refuses a scope that names nobody, a bad operation and bad options before claiming", async () => {
    const { ichido } = bed();
    await expect(ichido.run(request({ scope: {} }), () => 1)).rejects.toMatchObject({ code: "scope-missing" });
    await expect(ichido.run(request({ operation: "" }), () => 1)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(ichido.run(request({ leaseMs: 90_000 }), () => 1)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(ichido.run(request({ retentionMs: 1 }), () => 1)).rejects.toMatchObject({ code: "option-invalid" });
  });

  it("a store that fails means nothing was run", async () => {
    const { ichido, store } = bed();
    store.break("claim", "fail");
    let runs = 0;
    await expect(ichido.run(request(), () => (runs += 1))).rejects.toMatchObject({ code: "store-unavailable" });
    expect(runs).toBe(0);
  });

  it("a full store is told apart from a running call", async () => {
    const store = memoryStore({ recordsMax: 2 });
    const ichido = createIchido({ store, scope: () => scope, onUnknown: "rerun", sweepMs: "off" });
    await ichido.run(request(), () => 1);
    await expect(ichido.run(request({ key: "k-2" }), () => 1)).rejects.toMatchObject({ code: "quota-exceeded" });
    await ichido.run(request({ scope: { principal: "another" } }), () => 1);
    const other = { key: "k-2", scope: { principal: "third" } };
    await expect(ichido.run(request(other), () => 1)).rejects.toMatchObject({ code: "store-unavailable" });
    await ichido.close();
    await expect(ichido.run(request({ key: "k-3" }), () => 1)).rejects.toMatchObject({ code: "engine-closed" });
  });

  it("a call that lost its lease does not pretend", async () => {
    const { ichido, clock, store } = bed({ leaseMs: 1_000 });
    const gate = Promise.withResolvers<number>();
    const zombie = ichido.run(request(), () => gate.promise);
    await clock.advance(1);
    store.break("renew", "fail");
    await clock.advance(1_500);
    store.mend();
    expect((await ichido.run(request(), () => "successor")).value).toBe("successor");
    gate.resolve(1);
    await expect(zombie).rejects.toMatchObject({ code: "idempotency-in-flight", retryable: true });
  });

  it("labels are stored", async () => {
    const { ichido, store } = bed();
    await ichido.run(request({ labels: { order: "o-1" } }), () => 1);
    expect((await store.list({ limit: 1, label: { name: "order", value: "o-1" } })).records).toHaveLength(1);
  });

  it("warnings go to the process where no onEvent takes them", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const ichido = createIchido({ store: memoryStore(), scope: () => scope, onUnknown: "rerun", retentionMs: 1_000 });
    await ichido.start();
    expect((await warned).message).toContain("24 hours");
    await ichido.close();
  });
});
