import { describe, expect, it, vi } from "vitest";
import { providedBy } from "../../testing/provided-by.ts";
import {
  answer,
  alice,
  bed,
  executionOf,
  headerIn,
  problemIn,
  responseOf,
  textOf,
  type Caller,
} from "../../../../../test/support/engine-bed.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { FakeClock } from "../../testing/clock.ts";
import { IchidoError, RequestBodyError } from "../contract/errors.ts";
import type { RequestBody } from "../contract/message.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import type { Store } from "../contract/store.ts";
import { profiles } from "../contract/profiles.ts";

describe("a first request and its retries", () => {
  it("K-01 K-02 runs once, then replays status, headers and bytes with the marker", async () => {
    const { ask, outcomes } = bed();
    const first = executionOf(await ask());
    expect(first.context).toMatchObject({ key: "key-1", attempt: 1 });
    const body = new TextEncoder().encode("exact bytes");
    await answer(first, {
      status: 201,
      headers: [
        ["location", "/p/1"],
        ["link", "a"],
        ["link", "b"],
      ],
      body,
    });
    const second = await ask();
    expect(second.kind).toBe("replay");
    const response = responseOf(second);
    expect(response.status).toBe(201);
    expect(textOf(response)).toBe("exact bytes");
    expect(response.headers).toEqual([
      ["location", "/p/1"],
      ["link", "a"],
      ["link", "b"],
      ["cache-control", "no-store"],
      ["idempotency-replayed", "true"],
    ]);
    expect(outcomes()).toEqual(["executed", "replayed"]);
  });

  it("K-03 refuses a missing key where one is required, with a link to the docs", async () => {
    const { ask } = bed({ docsUrl: "https://docs.example/idempotency" });
    const decision = await ask({ key: undefined });
    expect(problemIn(decision)).toMatchObject({ status: 400, code: "idempotency-key-required", retryable: false });
    expect(headerIn(responseOf(decision), "link")).toBe('<https://docs.example/idempotency>; rel="describedby"');
  });

  it("K-04 passes a request without a key where none is required, and stores nothing", async () => {
    const { ask, store, outcomes } = bed();
    expect((await ask({ key: undefined, route: { required: false } })).kind).toBe("pass");
    expect(store.calls).not.toContain("claim");
    expect(outcomes()).toEqual(["bypassed"]);
  });

  it("M-01 M-02 ignores keys on methods that are not protected", async () => {
    const { ask, store } = bed();
    for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
      expect((await ask({ method, key: '"' })).kind).toBe("pass");
    }
    expect(store.calls).not.toContain("claim");
    expect((await ask({ method: "PUT", key: undefined, route: { methods: ["PUT"] } })).kind).toBe("pass");
    expect((await ask({ method: "PUT", route: { methods: ["PUT"] } })).kind).toBe("execute");
  });

  it("H-05 H-08 refuses malformed keys without touching the store", async () => {
    const { ask, store, outcomes } = bed();
    for (const key of ['""', "", ["a", "b"], "x".repeat(256)]) {
      expect(problemIn(await ask({ key }))).toMatchObject({ status: 400, code: "idempotency-key-invalid" });
    }
    expect(store.calls).not.toContain("claim");
    expect(outcomes()).toEqual(["key_invalid", "key_invalid", "key_invalid", "key_invalid"]);
  });

  it("refuses or warns by the key policy", async () => {
    const { ask, events } = bed();
    const refused = await ask({ key: "a@example.com", route: { keyPolicy: { personalData: "refuse" } } });
    expect(problemIn(refused)).toMatchObject({ code: "idempotency-key-invalid" });
    expect((await ask({ key: "b@example.com" })).kind).toBe("execute");
    expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "key-personal-data" }));
  });

  it("S-01 A08 another tenant with the same key runs on its own", async () => {
    const { ask, serve } = bed();
    await serve();
    expect((await ask({ caller: { tenant: "globex", user: "alice" } })).kind).toBe("execute");
    expect((await ask()).kind).toBe("replay");
  });

  it("shares keys only when told so by name", async () => {
    const { ask, serve } = bed({ scope: undefined, dangerouslyShareKeys: true } as never);
    await serve();
    expect((await ask({ caller: { tenant: "globex", user: "bob" } })).kind).toBe("replay");
  });

  it("a route's own scope wins over the engine's, also where that one shares keys or has no user", async () => {
    const guest = { route: { operation: "user.create", scope: () => ({ principal: "guest" }) } };
    const { ask, serve } = bed({
      scope: ({ user }: Caller) => {
        if (user === "") throw new TypeError("no user");
        return { principal: user };
      },
    });
    const nobody = { tenant: "", user: "" };
    await serve({ ...guest, caller: nobody });
    expect((await ask({ ...guest, caller: alice })).kind).toBe("replay");
    expect((await ask({ caller: alice })).kind).toBe("execute");
    await expect(ask({ caller: nobody })).rejects.toMatchObject({ code: "scope-missing" });

    const shared = bed({ scope: undefined, dangerouslyShareKeys: true } as never);
    const mine = { route: { operation: "mine", scope: ({ user }: Caller) => ({ principal: user }) } };
    await shared.serve({ ...mine, caller: alice });
    expect((await shared.ask({ ...mine, caller: { tenant: "acme", user: "bob" } })).kind).toBe("execute");
  });

  it("a route's scope that is no function is refused at construction", () => {
    expect(() => bed().ichido.route({ operation: "a", scope: "guest" as never })).toThrow(
      /option scope: expected a function/,
    );
  });

  it("a scope that names nobody is an error and claims nothing", async () => {
    const { ask, store } = bed();
    await expect(ask({ caller: { tenant: undefined as never, user: "x" } })).rejects.toMatchObject({
      code: "scope-missing",
    });
    expect(store.calls).not.toContain("claim");
  });

  it("S-02 another operation is independent; under profile stripe it is a mismatch", async () => {
    const { ask, serve } = bed();
    await serve();
    expect((await ask({ route: { operation: "refund.create" } })).kind).toBe("execute");
    const stripe = bed({ profile: "stripe" });
    await stripe.serve();
    expect(problemIn(await stripe.ask({ route: { operation: "refund.create" } }))).toMatchObject({ status: 400 });
  });
});

