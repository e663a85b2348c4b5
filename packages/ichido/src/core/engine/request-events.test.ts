import { describe, expect, it } from "vitest";
import {
  answer,
  alice,
  bed,
  executionOf,
  problemIn,
  responseOf,
  type Caller,
} from "../../../../../test/support/engine-bed.ts";
import { RequestBodyError } from "../contract/errors.ts";

const keyHash = expect.stringMatching(/^[0-9a-f]{8}$/) as string;

describe("the event of a request", () => {
  it("has its outcome, status and duration, and the hash of a key that was read", async () => {
    const { ask, events, clock, store } = bed();
    const first = executionOf(await ask());
    store.break("claim", "late", 1);
    const second = ask();
    await clock.advance(4);
    store.arrive();
    await second;
    await answer(first);
    await ask();
    await ask({ body: { amount: 7 } });
    await ask({ key: undefined });
    await ask({ key: "" });
    await ask({ key: undefined, route: { required: false } });
    const common = { type: "request", operation: "payment.create", observed: false, durationMs: 0 } as const;
    expect(events.filter(({ type }) => type === "request")).toEqual([
      { ...common, outcome: "in_progress", status: 409, durationMs: 4, keyHash },
      { ...common, outcome: "executed", status: 201, durationMs: 4, keyHash, attempt: 1 },
      { ...common, outcome: "replayed", status: 201, keyHash },
      { ...common, outcome: "key_reused", status: 422, keyHash },
      { ...common, outcome: "key_missing", status: 400 },
      { ...common, outcome: "key_invalid", status: 400 },
      { ...common, outcome: "bypassed", status: undefined },
    ]);
  });

  it("has the words of the metrics for each refusal", async () => {
    const all = bed({ inFlight: { waitMs: 1_000 }, onUnknown: "hold" });
    const first = executionOf(await all.ask());
    const waited = all.ask();
    await all.clock.advance(10);
    await answer(first);
    await all.clock.advance(1_000);
    await waited;
    await executionOf(await all.ask({ key: "streamed" })).beginStream({ status: 200, headers: [] });
    await all.ask({ key: "streamed" });
    await executionOf(await all.ask({ key: "held" })).settle({ kind: "threw", error: 1 });
    await all.ask({ key: "held" });
    await all.ichido.close();
    await all.ask({ key: "late" });
    expect(all.outcomes()).toEqual([
      "executed",
      "replayed_after_wait",
      "executed",
      "response_not_stored",
      "executed",
      "outcome_unknown",
      "refused",
    ]);
  });

  it("leads to the record in the console where its outcome is open, and only there", async () => {
    const operationIdSecret = "a secret of thirty-two characters";
    const { ask, serve, events } = bed({ onUnknown: "hold", consoleUrl: "https://ops.example", operationIdSecret });
    await serve();
    await ask();
    await ask({ key: "" });
    await executionOf(await ask({ key: "held" })).settle({ kind: "threw", error: 1 });
    await ask({ key: "held" });
    const requests = events.filter((event) => event.type === "request");
    expect(requests.map(({ outcome, console }) => [outcome, console?.slice(0, 27)])).toEqual([
      ["executed", undefined],
      ["replayed", undefined],
      ["key_invalid", undefined],
      ["executed", "https://ops.example/#/keys/"],
      ["outcome_unknown", "https://ops.example/#/keys/"],
    ]);
  });

  it("is told to listeners that come later, and no longer to those that went", async () => {
    const { ichido, serve } = bed({ onEvent: undefined } as never);
    const heard: string[] = [];
    const off = ichido.on(({ type }) => void heard.push(type));
    await serve();
    expect(heard).toContain("request");
    off();
    const before = heard.length;
    await serve({ key: "key-2" });
    expect(heard).toHaveLength(before);
  });
});

describe("a request that cannot be read", () => {
  it("is refused where its body cannot be compared, and the program's own error otherwise", async () => {
    const { ask, outcomes } = bed();
    const large = new RequestBodyError("request-too-large", "more than 5 bytes");
    expect(problemIn(await ask({ readBody: () => Promise.reject(large) }))).toMatchObject({
      status: 413,
      code: "request-too-large",
      detail: "more than 5 bytes",
    });
    expect(outcomes()).toEqual(["refused"]);
    const consumed = new RequestBodyError("body-unavailable", "read before");
    await expect(ask({ readBody: () => Promise.reject(consumed) })).rejects.toBe(consumed);
    expect(outcomes()).toEqual(["refused"]);
  });

  it("passes in observe mode, with a warning that says why where that is ours to say", async () => {
    const { ask, events } = bed({ enforce: false });
    const consumed = new RequestBodyError("body-unavailable", "read before");
    expect((await ask({ readBody: () => Promise.reject(consumed) })).kind).toBe("pass");
    const foreign = new Error("with a key in it");
    expect((await ask({ readBody: () => Promise.reject(foreign) })).kind).toBe("pass");
    expect(events.filter(({ type }) => type === "warning")).toEqual([
      {
        type: "warning",
        code: "body-unavailable",
        message: "payment.create: the request could not be observed: read before",
        error: consumed,
      },
      {
        type: "warning",
        code: "observe-failed",
        message: "payment.create: the request could not be observed",
        error: foreign,
      },
    ]);
  });

  it("is told apart by what is asked: method, target, media type and operation", async () => {
    const { ask, serve } = bed();
    await serve();
    for (const other of [{ target: "/payments/2" }, { method: "PATCH" }]) {
      expect(problemIn(await ask(other)), JSON.stringify(other)).toMatchObject({ code: "idempotency-key-reused" });
    }
    expect((await ask()).kind).toBe("replay");
  });
});

