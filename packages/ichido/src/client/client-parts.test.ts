import { describe, expect, it, vi } from "vitest";
import { createClient } from "./client.ts";
import { resolveRetry, urlOf } from "./client-options.ts";
import { downstreamHeaders } from "./downstream.ts";
import { checkKey, headerText } from "./key-form.ts";
import { compositeKey, contentKey, payloadHash, stableJson, uuidV4, uuidV7 } from "./key-source.ts";
import { durationMs, readPolicy } from "./policy.ts";
import { createRetryBudget, meaningOf, pauseMs, retryAfterMs, retryDefaults } from "./retry-policy.ts";
import { memoryStorage, withLock } from "./storage.ts";

describe("key sources", () => {
  it("UUIDs have their version and variant, and differ", () => {
    expect(uuidV4()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uuidV7()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(Array.from({ length: 1_000 }, uuidV4)).size).toBe(1_000);
  });

  it("version 7 sorts by time", () => {
    const early = uuidV7(Date.UTC(2026, 0, 1));
    expect(early < uuidV7(Date.UTC(2026, 0, 2))).toBe(true);
    expect(Number.parseInt(early.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.UTC(2026, 0, 1));
  });

  it("content keys are the content's alone; the prefix keeps uses apart", async () => {
    expect(await contentKey({ a: 1, b: 2 })).toBe(await contentKey({ b: 2, a: 1 }));
    expect(await contentKey({ a: 1 })).not.toBe(await contentKey({ a: 2 }));
    expect(await contentKey({ a: 1 }, "import")).not.toBe(await contentKey({ a: 1 }));
  });

  it("composite keys hold no principal in clear, and are the same for the same parts", async () => {
    const parts = { principal: "alice@example.com", atMs: 1, random: "r" };
    expect(await compositeKey(parts)).toBe(await compositeKey(parts));
    expect(await compositeKey(parts)).not.toContain("alice");
    expect(await compositeKey({ principal: "a" })).not.toBe(await compositeKey({ principal: "a" }));
  });

  it("payloads are compared by meaning", async () => {
    expect(stableJson({ b: [1, { d: 1, c: undefined }], a: new Date(0) })).toBe(
      '{"a":"1970-01-01T00:00:00.000Z","b":[1,{"d":1}]}',
    );
    expect(stableJson([undefined, 1n, null])).toBe('[null,"1n",null]');
    expect(await payloadHash({ a: 1 })).not.toBe(await payloadHash({ a: "1" }));
    const held = async (value: unknown): Promise<string> => payloadHash(value);
    expect(await held(new Map([["a", 1]]))).not.toBe(await held(new Map([["a", 2]])));
    expect(await held(new Uint8Array([1]))).not.toBe(await held(new Uint8Array([2])));
    expect(() => stableJson({ file: new Blob(["x"]) })).toThrow("holds [object Blob]");
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(() => stableJson(cycle)).toThrow("not plain JSON");
  });
});

describe("what an answer means", () => {
  const headers = (more: Record<string, string> = {}): Headers => new Headers(more);
  it.each([
    [0, {}, undefined, "open"],
    [200, {}, undefined, "done"],
    [201, {}, undefined, "done"],
    [202, {}, undefined, "done"],
    [202, { "retry-after": "1" }, undefined, "pending"],
    [202, { "retry-after": "1", "idempotency-replayed": "true" }, undefined, "done"],
    [303, {}, undefined, "done"],
    [400, {}, undefined, "declined"],
    [402, {}, undefined, "declined"],
    [404, {}, undefined, "declined"],
    [409, {}, undefined, "declined"],
    [409, { "retry-after": "1" }, undefined, "pending"],
    [409, {}, { code: "idempotency-in-flight", retryable: true }, "pending"],
    [409, {}, { code: "response-not-stored", retryable: false, originalStatus: 201 }, "done"],
    [409, {}, { code: "response-not-stored", retryable: false, originalStatus: 402 }, "declined"],
    [409, {}, { code: "outcome-unknown", retryable: false }, "open"],
    [409, {}, { code: "outcome-unknown", retryable: true }, "pending"],
    [409, { "retry-after": "1" }, { code: "sold-out", retryable: false }, "declined"],
    [400, {}, { code: "idempotency-key-invalid", retryable: false }, "refused"],
    [422, {}, { code: "idempotency-key-reused", retryable: false }, "refused"],
    [422, {}, { code: "idempotency-key-reused", retryable: true }, "refused"],
    [400, {}, { code: "request-unreadable", retryable: false }, "refused"],
    [422, {}, { code: "validation", retryable: false }, "declined"],
    [401, {}, undefined, "refused"],
    [412, {}, undefined, "refused"],
    [425, {}, undefined, "again"],
    [429, {}, undefined, "again"],
    [429, {}, { retryable: false }, "declined"],
    [500, {}, undefined, "again"],
    [503, {}, { code: "store-unavailable", retryable: true }, "again"],
    [500, {}, { retryable: false }, "open"],
    [500, { "idempotent-replayed": "true" }, undefined, "open"],
    [502, {}, undefined, "again"],
    [504, {}, undefined, "again"],
    [422, {}, { code: "own", retryable: true }, "again"],
  ] as const)("%i %o %o is %s", (status, lines, problem, meaning) => {
    expect(meaningOf(status, headers(lines), problem)).toBe(meaning);
  });

  it("Retry-After is seconds or a date, the date by the server's clock", () => {
    expect(retryAfterMs(headers({ "retry-after": "3" }), 0)).toBe(3_000);
    const date = "Sun, 15 Nov 2026 06:00:00 GMT";
    const due = "Sun, 15 Nov 2026 06:00:05 GMT";
    expect(retryAfterMs(headers({ "retry-after": due, date }), 0)).toBe(5_000);
    expect(retryAfterMs(headers({ "retry-after": due }), Date.parse(date))).toBe(5_000);
    expect(retryAfterMs(headers({ "retry-after": date, date: due }), 0)).toBe(0);
    expect(retryAfterMs(headers({ "retry-after": "soon" }), 0)).toBeUndefined();
    expect(retryAfterMs(headers(), 0)).toBeUndefined();
  });

  it("pauses double up to a bound with full jitter, and never undercut the server", () => {
    expect(pauseMs(retryDefaults, 1, undefined, 1)).toBe(250);
    expect(pauseMs(retryDefaults, 3, undefined, 0.5)).toBe(500);
    expect(pauseMs(retryDefaults, 20, undefined, 1)).toBe(8_000);
    expect(pauseMs(retryDefaults, 1, 5_000, 0)).toBe(5_000);
    expect(pauseMs(retryDefaults, 9, 5_000, 1)).toBe(6_000);
  });

  it("the budget runs out and is refilled by successes", () => {
    const budget = createRetryBudget(1);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    budget.refill();
    expect(budget.take()).toBe(false);
    budget.refill();
    expect(budget.take()).toBe(true);
  });
});

describe("locks", () => {
  it("Web Locks that refuse (sandboxed frames) leave the lock within the page", async () => {
    const locks = { request: () => Promise.reject(new DOMException("no", "SecurityError")) };
    vi.stubGlobal("navigator", { locks });
    try {
      const storage = memoryStorage();
      let inside = 0;
      const work = async (): Promise<number> => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside -= 1;
        return 7;
      };
      expect(await Promise.all([1, 2, 3].map(() => withLock(storage, "n", work)))).toEqual([7, 7, 7]);
      await expect(withLock(storage, "n", () => Promise.reject(new Error("own")))).rejects.toThrow("own");
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("the form of keys", () => {
  const policy = (form: string): ReturnType<typeof readPolicy> => readPolicy({ key: { form } });
  it("is bare where it can be, quoted and escaped where it must be", () => {
    expect(headerText("k-1", undefined)).toBe("k-1");
    expect(headerText('a "b" \\', undefined)).toBe('"a \\"b\\" \\\\"');
    expect(headerText("k-1", policy("strict"))).toBe('"k-1"');
    expect(headerText("a{1}", policy("bare"))).toBe("a{1}");
  });

  it.each(["", "ä", "a\n", "x".repeat(256), 7])("%o is refused as a key, and not shown", (key) => {
    const check = (): string => checkKey(key, undefined);
    expect(check).toThrow(expect.objectContaining({ code: "key-invalid" }));
  });

  it.each([
    ["bob@example.com", "e-mail"],
    ["pay-bob%40example.com", "e-mail"],
    ["4242 4242 4242 4242", "card"],
    ["+81 3 1234 5678", "telephone"],
  ])("%s is warned about without being shown", (key, kind) => {
    const told: string[] = [];
    expect(checkKey(key, (message) => told.push(message))).toBe(key);
    expect(told.join()).toContain(kind);
    expect(told.join()).not.toContain(key);
  });

  it("random keys are not warned about", () => {
    const told: string[] = [];
    for (const key of [uuidV4(), uuidV7(), "order-7f3a9c"]) checkKey(key, (message) => told.push(message));
    expect(told).toEqual([]);
  });
});

describe("options", () => {
  it.each([
    [{ triesMax: 0 }, "option retry.triesMax: expected a whole number from 1 to 2147483647, got 0"],
    [{ triesMax: 1.5 }, "retry.triesMax"],
    [{ deadlineMs: "30s" }, 'option retry.deadlineMs: expected a whole number from 1 to 2147483647, got "30s"'],
    [{ callTimeoutMs: Number.NaN }, "retry.callTimeoutMs"],
    [{ callTimeoutMs: 0 }, "option retry.callTimeoutMs: expected a whole number from 1"],
    [{ backoffMs: -1 }, "retry.backoffMs"],
    [{ attempts: 4 }, "option attempts: retry has no such option; it has triesMax, deadlineMs"],
  ])("retry %o is refused by name", (retry, message) => {
    const make = (): unknown => createClient({ retry: retry as never });
    expect(make).toThrow(
      expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(message) }),
    );
  });

  it.each([
    [{ baseUrl: "" }, "baseUrl"],
    [{ fetch: "x" }, "option fetch: expected a function"],
    [{ retentionMs: 0 }, "retentionMs"],
    [{ storage: { getItem: () => null } }, "storage.setItem"],
  ])("%o is refused by name", (options, message) => {
    expect(() => createClient(options as never)).toThrow(message);
  });

  it("the last word has the request, absent values change nothing", () => {
    expect(resolveRetry({ triesMax: 3, backoffMs: 7 }, { triesMax: 2, backoffMs: undefined } as never)).toMatchObject({
      triesMax: 2,
      backoffMs: 7,
    });
  });

  it("paths are below the base; what is no address is refused, not retried", () => {
    expect(urlOf("https://a.example/v1/", "/payments")).toBe("https://a.example/v1/payments");
    expect(urlOf("https://a.example/v1", "payments?a=1")).toBe("https://a.example/v1/payments?a=1");
    expect(urlOf("https://a.example", "https://b.example/x")).toBe("https://b.example/x");
    expect(() => urlOf(undefined, "/payments")).toThrow("set baseUrl");
  });
});

describe("keys for other services", () => {
  const ctx = { key: "caller-key", reference: (name: string) => `ref-${name}` };
  const trustDomain = ["https://ledger.internal"];

  it("are derived, so that the caller's own key goes nowhere", () => {
    expect(downstreamHeaders(ctx, "bank.charge")).toEqual({ "Idempotency-Key": "ref-bank.charge" });
    for (const to of [
      "https://bank.example/charges",
      "http://ledger.internal/",
      "https://ledger.internal.evil.example/",
    ]) {
      expect(downstreamHeaders(ctx, "x", { to, trustDomain })).toEqual({ "Idempotency-Key": "ref-x" });
    }
  });

  it("are the caller's own inside the same trust domain", () => {
    const headers = downstreamHeaders(ctx, "x", {
      to: "https://ledger.internal/entries",
      trustDomain,
      header: "X-Key",
    });
    expect(headers).toEqual({ "X-Key": "caller-key" });
    expect(() => downstreamHeaders(ctx, "x", { to: "/entries", trustDomain })).toThrow("option to: expected an http");
  });
});

describe("a server's policy", () => {
  it.each([
    ["P1D", 86_400_000],
    ["PT30S", 30_000],
    ["P1W", 604_800_000],
    ["P1DT2H3M4.5S", 93_784_500],
    ["P", undefined],
    ["PT", undefined],
    ["P1M", undefined],
    [7, undefined],
  ])("reads the duration %s", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it("completes what is not said", () => {
    expect(readPolicy(undefined)).toEqual({
      header: "Idempotency-Key",
      retentionMs: undefined,
      quoted: false,
      operations: [],
    });
    expect(readPolicy({ key: { form: "bare", format: "uuid-v4" } })).toMatchObject({ bare: true, uuidV4: true });
    const operations = [{ method: "POST", path: "/p", required: true }];
    expect(readPolicy({ header: "X-Key", operations }).operations).toEqual(operations);
  });
});