describe("other content and duplicates in flight", () => {
  it("F-01 reads a body that arrives later, where a library has put its own class in the place of Promise", async () => {
    const { ask } = bed();
    const sent = (text: string) => (): Promise<RequestBody> => {
      const body = Promise.resolve<RequestBody>({ kind: "bytes", bytes: Buffer.from(text) });
      // oxlint-disable-next-line no-thenable -- a promise of another class
      return { then: body.then.bind(body) } as Promise<RequestBody>;
    };
    await answer(executionOf(await ask({ readBody: sent('{"amount":1}') })));
    expect(problemIn(await ask({ readBody: sent('{"amount":9}') }))).toMatchObject({ code: "idempotency-key-reused" });
  });

  it("F-01 F-02 C-03 A14 judges a mismatch before in-flight and never alters the record", async () => {
    const { ask } = bed();
    const first = executionOf(await ask());
    expect(problemIn(await ask({ body: { amount: 200 } }))).toMatchObject({
      status: 422,
      code: "idempotency-key-reused",
    });
    await answer(first);
    expect(problemIn(await ask({ body: { amount: 200 } }))).toMatchObject({ status: 422 });
    expect((await ask()).kind).toBe("replay");
  });

  it("C-02 answers 409 with an integer Retry-After within the lease, and does not store it", async () => {
    const { ask } = bed();
    const first = executionOf(await ask());
    const decision = await ask();
    expect(problemIn(decision)).toMatchObject({
      status: 409,
      code: "idempotency-in-flight",
      retryable: true,
      retryAfter: 1,
    });
    expect(headerIn(responseOf(decision), "retry-after")).toBe("1");
    await answer(first);
    expect((await ask()).kind).toBe("replay");
  });

  it.each([
    ["409", {}],
    ["202", { profile: "polling", statusUrl: (id: string) => `/operations/${id}` } as const],
  ])(
    "C-02 %s: Retry-After is a second while the owner renews, and the rest of the lease once it does not",
    async (_, options) => {
      const { ask, clock, store } = bed({ ...options, leaseMs: 30_000 });
      executionOf(await ask());
      const retryAfter = async (): Promise<string | undefined> => headerIn(responseOf(await ask()), "retry-after");
      for (let beat = 0; beat < 5; beat += 1) {
        await clock.advance(9_000);
        expect(await retryAfter()).toBe("1");
      }
      store.break("renew", "fail");
      await clock.advance(22_500);
      const left = Number(await retryAfter());
      expect(left).toBeGreaterThan(1);
      expect(left).toBeLessThanOrEqual(15);
      await clock.advance(left * 1_000);
      // Whoever comes when he was told to finds nobody in his way.
      executionOf(await ask());
    },
  );

  it("polling answers 202 with the place to ask", async () => {
    const { ask, ichido } = bed({ profile: "polling", statusUrl: (id) => `/operations/${id}` });
    const first = executionOf(await ask());
    const response = responseOf(await ask());
    expect(response.status).toBe(202);
    const { operationId, state } = JSON.parse(textOf(response)) as { operationId: string; state: string };
    expect(state).toBe("processing");
    expect(headerIn(response, "location")).toBe(`/operations/${operationId}`);
    // Addresses end up in logs.
    expect(Buffer.from(operationId, "base64url").includes("key-1")).toBe(false);
    const scope = { tenant: "acme", principal: "alice" };
    expect((await ichido.findOperation(operationId, scope))?.state).toBe("processing");
    expect(await ichido.findOperation(operationId, { tenant: "acme", principal: "bob" })).toBeUndefined();
    expect(await ichido.findOperation("nonsense", scope)).toBeUndefined();
    await answer(first);
    expect((await ichido.findOperation(operationId, scope))?.state).toBe("completed");
  });

  it("a 202 needs an address to ask at: refused at construction without one", () => {
    const { ichido } = bed({ profile: "polling" });
    expect(() => ichido.route({ operation: "a" })).toThrow("option statusUrl");
    expect(() => bed().ichido.route({ operation: "a", inFlight: "accepted" })).toThrow("option statusUrl");
  });

  it("A30 a waiting duplicate gets the winner's answer", async () => {
    const { ask, clock, outcomes } = bed({ inFlight: { waitMs: 5_000 } });
    const first = executionOf(await ask());
    const waiting = ask();
    await clock.advance(300);
    await answer(first);
    await clock.advance(1_000);
    expect((await waiting).kind).toBe("replay");
    expect(outcomes()).toContain("replayed_after_wait");
  });

  it("A30 a waiting duplicate gets the answer of its own process at once, where the store cannot watch", async () => {
    const { ask, clock } = bed({ inFlight: { waitMs: 10_000 } }, ({ nowMs, environment }) => {
      const store: Store = memoryStore({ nowMs, environment });
      delete store.watch;
      return store;
    });
    const first = executionOf(await ask());
    const waiting = ask();
    await clock.advance(300);
    await answer(first);
    await clock.advance(0);
    let told: string | undefined;
    void waiting.then(({ kind }) => (told = kind));
    await clock.advance(0);
    expect(told).toBe("replay");
  });

  it("A30 a waiting duplicate is admitted when the winner released its key, exactly one of many", async () => {
    const { ask, clock } = bed({ inFlight: { waitMs: 5_000 } });
    const first = executionOf(await ask());
    const waiting = Array.from({ length: 20 }, () => ask());
    await clock.advance(100);
    await first.settle({ kind: "threw", error: new Error("boom") });
    let second: Awaited<ReturnType<typeof ask>> | undefined;
    for (const each of waiting)
      void each.then((decision) => (decision.kind === "execute" ? (second = decision) : undefined));
    await clock.advance(1_000);
    expect(second?.kind).toBe("execute");
    await answer(executionOf(second as never));
    await clock.advance(2_000);
    const kinds = (await Promise.all(waiting)).map((decision) => decision.kind);
    expect(kinds.filter((kind) => kind === "execute")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "replay")).toHaveLength(19);
  });

  it("A30 a waiting duplicate gets 409 when its time is up", async () => {
    const { ask, clock } = bed({ inFlight: { waitMs: 1_000 } });
    await ask();
    const waiting = [ask(), ask()];
    await clock.advance(3_000);
    for (const each of waiting) expect(problemIn(await each)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("A30 a store that fails while a duplicate waits opens no door: the one in flight is known to run", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const { ask, clock, store } = bed({ inFlight: { waitMs: 2_000 } });
    const first = executionOf(await ask({ route }));
    const blip = ask({ route });
    await clock.advance(30);
    store.break("claim", "fail", 1);
    await clock.advance(1_000);
    await answer(first);
    await clock.advance(1_000);
    expect((await blip).kind).toBe("replay");
    executionOf(await ask({ key: "key-2", route }));
    const outage = ask({ key: "key-2", route });
    await clock.advance(30);
    store.break("claim", "fail");
    await clock.advance(3_000);
    expect(problemIn(await outage)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("A30 a grant that came too late is given back, never from under the one that the same duplicate got since", async () => {
    const told = Promise.withResolvers<void>();
    let grants = 0;
    const { ask, clock } = bed({ inFlight: { waitMs: 20_000 } }, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        async claim(request) {
          const result = await base.claim(request);
          if (result.outcome === "granted" && (grants += 1) === 2) await told.promise;
          return result;
        },
      };
    });
    const first = executionOf(await ask());
    const waiting = ask();
    await clock.advance(100);
    await first.settle({ kind: "threw", error: new Error("boom") });
    await clock.advance(8_000);
    told.resolve();
    await clock.advance(2_000);
    expect(executionOf(await waiting).context.attempt).toBe(3);
    const duplicate = ask({ route: { inFlight: "conflict" } });
    expect(problemIn(await duplicate)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("A30 a store that fails opens no door beside an attempt of the same process", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const { ask, store } = bed();
    await ask({ route });
    store.break("claim", "fail");
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "idempotency-in-flight" });
    expect((await ask({ key: "key-2", route })).kind).toBe("pass");
  });

  it("a grant that came too late is given back although the store fails at that: nothing ran, and nobody need decide", async () => {
    const told = Promise.withResolvers<void>();
    let failures = 3;
    const { ask, clock } = bed({ onUnknown: "hold" }, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        async claim(request) {
          const result = await base.claim(request);
          if (result.outcome === "granted") await told.promise;
          return result;
        },
        release: (claim) => ((failures -= 1) < 0 ? base.release(claim) : Promise.reject(new Error("away"))),
      };
    });
    const late = ask();
    await clock.advance(8_000);
    expect(problemIn(await late)).toMatchObject({ code: "store-unavailable" });
    told.resolve();
    await clock.advance(60_000);
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("A30 the second question of a 202 profile opens no door either", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const options = { profile: "polling", statusUrl: (id: string) => `/operations/${id}` } as const;
    let away = false;
    const { ask } = bed(options, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      return {
        ...base,
        claim: (request) => (away ? Promise.reject(new Error("away")) : base.claim(request)),
        async find() {
          // Settled between the two questions, and then the store went away.
          away = true;
          return undefined;
        },
      };
    });
    await ask({ route });
    expect(responseOf(await ask({ route })).status).toBe(202);
  });

  it("refuses to wait beyond the bound on waiters, per process and per key", async () => {
    const { ask, clock } = bed({ inFlight: { waitMs: 1_000 }, waitersMax: 1 });
    await ask();
    const waiting = ask();
    await clock.advance(1);
    expect(problemIn(await ask())).toMatchObject({ code: "idempotency-in-flight" });
    await clock.advance(3_000);
    await waiting;
    const crowd = bed({ inFlight: { waitMs: 1_000 } });
    await crowd.ask();
    const many = Array.from({ length: 100 }, () => crowd.ask());
    await crowd.clock.advance(1);
    expect(problemIn(await crowd.ask())).toMatchObject({ code: "idempotency-in-flight" });
    await crowd.clock.advance(5_000);
    await Promise.all(many);
  });

  it("a hundred waiters in one process ask the store as one", async () => {
    const { ask, clock, store } = bed({ inFlight: { waitMs: 2_000 } });
    const first = executionOf(await ask());
    const waiting = Array.from({ length: 50 }, () => ask());
    await clock.advance(1);
    const before = store.calls.filter((verb) => verb === "claim").length;
    await clock.advance(1_000);
    expect(store.calls.filter((verb) => verb === "claim").length - before).toBeLessThan(10);
    await answer(first);
    await clock.advance(2_000);
    for (const each of waiting) expect((await each).kind).toBe("replay");
  });
});