describe("what is said of a caller", () => {
  it("a policy that refuses names what is wrong; one that warns names the operation", async () => {
    const { ask, events } = bed({ keyPolicy: { personalData: "refuse", lowEntropy: "warn" } });
    const refused = problemIn(await ask({ key: "a@example.com" }));
    expect(refused).toMatchObject({ status: 400, code: "idempotency-key-invalid" });
    expect(refused["detail"]).not.toBe("");
    await ask({ key: "abc" });
    expect(events.find(({ type }) => type === "warning")).toMatchObject({
      code: "key-low-entropy",
      message: expect.stringMatching(/^payment\.create: ./) as string,
    });
  });

  it("while the process ends, callers are sent to another server", async () => {
    const { ask, ichido } = bed();
    await ichido.close();
    expect(problemIn(await ask())).toMatchObject({
      status: 503,
      code: "engine-closed",
      detail: "Ask another server.",
      retryAfter: 1,
    });
  });

  it("labels: sixteen of at most 255 characters; others are dropped by name, and a function that fails gives none", async () => {
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`label ${at}`, "v".repeat(255)]));
    const { ask, events, store } = bed();
    const given: Record<string, unknown>[] = [
      { ...labels, extra: "x" },
      { [`${"n".repeat(255)}`]: "a", [`${"m".repeat(256)}`]: "b", long: "v".repeat(256), number: 7 },
    ];
    for (const [at, each] of given.entries()) await ask({ key: `key-${at}`, route: { labels: () => each as never } });
    const failing = new Error("no session");
    const fails = (): never => {
      throw failing;
    };
    await ask({ key: "key-2", route: { labels: fails } });
    const { records } = await store.list({ limit: 10 });
    const kept = Object.fromEntries(records.map((record) => [record.identity.key, Object.keys(record.labels).length]));
    expect(kept).toEqual({ "key-0": 16, "key-1": 1, "key-2": 0 });
    expect(events.flatMap((event) => (event.type === "warning" ? [[event.code, event.message]] : []))).toEqual([
      ["label-dropped", 'label "extra" was dropped'],
      ["label-dropped", `label "${"m".repeat(40)}" was dropped`],
      ["label-dropped", 'label "long" was dropped'],
      ["label-dropped", 'label "number" was dropped'],
      ["labels-failed", "payment.create: the labels function failed"],
    ]);
    expect(events.find((event) => event.type === "warning" && event.code === "labels-failed")).toMatchObject({
      error: failing,
    });
  });

  it("who asked: at most 200 characters, whole ones, for the log alone; a function that fails stops nothing", async () => {
    const said: (string | number | undefined)[] = [`${"x".repeat(199)}😀`, 7, undefined];
    const { serve, store, events, ichido } = bed({
      attemptLog: {
        askedBy: () => {
          if (said.length === 0) throw new Error("no session");
          return said.shift() as string;
        },
      },
    });
    for (const key of ["a", "b", "c", "d"]) await serve({ key });
    await ichido.close();
    const [first = expect.fail()] = (await store.list({ limit: 10 })).records.filter(
      ({ identity }) => identity.key === "a",
    );
    const logged = (await store.attempts(first.identity)).map(({ askedBy }) => askedBy);
    expect(logged).toEqual([`${"x".repeat(199)}\ufffd`]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "warning",
        code: "asked-by-failed",
        message: "payment.create: attemptLog.askedBy failed",
      }),
    );
  });
});

describe("a store that fails under a request", () => {
  it("is told once where no call of the store was told of: an engine that cannot run here", async () => {
    const { ask, events } = bed();
    const { versions } = process;
    Object.defineProperty(process, "versions", { value: { ...versions, node: "20.0.0" }, configurable: true });
    try {
      for (const key of ["a", "b"]) expect(responseOf(await ask({ key })).status).toBe(500);
    } finally {
      Object.defineProperty(process, "versions", { value: versions, configurable: true });
    }
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([{ code: "runtime-unsupported" }]);
  });

  it("does not let a handler run unprotected where the claim had worked", async () => {
    const route = { dangerouslyRunWithoutStore: true, profile: "adr-007", inFlight: "conflict" } as const;
    const key = "6f1f3f7c-2f3c-4b77-9a55-1de1a1d1a001";
    const { ask, store } = bed();
    await ask({ key, route });
    store.break("find", "fail");
    expect((await ask({ key, route })).kind).toBe("reject");
    store.break("claim", "fail");
    const other = { tenant: "acme", user: "bob" } satisfies Caller;
    expect((await ask({ key, route, caller: other })).kind).toBe("pass");
    expect((await ask({ key, caller: alice })).kind).toBe("reject");
  });
});