describe("which answers are kept", () => {
  const kept = [200, 201, 202, 204, 303, 307, 400, 402, 404, 409, 410, 422];
  const released = [401, 403, 408, 412, 413, 415, 425, 428, 429];

  it.each(kept)("R-11 A17 keeps %i", async (status) => {
    const { ask, serve } = bed({ onUnknown: "hold" });
    await serve({}, { status });
    expect(responseOf(await ask()).status).toBe(status);
  });

  it.each(released)("A16 releases the key at %i, under any policy", async (status) => {
    const { ask, serve } = bed({ onUnknown: "hold" });
    await serve({}, { status });
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("E-03 A16 a 5xx or a throw runs again under rerun", async () => {
    const { ask, serve } = bed();
    await serve({}, { status: 503 });
    const second = executionOf(await ask());
    await second.settle({ kind: "threw", error: new Error("boom") });
    const third = executionOf(await ask());
    await third.settle({ kind: "interrupted" });
    expect(executionOf(await ask()).context.attempt).toBe(4);
  });

  it("E-04 a 5xx or a throw is held under hold, and retention does not end the hold", async () => {
    const { ask, serve, clock } = bed({ onUnknown: "hold", retentionMs: 400 });
    await serve({}, { status: 500 });
    for (const afterMs of [0, 10_000]) {
      await clock.advance(afterMs);
      expect(problemIn(await ask())).toMatchObject({ status: 409, code: "outcome-unknown", retryable: false });
    }
  });

  it.each([
    [{ kind: "threw", error: new Error("boom") }, "the handler threw"],
    [{ kind: "interrupted" }, "the connection broke under the answer"],
  ] as const)("under hold the record says to whoever settles it how its attempt ended: %j", async (outcome, reason) => {
    const { ask, store } = bed({ onUnknown: "hold" });
    await executionOf(await ask()).settle(outcome);
    expect((await store.list({ limit: 1 })).records).toMatchObject([{ holdReason: reason }]);
  });

  it("ctx.release() gives the key back whatever is answered, under hold too", async () => {
    const { ask } = bed({ onUnknown: "hold" });
    const first = executionOf(await ask());
    first.context.release();
    expect(await answer(first, { status: 200 })).toEqual({ kind: "send", addHeaders: [] });
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("profile stripe keeps a 500, with its own marker", async () => {
    const { ask, serve } = bed({ profile: "stripe" });
    await serve({}, { status: 500 });
    const response = responseOf(await ask());
    expect(response.status).toBe(500);
    expect(headerIn(response, "idempotent-replayed")).toBe("true");
  });

  it("profile adr-007 replays a stored 201 as 200 and any other status unchanged", async () => {
    const { ask, serve } = bed({ profile: "adr-007" });
    const key = "8E03978E-40D5-43E8-BC93-6894A57F9324";
    await serve({ key });
    expect(responseOf(await ask({ key: key.toLowerCase() })).status).toBe(200);
    const other = "00000000-0000-4000-8000-000000000001";
    await serve({ key: other }, { status: 402 });
    expect(responseOf(await ask({ key: other })).status).toBe(402);
    expect(problemIn(await ask({ key, body: { amount: 1 } }))).toMatchObject({
      status: 409,
      code: "idempotency-key-reused",
    });
    expect(problemIn(await ask({ key: "not-a-uuid" }))).toMatchObject({ code: "idempotency-key-invalid" });
  });

  it("keep decides per route", async () => {
    const { ask, serve } = bed();
    const route = { keep: ({ status }: { status: number }) => status !== 404 };
    await serve({ route }, { status: 404 });
    expect((await ask({ route })).kind).toBe("execute");
  });

  it.each([
    [true, [["idempotency-stored", "false"]]],
    [false, []],
  ] as const)(
    "a keep that throws leaves the true answer as it is, told as not stored: enforced %s",
    async (enforce, lines) => {
      const failing = new Error("no such currency");
      const keep = (): never => {
        throw failing;
      };
      const { ask, events, store, ichido } = bed({ keep, enforce });
      expect(await answer(executionOf(await ask()))).toEqual({ kind: "send", addHeaders: lines });
      expect(events).toContainEqual(expect.objectContaining({ type: "not-stored", error: failing }));
      expect((await store.list({ limit: 1 })).records).toMatchObject([{ state: "processing" }]);
      expect((await ichido.health()).running).toBe(0);
    },
  );

  it("a profile can be overridden setting by setting", async () => {
    const { ask, serve } = bed({ profile: { ...profiles.ietf, mismatchStatus: 409 } });
    await serve();
    expect(problemIn(await ask({ body: 1 }))).toMatchObject({ status: 409 });
  });

  it("A27 R-10 an answer above the cap leaves a tombstone and is never run again", async () => {
    const { ask, serve } = bed({ bodyBytesMax: 4 });
    await serve({}, { headers: [["location", "/p/1"]], body: new Uint8Array(5) });
    expect(problemIn(await ask())).toMatchObject({
      status: 409,
      code: "response-not-stored",
      retryable: false,
      originalStatus: 201,
      location: "/p/1",
    });
  });

  it("R-10 a stream stores its tombstone before bytes go live; a released status does not", async () => {
    const { ask, outcomes } = bed();
    const first = executionOf(await ask());
    expect(await first.beginStream({ status: 200, headers: [] })).toEqual({ kind: "send", addHeaders: [] });
    expect(problemIn(await ask())).toMatchObject({ code: "response-not-stored", originalStatus: 200 });
    const limited = executionOf(await ask({ key: "key-2" }));
    await limited.beginStream({ status: 429, headers: [] });
    expect((await ask({ key: "key-2" })).kind).toBe("execute");
    const given = executionOf(await ask({ key: "key-3" }));
    given.context.release();
    await given.beginStream({ status: 200, headers: [] });
    expect((await ask({ key: "key-3" })).kind).toBe("execute");
    expect(outcomes()).toContain("response_not_stored");
  });
});

describe("leases", () => {
  it("C-05 A04 a slow handler is never overtaken while its process runs", async () => {
    const { ask, clock } = bed({ leaseMs: 1_000 });
    const first = executionOf(await ask());
    await clock.advance(30_000);
    expect(problemIn(await ask())).toMatchObject({ code: "idempotency-in-flight" });
    expect(first.context.signal.aborted).toBe(false);
    await answer(first);
    expect((await ask()).kind).toBe("replay");
  });

  it("E-07 A04 when heartbeats stop, the key is taken over after the lease, and the zombie is answered from the record", async () => {
    const { ask, clock, store, events } = bed({ leaseMs: 1_000 });
    const zombie = executionOf(await ask());
    store.break("renew", "fail");
    await clock.advance(1_500);
    expect(zombie.context.signal.aborted).toBe(true);
    store.mend();
    const second = executionOf(await ask());
    expect(second.context.attempt).toBe(2);
    expect(second.context.fence).toBeGreaterThan(zombie.context.fence);
    const late = await answer(zombie, { body: new TextEncoder().encode("zombie") });
    expect(late.kind).toBe("replace");
    await answer(second, { body: new TextEncoder().encode("successor") });
    expect(textOf(responseOf(await ask()))).toBe("successor");
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining(["lease-lost", "takeover", "fence-rejected"]),
    );
  });

  it("a zombie that finishes after its successor sends the successor's answer", async () => {
    const { ask, clock, store } = bed({ leaseMs: 1_000 });
    const zombie = executionOf(await ask());
    store.break("renew", "fail");
    await clock.advance(1_500);
    store.mend();
    await answer(executionOf(await ask()), { body: new TextEncoder().encode("successor") });
    const late = await answer(zombie);
    expect(late.kind === "replace" && textOf(late.response)).toBe("successor");
    const streaming = await ask({ key: "key-2" });
    expect(streaming.kind).toBe("execute");
  });

  it("a zombie whose successor failed or whose store is gone says so honestly", async () => {
    const { ask, clock, store } = bed({ leaseMs: 1_000 });
    const zombie = executionOf(await ask());
    store.break("renew", "fail");
    await clock.advance(1_500);
    store.mend();
    await executionOf(await ask()).settle({ kind: "threw", error: new Error("x") });
    const late = await answer(zombie);
    expect(late.kind === "replace" && JSON.parse(textOf(late.response))).toMatchObject({ retryable: true });
    const other = executionOf(await ask({ key: "key-2" }));
    store.break("renew", "fail");
    await clock.advance(1_500);
    store.mend();
    await ask({ key: "key-2" });
    store.break("find", "fail");
    const blind = await answer(other);
    expect(blind.kind === "replace" && blind.response.status).toBe(503);
  });

  it.each([
    ["rerun", "rerun", { code: "idempotency-in-flight", retryable: true }],
    ["verify", { verify: () => ({ verdict: "absent" as const }) }, { code: "idempotency-in-flight", retryable: true }],
    ["hold", "hold", { code: "outcome-unknown", retryable: false }],
  ] as const)(
    "a lease that was lost and that nobody took is answered as the next request will be: %s",
    async (...row) => {
      const [, onUnknown, told] = row;
      const { ask, clock, store } = bed({ leaseMs: 1_000, onUnknown });
      const first = executionOf(await ask());
      store.break("renew", "fail");
      await clock.advance(1_500);
      await expect(first.context.step("a", () => 1)).rejects.toMatchObject({ name: "FenceLost" });
      expect(JSON.parse(textOf(await providedBy(first)))).toMatchObject(told);
      store.mend();
      if (onUnknown === "hold") expect(problemIn(await ask())).toMatchObject(told);
      else expect((await ask()).kind).toBe("execute");
    },
  );

  it("a lease that was lost to a person's hold is answered as final, under rerun too", async () => {
    const { ask, clock, store } = bed({ leaseMs: 1_000 });
    const first = executionOf(await ask());
    store.break("renew", "fail");
    await clock.advance(1_500);
    const [record] = (await store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("no record");
    const { identity, fence } = record;
    await store.settle({ identity, fence, decision: { kind: "hold" }, actor: "ops", reason: "wait" });
    await expect(first.context.step("a", () => 1)).rejects.toMatchObject({ name: "FenceLost" });
    expect(JSON.parse(textOf(await providedBy(first)))).toMatchObject({ code: "outcome-unknown", retryable: false });
  });

  it("all live claims of a process are renewed in one call", async () => {
    const { ask, clock, store } = bed({ leaseMs: 900 });
    for (let each = 0; each < 20; each += 1) await ask({ key: `key-${each}` });
    const before = store.calls.filter((verb) => verb === "renew").length;
    await clock.advance(301);
    expect(store.calls.filter((verb) => verb === "renew").length - before).toBe(1);
  });

  it("a claim with a shorter lease is renewed in time although a longer one was armed first", async () => {
    const { ask, clock } = bed();
    await ask({ route: { leaseMs: 30_000 } });
    await ask({ key: "key-2", route: { leaseMs: 300 } });
    await clock.advance(5_000);
    expect(problemIn(await ask({ key: "key-2" }))).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("a handler that never ends gives up its key after executionMs", async () => {
    const { ask, clock, events, ichido, outcomes } = bed({ leaseMs: 1_000, executionMs: 5_000 });
    const first = executionOf(await ask());
    await clock.advance(4_900);
    expect([(await ichido.health()).running, outcomes()]).toEqual([1, []]);
    await clock.advance(2_100);
    expect([(await ichido.health()).running, outcomes()]).toEqual([0, ["executed"]]);
    expect(events).toContainEqual(expect.objectContaining({ type: "lease-lost", reason: "execution-limit" }));
    expect(first.context.signal.aborted).toBe(true);
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("renewing loses a claim that someone else took, and aborts its signal", async () => {
    const { ask, clock, store, events } = bed({ leaseMs: 1_000 });
    const first = executionOf(await ask());
    store.break("renew", "fail");
    await clock.advance(1_100);
    store.mend();
    await ask();
    await clock.advance(1_000);
    expect(first.context.signal.aborted).toBe(true);
    expect(events.filter((event) => event.type === "lease-lost")).toHaveLength(1);
  });

  it("C-05 a lease counts from the sending of its claim: a reply that came late does not start a handler", async () => {
    const { ask, clock, store } = bed({ leaseMs: 1_000 });
    store.break("claim", "late", 1);
    const asked = ask();
    await clock.advance(900);
    store.arrive();
    await clock.advance(1);
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
    expect((await ask()).kind).toBe("execute");
  });

  it("the signal aborts before a successor can start, also while a renewal hangs", async () => {
    for (const fault of ["hang", "fail"] as const) {
      const { ask, clock, store } = bed({ leaseMs: 3_000 });
      const { context } = executionOf(await ask());
      store.break("renew", fault);
      await clock.advance(2_350);
      expect(context.signal.aborted).toBe(false);
      await clock.advance(100);
      expect(context.signal.aborted).toBe(true);
    }
  });

  it("a renewal that hangs does not hold up the leases of others", async () => {
    const { ask, clock, store } = bed({ storeTimeoutMs: 60_000 });
    await ask({ route: { leaseMs: 12_000 } });
    store.break("renew", "hang", 1);
    await clock.advance(4_100);
    const short = executionOf(await ask({ key: "key-2", route: { leaseMs: 1_000 } }));
    await clock.advance(3_000);
    expect(short.context.signal.aborted).toBe(false);
    expect(problemIn(await ask({ key: "key-2" }))).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("settling twice is settling once", async () => {
    const { ask, store } = bed();
    const first = executionOf(await ask());
    await answer(first);
    await first.settle({ kind: "threw", error: new Error("late") });
    expect(store.calls.filter((verb) => verb === "complete" || verb === "release")).toEqual(["complete"]);
  });

  it("reference is the same on every attempt and differs by name, key and content", async () => {
    const { ask } = bed();
    const first = executionOf(await ask());
    const reference = first.context.reference("bank.charge");
    await first.settle({ kind: "threw", error: new Error("x") });
    const second = executionOf(await ask());
    expect(second.context.reference("bank.charge")).toBe(reference);
    expect(second.context.reference("bank.refund")).not.toBe(reference);
    expect(executionOf(await ask({ key: "key-2" })).context.reference("bank.charge")).not.toBe(reference);
  });
});

describe("a vanished owner", () => {
  async function vanished(options: Parameters<typeof bed>[0]): Promise<ReturnType<typeof bed>> {
    const all = bed({ leaseMs: 1_000, ...options });
    executionOf(await all.ask());
    all.store.break("renew", "hang");
    await all.clock.advance(2_000);
    all.store.mend();
    return all;
  }

  it("hold answers outcome-unknown, also past the retention, and still takes the late owner's answer", async () => {
    const all = bed({ leaseMs: 1_000, onUnknown: "hold", retentionMs: 4_000 });
    const late = executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    expect(problemIn(await all.ask())).toMatchObject({ status: 409, code: "outcome-unknown" });
    await all.clock.advance(20_000);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    all.store.mend();
    expect((await answer(late)).kind).toBe("send");
    expect((await all.ask()).kind).not.toBe("reject");
  });

  it("hold: a duplicate writes nothing, so that a slow owner's release is the last word", async () => {
    const all = bed({ leaseMs: 1_000, onUnknown: "hold" });
    const slow = executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    const before = all.store.calls.length;
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    await all.clock.advance(1);
    const asked = all.store.calls.slice(before).filter((verb) => verb !== "renew");
    expect(asked).toEqual(["claim", "resources"]);
    slow.context.release();
    await slow.settle({ kind: "threw", error: new Error("declined, nothing done") });
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it.each(["hold", "verify"])("a doubt under %s never ends by retention", async (policy) => {
    const verify = (): VerifyAnswer => ({ verdict: "not-visible-yet" });
    const onUnknown = policy === "hold" ? "hold" : { verify };
    const { ask, clock, ichido } = await vanished({ onUnknown, retentionMs: 4_000, executionMs: 1_500 });
    for (let passedMs = 0; passedMs < 20_000; passedMs += 500) {
      expect(problemIn(await ask())).toMatchObject({ code: "outcome-unknown" });
      await clock.advance(500);
    }
    await ichido.sweep();
    expect(problemIn(await ask())).toMatchObject({ code: "outcome-unknown" });
  });

  it("a doubt left under rerun never ends by retention once a deploy to hold has told a caller of it", async () => {
    const { ask, clock, ichido } = await vanished({ onUnknown: "rerun", retentionMs: 4_000, executionMs: 1_500 });
    const deployed = { route: { onUnknown: "hold" } } as const;
    expect(problemIn(await ask(deployed))).toMatchObject({ code: "outcome-unknown", retryable: false });
    await clock.advance(20_000);
    await ichido.sweep();
    expect(problemIn(await ask(deployed))).toMatchObject({ code: "outcome-unknown" });
  });

  it("under rerun the record of a vanished owner still expires", async () => {
    const { clock, ichido, store } = await vanished({ onUnknown: "rerun", retentionMs: 4_000, executionMs: 1_500 });
    await clock.advance(20_000);
    await ichido.sweep();
    expect((await store.list({ limit: 1 })).records).toEqual([]);
  });

  it("S2 a takeover whose reply was lost is verified all the same", async () => {
    let verifies = 0;
    const all = bed(
      {
        leaseMs: 1_000,
        onUnknown: {
          verify: () => {
            verifies += 1;
            return { verdict: "found", response: { status: 201, body: { id: 7 } } };
          },
        },
      },
      ({ nowMs, environment }) => {
        const base = memoryStore({ nowMs, environment });
        // A store that repeats a claim by itself, after a lost connection.
        const claim: Store["claim"] = async (request) => (await base.claim(request), base.claim(request));
        return { ...base, claim };
      },
    );
    executionOf(await all.ask());
    all.store.break("renew", "hang");
    await all.clock.advance(2_000);
    all.store.mend();
    expect((await all.ask()).kind).toBe("replay");
    expect(verifies).toBe(1);
  });

  it("a verify that answers a word which is none of the three counts as not visible yet, with a warning", async () => {
    for (const word of ["pending", "not_visible_yet", undefined, null]) {
      const strange = (word === null ? undefined : { verdict: word }) as never;
      const { ask, events } = await vanished({ onUnknown: { verify: () => strange } });
      expect(problemIn(await ask())).toMatchObject({ code: "outcome-unknown", retryable: true });
      expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "verdict-unknown" }));
    }
  });

  it("verify found: the answer is stored and replayed without running the handler", async () => {
    const references: string[] = [];
    const { ask, ichido, outcomes } = await vanished({
      onUnknown: {
        verify: ({ reference }) => {
          references.push(reference("bank.charge"));
          return { verdict: "found", response: { status: 201, headers: { location: "/p/1" }, body: { id: 7 } } };
        },
      },
    });
    const response = responseOf(await ask());
    expect(response.status).toBe(201);
    expect(JSON.parse(textOf(response))).toEqual({ id: 7 });
    expect(headerIn(response, "idempotency-replayed")).toBe("true");
    expect(headerIn(response, "content-type")).toContain("application/json");
    expect((await ask()).kind).toBe("replay");
    expect(references).toHaveLength(1);
    expect(outcomes()).toEqual(["replayed", "replayed"]);
    expect((await ichido.health()).running).toBe(0);
  });

  it("verify absent: the handler runs under a new fence", async () => {
    const { ask } = await vanished({ onUnknown: { verify: async () => ({ verdict: "absent" }) } });
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("verify not-visible-yet, failing or hanging: outcome-unknown, to be asked again", async () => {
    let mode: "later" | "throw" | "hang" = "later";
    const { ask, clock, events } = await vanished({
      onUnknown: {
        verify: () => {
          if (mode === "throw") throw new Error("bank down");
          return mode === "hang" ? new Promise(() => undefined) : { verdict: "not-visible-yet" };
        },
      },
    });
    expect(problemIn(await ask())).toMatchObject({ code: "outcome-unknown", retryable: true, retryAfter: 1 });
    mode = "throw";
    expect(problemIn(await ask())).toMatchObject({ code: "outcome-unknown", retryable: true });
    mode = "hang";
    const asked = ask();
    await clock.advance(20_000);
    expect(problemIn(await asked)).toMatchObject({ code: "outcome-unknown" });
    expect(events).toContainEqual(expect.objectContaining({ code: "verify-failed" }));
  });

  it("verify answers 202 under profile polling while it cannot tell", async () => {
    const { ask } = await vanished({
      profile: "polling",
      statusUrl: (id) => `/operations/${id}`,
      onUnknown: { verify: () => ({ verdict: "not-visible-yet" }) },
    });
    const response = responseOf(await ask());
    expect(response.status).toBe(202);
    expect(JSON.parse(textOf(response))).toMatchObject({ state: "unknown" });
  });

  it("E-04 a 5xx under verify leaves the record to verify", async () => {
    let asked = 0;
    const { ask, serve } = bed({
      onUnknown: {
        verify: () => {
          asked += 1;
          return { verdict: "absent" };
        },
      },
    });
    await serve({}, { status: 500 });
    expect(executionOf(await ask()).context.attempt).toBe(2);
    expect(asked).toBe(1);
  });

  it("a verify whose answer cannot be stored is an error, and the key is not locked for a lease", async () => {
    const { ask, store } = await vanished({
      onUnknown: { verify: () => ({ verdict: "found", response: { status: 201 } }) },
    });
    store.break("complete", "fail", 1);
    expect(problemIn(await ask())).toMatchObject({ code: "store-unavailable" });
    expect((await ask()).kind).toBe("replay");
  });

  it("E-04 a taken-over key that is given back stays in doubt: the next attempt still verifies", async () => {
    let verifies = 0;
    const slow = Promise.withResolvers<{ verdict: "absent" }>();
    const all = await vanished({
      closeMs: 100,
      onUnknown: {
        verify: () => {
          verifies += 1;
          return slow.promise;
        },
      },
    });
    void all.ask();
    await all.clock.advance(10);
    const closing = all.ichido.close();
    await all.clock.advance(200);
    await closing;
    const [record] = (await all.store.list({ limit: 1 })).records;
    expect(record?.state).toBe("unknown");
    expect(verifies).toBe(1);
    const late = await vanished({ storeTimeoutMs: 500, onUnknown: { verify: () => ({ verdict: "not-visible-yet" }) } });
    late.store.break("claim", "late", 1);
    const asked = late.ask();
    await late.clock.advance(600);
    expect(problemIn(await asked)).toMatchObject({ status: 503 });
    late.store.arrive();
    await late.clock.advance(1);
    expect(problemIn(await late.ask())).toMatchObject({ code: "outcome-unknown" });
  });

  it("C-05 a handler is not started when recovery took longer than its lease allows", async () => {
    const gate = Promise.withResolvers<{ verdict: "absent" }>();
    const all = await vanished({ verifyMs: 60_000, onUnknown: { verify: () => gate.promise } });
    const asked = all.ask();
    await all.clock.advance(10);
    all.store.break("renew", "fail");
    await all.clock.advance(1_500);
    all.store.mend();
    gate.resolve({ verdict: "absent" });
    await all.clock.advance(10);
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("a verify that lost its key meanwhile answers in flight", async () => {
    const { ask, clock, store } = await vanished({
      onUnknown: {
        verify: async () => {
          if (first) {
            first = false;
            store.break("renew", "fail");
            await clock.advance(1_500);
            store.mend();
            inner = ask();
            await inner;
          }
          return { verdict: "found", response: { status: 201, body: "late" } };
        },
      },
    });
    let first = true;
    let inner: ReturnType<typeof ask> | undefined;
    expect(problemIn(await ask())).toMatchObject({ code: "idempotency-in-flight" });
    expect((await inner)?.kind).toBe("replay");
  });
});

describe("a store that fails", () => {
  it("E-09 A36 at claim: 503 with Retry-After, within the deadline, and nothing runs", async () => {
    const { ask, store, clock, outcomes } = bed({ storeTimeoutMs: 500 });
    store.break("claim", "fail");
    expect(problemIn(await ask())).toMatchObject({ status: 503, code: "store-unavailable", retryAfter: 1 });
    store.break("claim", "hang");
    const asked = ask();
    await clock.advance(600);
    expect(problemIn(await asked)).toMatchObject({ status: 503, detail: "the store did not answer in time" });
    expect(outcomes()).toEqual(["store_error", "store_error"]);
  });

  it("A36 a claim that is granted after its deadline is given back, so that the retry need not wait for a lease", async () => {
    const { ask, store, clock } = bed({ storeTimeoutMs: 500 });
    store.break("claim", "late", 1);
    const asked = ask();
    await clock.advance(600);
    expect(problemIn(await asked)).toMatchObject({ status: 503 });
    store.arrive();
    await clock.advance(1);
    expect(executionOf(await ask()).context.attempt).toBe(2);
  });

  it("A18 A37 at completion: the true answer with Idempotency-Stored: false, written down in the background", async () => {
    const { ask, store, clock, events } = bed();
    const first = executionOf(await ask());
    store.break("complete", "fail", 3);
    expect(await answer(first)).toEqual({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    expect(problemIn(await ask())).toMatchObject({ code: "idempotency-in-flight" });
    await clock.advance(5_000);
    expect((await ask()).kind).toBe("replay");
    expect(events).toContainEqual(expect.objectContaining({ type: "not-stored" }));
  });

  it("A05 a completion whose reply was lost is recognised and not written twice", async () => {
    const { ask, store, clock } = bed();
    const first = executionOf(await ask());
    store.break("complete", "lose", 1);
    await answer(first);
    await clock.advance(1_000);
    expect((await ask()).kind).toBe("replay");
  });

  it("A27 an answer that the store can never take is remembered as done and not run again", async () => {
    const base = (clock: FakeClock): Store => {
      const store = memoryStore({ nowMs: clock.nowMs });
      const complete: Store["complete"] = async (request) => {
        if (request.response.body.length > 4)
          throw new IchidoError("value-not-serialisable", "too large for this server");
        return store.complete(request);
      };
      return { ...store, complete };
    };
    const { ask, events } = bed({}, base);
    expect(await answer(executionOf(await ask()))).toEqual({ kind: "send", addHeaders: [] });
    expect(problemIn(await ask())).toMatchObject({ code: "response-not-stored", originalStatus: 201 });
    expect(events).toContainEqual(expect.objectContaining({ code: "answer-too-large" }));
  });

  it.each(["ietf", "polling"] as const)(
    "A27 an interim answer that the store can never take leaves the outcome open all the same, profile %s",
    async (profile) => {
      const base = (clock: FakeClock): Store => {
        const store = memoryStore({ nowMs: clock.nowMs });
        const suspend: Store["suspend"] = async (request) => {
          if ((request.interim?.body.length ?? 0) > 4)
            throw new IchidoError("value-not-serialisable", "too large for this server");
          return store.suspend(request);
        };
        return { ...store, suspend };
      };
      const { ask, events, clock } = bed({ profile, leaseMs: 1_000, statusUrl: (id) => `/operations/${id}` }, base);
      await executionOf(await ask()).context.unknown({ status: 202, body: { state: "open" } });
      await clock.advance(5_000);
      const again = responseOf(await ask());
      expect([again.status, textOf(again)]).toEqual(
        profile === "ietf"
          ? [409, expect.stringContaining("outcome-unknown")]
          : [202, expect.stringContaining('"state":"unknown"')],
      );
      expect(events).toContainEqual(expect.objectContaining({ code: "answer-too-large" }));
    },
  );

  it("a release that fails is tried again", async () => {
    const { ask, store, clock } = bed();
    const first = executionOf(await ask());
    store.break("release", "fail", 2);
    expect(await answer(first, { status: 429 })).toEqual({ kind: "send", addHeaders: [] });
    await clock.advance(3_000);
    expect((await ask()).kind).toBe("execute");
  });

  it("a full store refuses new keys with 503 and still replays", async () => {
    const { ask, serve, outcomes } = bed({}, (clock) => memoryStore({ recordsMax: 1, nowMs: clock.nowMs }));
    await serve();
    expect(problemIn(await ask({ key: "key-2", caller: { tenant: "acme", user: "bob" } }))).toMatchObject({
      status: 503,
      code: "store-unavailable",
    });
    expect((await ask()).kind).toBe("replay");
    expect(outcomes()).toEqual(["executed", "store_error", "replayed"]);
  });

  it("a caller that has its share of the store is refused new keys with 429 quota-exceeded, and nobody else", async () => {
    const { ask, serve, events } = bed({}, (clock) => memoryStore({ recordsMax: 2, nowMs: clock.nowMs }));
    await serve();
    const refusal = await ask({ key: "key-2" });
    expect(problemIn(refusal)).toMatchObject({ status: 429, code: "quota-exceeded", retryable: true, retryAfter: 60 });
    expect(events).toContainEqual(expect.objectContaining({ type: "request", outcome: "refused", status: 429 }));
    expect((await ask()).kind).toBe("replay");
    expect((await ask({ key: "key-2", caller: { tenant: "acme", user: "bob" } })).kind).toBe("execute");
  });

  it("runs unprotected only where the route says so by its dangerous name, and only where the claim failed", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const { ask, store } = bed();
    store.break("claim", "fail");
    expect((await ask({ route })).kind).toBe("pass");
    const all = bed({ leaseMs: 1_000, onUnknown: { verify: () => ({ verdict: "found", response: { status: 201 } }) } });
    await all.ask({ route });
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    all.store.break("complete", "fail", 1);
    expect(problemIn(await all.ask({ route }))).toMatchObject({ code: "store-unavailable" });
  });
});

describe("a body that cannot be compared", () => {
  it("E-01 is refused before any claim", async () => {
    const { ask, store } = bed();
    const readBody = (): Promise<never> =>
      Promise.reject(new RequestBodyError("request-too-large", "more than 10 bytes"));
    expect(problemIn(await ask({ readBody }))).toMatchObject({ status: 413, code: "request-too-large" });
    expect(store.calls).not.toContain("claim");
  });

  it("is the program's own error where the body was consumed before", async () => {
    const { ask } = bed();
    const readBody = (): Promise<never> => Promise.reject(new RequestBodyError("body-unavailable", "gone"));
    await expect(ask({ readBody })).rejects.toMatchObject({ code: "body-unavailable" });
    expect((await ask({ readBody, route: { enforce: false } })).kind).toBe("pass");
    const reset = (): Promise<never> => Promise.reject(new Error("reset"));
    await expect(ask({ readBody: reset })).rejects.toThrow("reset");
    expect((await ask({ readBody: reset, route: { enforce: false } })).kind).toBe("pass");
  });
});

describe("expiry", () => {
  it("T-01 T-02 an expired key runs as new, with other content too; replays do not extend it", async () => {
    const { ask, serve, clock } = bed({ retentionMs: 4_000 });
    await clock.advance(4_000);
    await serve();
    await clock.advance(2_000);
    expect((await ask()).kind).toBe("replay");
    await clock.advance(1_900);
    expect((await ask()).kind).toBe("replay");
    await clock.advance(200);
    expect((await ask({ body: { amount: 999 } })).kind).toBe("execute");
  });

  it("T-04 A40 a wall clock that jumps on the app server changes nothing by itself", async () => {
    const { ask, serve, clock } = bed({ retentionMs: 4_000 });
    await serve();
    clock.stepWall(25 * 3_600_000);
    expect((await ask()).kind).toBe("replay");
  });

  it("warns once about a retention below a day, and covers routes with shorter ones by closer ticks", async () => {
    const { ichido, events, store, clock } = bed();
    await ichido.start();
    expect(events.filter((event) => event.type === "warning")).toHaveLength(0);
    ichido.route({ operation: "a", retentionMs: 1_000 });
    ichido.route({ operation: "b", retentionMs: 2_000 });
    expect(events.filter((event) => event.type === "warning" && event.code === "short-retention")).toHaveLength(1);
    const before = store.calls.filter((verb) => verb === "tick").length;
    await clock.advance(1_000);
    expect(store.calls.filter((verb) => verb === "tick").length - before).toBeGreaterThanOrEqual(4);
  });

  it("ticks again soon after a tick failed, and health tells whether the clock is trusted", async () => {
    const { ichido, store, clock, events, serve } = bed();
    store.break("tick", "fail");
    await serve();
    await clock.advance(61_000);
    const told = events.filter((event) => event.type === "warning");
    expect(told).toEqual([
      expect.objectContaining({ code: "store-failed", message: expect.stringContaining("tick") as string }),
    ]);
    expect((await ichido.health()).clockTrusted).toBe(false);
    store.mend();
    await clock.advance(10 * 60_000);
    expect((await ichido.health()).clockTrusted).toBe(true);
  });

  it("sweeps by itself and on demand, and tells", async () => {
    const { serve, clock, events, ichido } = bed({ retentionMs: 4_000, sweepMs: 10_000 });
    await serve();
    await clock.advance(60_000);
    expect(events).toContainEqual(expect.objectContaining({ type: "sweep", deleted: 1 }));
    expect(await ichido.sweep()).toMatchObject({ deleted: 0, guarded: false });
  });

  it("a sweep that ends with more to remove is followed by another one soon, not after sweepMs", async () => {
    let calls = 0;
    // As many calls as a sweep makes at most, and some.
    const sweep = async () => ({ deleted: 1_000, more: (calls += 1) < 1_500, guarded: false });
    const { clock, ichido, events } = bed({ sweepMs: 3_600_000 }, ({ nowMs, environment }) => ({
      ...memoryStore({ nowMs, environment }),
      sweep,
    }));
    await ichido.start();
    await clock.advance(4_000_000);
    const swept = events.flatMap((event) => (event.type === "sweep" ? [event.deleted] : []));
    expect(swept).toEqual([1_000_000, 500_000]);
  });

  it("a failing sweep is reported and tried again; off means off", async () => {
    const { clock, events, store, ichido } = bed({ sweepMs: 10_000 });
    store.break("sweep", "fail", 1);
    await ichido.start();
    await clock.advance(25_000);
    expect(events).toContainEqual(
      expect.objectContaining({ code: "store-failed", message: expect.stringContaining("sweep") as string }),
    );
    expect(events.some((event) => event.type === "sweep")).toBe(true);
    const off = bed({ sweepMs: "off" });
    await off.ichido.start();
    await off.clock.advance(10 * 3_600_000);
    expect(off.store.calls).not.toContain("sweep");
  });
});

describe("observe mode", () => {
  it("a request without a key where it is optional is seen as such", async () => {
    const { ask, events } = bed({ enforce: false });
    await ask({ key: undefined, route: { required: false } });
    await ask({ key: undefined });
    const seen = events.flatMap((event) => (event.type === "request" ? [[event.outcome, event.observed]] : []));
    expect(seen).toEqual([
      ["bypassed", true],
      ["key_missing", true],
    ]);
  });

  it("lets everything run and counts what would have been replayed or refused", async () => {
    const { ask, serve, store, events } = bed({ enforce: false });
    expect((await ask({ key: undefined })).kind).toBe("pass");
    expect((await ask({ key: '""' })).kind).toBe("pass");
    await serve();
    expect((await ask()).kind).toBe("pass");
    expect((await ask({ body: 2 })).kind).toBe("pass");
    await ask({ key: "key-2" });
    expect((await ask({ key: "key-2" })).kind).toBe("pass");
    store.break("claim", "fail");
    expect((await ask()).kind).toBe("pass");
    const observed = events
      .filter((event) => event.type === "request")
      .map(({ outcome, observed: seen }) => [outcome, seen]);
    expect(observed).toEqual([
      ["key_missing", true],
      ["key_invalid", true],
      ["executed", true],
      ["replayed", true],
      ["key_reused", true],
      ["in_progress", true],
      ["store_error", true],
    ]);
  });

  it("never lets a failing scope or a lost fence change what a caller gets", async () => {
    const scope = (): never => {
      throw new TypeError("req.auth is undefined");
    };
    expect((await bed({ enforce: false, scope }).ask()).kind).toBe("pass");
    await expect(bed({ scope }).ask()).rejects.toThrow("req.auth");
    const all = bed({ enforce: false, leaseMs: 1_000 });
    const first = executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    await answer(executionOf(await all.ask()));
    expect(await answer(first)).toEqual({ kind: "send", addHeaders: [] });
  });

  it("adds no line to an answer that could not be stored", async () => {
    const { ask, store } = bed({ enforce: false });
    const first = executionOf(await ask());
    store.break("complete", "fail");
    expect(await answer(first)).toEqual({ kind: "send", addHeaders: [] });
  });
});

describe("closing", () => {
  it("waits for running handlers, refuses new ones, and leaves nothing locked", async () => {
    const { ask, ichido, clock } = bed();
    const first = executionOf(await ask());
    let closed = false;
    const closing = ichido.close().then(() => (closed = true));
    expect(problemIn(await ask({ key: "key-2" }))).toMatchObject({ status: 503, code: "engine-closed" });
    await clock.advance(100);
    expect(closed).toBe(false);
    await answer(first);
    let again = false;
    void ichido.close().then(() => (again = true));
    await clock.advance(1);
    await closing;
    expect((await ichido.health()).ok).toBe(false);
    await ichido.close();
    expect(again).toBe(true);
  });

  it("a second close waits like the first", async () => {
    const { ask, ichido, clock } = bed();
    const first = executionOf(await ask());
    void ichido.close();
    let closed = false;
    void ichido.close().then(() => (closed = true));
    await clock.advance(50);
    expect(closed).toBe(false);
    await answer(first);
    await clock.advance(1);
    expect(closed).toBe(true);
  });

  it("tells the handler whose lease it ended, and lets it start no further step", async () => {
    const { ask, ichido, clock } = bed({ closeMs: 100 });
    const { context } = executionOf(await ask());
    const closing = ichido.close();
    await clock.advance(200);
    await closing;
    expect(context.signal.aborted).toBe(true);
    let called = false;
    await expect(context.step("a", () => (called = true))).rejects.toMatchObject({ name: "FenceLost" });
    expect(called).toBe(false);
  });

  it("ends the lease of a handler that does not finish in time, leaving it to onUnknown", async () => {
    const all = bed({ closeMs: 1_000 });
    executionOf(await all.ask());
    const closing = all.ichido.close();
    await all.clock.advance(1_100);
    await closing;
    const { store } = all;
    const page = await store.list({ limit: 10, state: "unknown" });
    expect(page.records).toHaveLength(1);
  });

  it("gives back a key whose handler never started; one that was taken over stays in doubt", async () => {
    const verify = Promise.withResolvers<never>();
    const all = bed({ leaseMs: 1_000, closeMs: 500, onUnknown: { verify: () => verify.promise } });
    executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    void all.ask();
    await all.clock.advance(10);
    const closing = all.ichido.close();
    await all.clock.advance(600);
    await closing;
    const page = await all.store.list({ limit: 10, state: "unknown" });
    expect(page.records).toHaveLength(1);
  });

  it("waits for claims under way and gives them back before it resolves; nothing is claimed afterwards", async () => {
    const { ask, ichido, clock, store } = bed();
    store.break("claim", "late", 1);
    const asked = ask();
    await clock.advance(10);
    let failed = 0;
    const closing = ichido.close().then(async () => {
      failed = (await store.list({ limit: 10, state: "failed" })).records.length;
    });
    await clock.advance(100);
    store.arrive();
    await clock.advance(1);
    await closing;
    expect(failed).toBe(1);
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("gives back what is granted after closeMs to a claim that was sent before", async () => {
    const body = Promise.withResolvers<RequestBody>();
    const { ask, ichido, clock, store } = bed({ closeMs: 1_000 });
    executionOf(await ask());
    const asked = ask({ key: "key-2", readBody: () => body.promise });
    await clock.advance(10);
    let failed = 0;
    const closing = ichido.close().then(async () => {
      failed = (await store.list({ limit: 10, state: "failed" })).records.length;
    });
    await clock.advance(900);
    store.break("claim", "late", 1);
    body.resolve({ kind: "none" });
    await clock.advance(200);
    store.arrive();
    await clock.advance(1);
    await closing;
    expect(failed).toBe(1);
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("gives back what was granted to a claim whose answer was lost", async () => {
    const { ask, ichido, clock, store } = bed({ closeMs: 1_000, onUnknown: "hold" });
    store.break("claim", "lose", 1);
    expect(problemIn(await ask())).toMatchObject({ status: 503 });
    const late = bed({ closeMs: 1_000, storeTimeoutMs: 500, onUnknown: "hold" });
    late.store.break("claim", "late", 1);
    const asked = late.ask();
    await late.clock.advance(1);
    for (const each of [{ ichido, clock, store }, late]) {
      const closing = each.ichido.close();
      await each.clock.advance(600);
      await closing;
      expect((await each.store.list({ limit: 10 })).records).toMatchObject([{ state: "failed" }]);
    }
    expect(problemIn(await asked)).toMatchObject({ status: 503 });
  });

  it("waits for duplicates that wait; one whose time is not up by then asks the store no more", async () => {
    const body = Promise.withResolvers<RequestBody>();
    const { ask, ichido, clock, store } = bed({ inFlight: { waitMs: 60_000 }, closeMs: 1_000 });
    const first = executionOf(await ask());
    const waiting = ask();
    const arriving = ask({ key: "key-2", readBody: () => body.promise });
    await clock.advance(100);
    const closing = ichido.close();
    await clock.advance(100);
    await answer(first);
    await clock.advance(600);
    expect((await waiting).kind).toBe("replay");
    await clock.advance(1_000);
    await closing;
    const claims = store.calls.filter((verb) => verb === "claim").length;
    body.resolve({ kind: "none" });
    await clock.advance(1_000);
    expect(problemIn(await arriving)).toMatchObject({ code: "idempotency-in-flight" });
    expect(store.calls.filter((verb) => verb === "claim")).toHaveLength(claims);
  });

  it("health tells what runs and whether the store is reachable", async () => {
    const { ask, ichido, store } = bed();
    await ask();
    expect(await ichido.health()).toMatchObject({ ok: true, running: 1, waiting: 0, closing: false });
    store.break("ping", "fail");
    expect(await ichido.health()).toMatchObject({ ok: false, store: { reachable: false } });
  });
});

describe("events and labels", () => {
  it("never carries the key, and a listener that throws changes nothing but for a warning to its author", async () => {
    const said = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { ask, ichido, events } = bed();
    const seen: string[] = [];
    const off = ichido.on((event) => {
      seen.push(event.type);
      throw new Error("broken listener");
    });
    await answer(executionOf(await ask({ key: "secret-key-value" })));
    off();
    const before = seen.length;
    await ask({ key: "secret-key-value" });
    expect(seen).toHaveLength(before);
    expect(said.mock.calls[0]?.[0]).toBe("an ichido listener failed: Error: broken listener");
    said.mockRestore();
    expect(JSON.stringify(events)).not.toContain("secret-key-value");
  });

  it("a labels function that fails, or a listener that rejects, stops nothing", async () => {
    const labels = (): never => {
      throw new Error("no order");
    };
    const { ask, ichido, events } = bed({ labels });
    ichido.on((() => Promise.reject(new Error("async listener"))) as never);
    expect((await ask()).kind).toBe("execute");
    expect(events).toContainEqual(expect.objectContaining({ code: "labels-failed" }));
  });

  it("stores labels, and drops bad ones with a warning", async () => {
    const labels = () => ({ customer: "c-1", long: "x".repeat(300) });
    const { ask, store, events } = bed({ labels });
    await ask();
    const page = await store.list({ limit: 10, label: { name: "customer", value: "c-1" } });
    expect(page.records[0]?.labels).toEqual({ customer: "c-1" });
    expect(events).toContainEqual(expect.objectContaining({ code: "label-dropped" }));
  });
});
