import { afterEach, describe, expect, it, vi } from "vitest";
import { isOffline, systemClock, untilOnline } from "./clock.ts";
import { expectWhole, urlOf } from "./client-options.ts";
import { downstreamHeaders } from "./downstream.ts";
import { checkKey, headerText } from "./key-form.ts";
import { compositeKey, contentKey, payloadHash, stableJson } from "./key-source.ts";
import { durationMs, readPolicy } from "./policy.ts";
import { enlist } from "./remembered.ts";
import { createRetryBudget, isFinal, meaningOf, retryAfterIn, retryAfterMs } from "./retry-policy.ts";
import { browserStorage, memoryStorage, tabStorage, withLock } from "./storage.ts";

afterEach(() => vi.unstubAllGlobals());

describe("keys", () => {
  const warned = (key: string): string | undefined => {
    const told: string[] = [];
    checkKey(key, (message) => void told.push(message));
    return told[0];
  };

  it("are 1 to 255 printable characters", () => {
    expect(checkKey(" ~", undefined)).toBe(" ~");
    expect(checkKey("x".repeat(255), undefined)).toHaveLength(255);
    for (const [key, given] of [
      ["x".repeat(256), "256"],
      ["a\u007f", "2"],
      ["\u001fa", "2"],
      ["", "0"],
      [undefined, "undefined"],
    ] as const) {
      expect(() => checkKey(key, undefined)).toThrow(
        `a key must be 1 to 255 printable ASCII characters; it is ${given}. Use uuidV7()`,
      );
    }
  });

  it.each([
    ["bob@example.com", "an e-mail address"],
    ["x-BOB%40mail.example.co-op", "an e-mail address"],
    ["b@e.io", "an e-mail address"],
    ["b@mail.4you.example", "an e-mail address"],
    ["@example.com", undefined],
    ["a @example.com", undefined],
    ["bob@example", undefined],
    ["bob@example.c", undefined],
    ["bob@.com", undefined],
    ["123456", "a card or telephone number"],
    ["tel:+1 (234) 567", "a card or telephone number"],
    ["TEL:1/2/3.4-5-6", "a card or telephone number"],
    ["12345", undefined],
    ["1234567890123456789", "a card or telephone number"],
    ["12345678901234567890", undefined],
    ["a123456", undefined],
    ["123456a", undefined],
    ["++123456", undefined],
  ])("%s looks like %s", (key, kind) => {
    expect(warned(key)).toBe(kind && `ichido: a key looks like ${kind}. Keys are logged: use uuidV7()`);
  });

  it("are written bare where every character may be, else in quotes with what must be escaped", () => {
    const bare = "aZ09_!#$%&*+-./:=?@^`|~";
    expect(headerText(bare, undefined)).toBe(bare);
    for (const key of ["a b", "a,b", "a;b", "a(b", 'a"b'.replace('"', "{")])
      expect(headerText(key, undefined)).toBe(`"${key}"`);
    expect(headerText('"\\"', undefined)).toBe('"\\"\\\\\\""');
    expect(headerText("", undefined)).toBe('""');
    expect(headerText("a b", readPolicy({ key: { form: "bare" } }))).toBe("a b");
    expect(headerText("ab", readPolicy({ key: { form: "lenient" } }))).toBe("ab");
  });

  it("made of content and of parts are as long as they should be, and differ by each part", async () => {
    expect(await contentKey(1)).toMatch(/^[0-9a-f]{64}$/);
    const composite = await compositeKey({ principal: "p", atMs: 36 ** 3, random: "r" });
    expect(composite).toMatch(/^[0-9a-f]{16}-1000-r$/);
    expect(await compositeKey({ principal: "q", atMs: 36 ** 3, random: "r" })).not.toBe(composite);
    expect(await compositeKey({ principal: "p" })).toMatch(/^[0-9a-f]{16}-[0-9a-z]+-[0-9a-f]{16}$/);
    const wrong = { principal: "p", zzzzzz: 1 } as never;
    await expect(compositeKey(wrong)).rejects.toThrow(
      "option zzzzzz: compositeKey has no such option; it has principal, atMs, random",
    );
  });

  it("without Web Crypto a change is still noticed, and no key is made of content", async () => {
    vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const weak = await payloadHash("a");
    expect(weak).toMatch(/^w-?\d+\.3$/);
    expect(await payloadHash("b")).not.toBe(weak);
    expect(await payloadHash(["ab", "c"])).not.toBe(await payloadHash(["ac", "b"]));
    await expect(contentKey("a")).rejects.toMatchObject({
      code: "payload-unhashable",
      message: "contentKey needs Web Crypto: serve the page over https",
    });
    expect(await compositeKey({ principal: "p", atMs: 1, random: "r" })).toMatch(/^w-?\d+\.1-1-r$/);
  });

  it("payloads: kinds, order of members and what cannot be hashed", () => {
    expect(stableJson(undefined)).toBe("null");
    expect(stableJson({ b: 1, a: { d: 1, c: 2 } })).toBe('{"a":{"c":2,"d":1},"b":1}');
    expect(stableJson(new Set([1]))).toBe('["[object Set]",1]');
    expect(stableJson([null, "x"])).toBe('[null,"x"]');
    for (const value of [
      new Blob([]),
      new ArrayBuffer(1),
      new ReadableStream(),
      Promise.resolve(),
      new WeakMap(),
      new File([], "f"),
    ]) {
      expect(() => stableJson([value])).toThrow(/^the payload is not plain JSON: Error: it holds \[object \w+\]$/);
    }
  });
});

describe("what a server publishes", () => {
  it.each([
    ["P1W2DT3H4M5.5S", (((1 * 7 + 2) * 24 + 3) * 60 + 4) * 60_000 + 5_500],
    ["P2D", 172_800_000],
    ["P10W11DT12H13M14S", (((10 * 7 + 11) * 24 + 12) * 60 + 13) * 60_000 + 14_000],
    ["PT1M", 60_000],
    ["PT10.25S", 10_250],
    ["PT0S", 0],
    ["P1Y", undefined],
    ["1D", undefined],
    ["P1D ", undefined],
    ["xP1D", undefined],
    ["PT1.S", undefined],
    ["P1DT", 86_400_000],
    [null, undefined],
  ])("%s lasts %d ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it("is taken where it is of the right kind", () => {
    expect(readPolicy(null)).toEqual({
      header: "Idempotency-Key",
      retentionMs: undefined,
      quoted: false,
      bare: undefined,
      uuidV4: undefined,
      operations: [],
    });
    const told = {
      header: 7,
      key: { form: "strict", format: "uuid" },
      retention: { duration: "PT1S" },
      operations: "none",
    };
    expect(readPolicy(told)).toEqual({
      header: "Idempotency-Key",
      retentionMs: 1_000,
      quoted: true,
      bare: undefined,
      uuidV4: undefined,
      operations: [],
    });
    const operations = [{ method: "POST", path: "/p", required: true, more: 1 }];
    expect(readPolicy({ operations }).operations).toEqual([{ method: "POST", path: "/p", required: true }]);
  });
});

describe("what an answer means at its edges", () => {
  const none = new Headers();
  it.each([
    [199, undefined, "open"],
    [200, undefined, "done"],
    [399, undefined, "done"],
    [400, undefined, "declined"],
    [499, undefined, "declined"],
    [500, undefined, "again"],
    ...[408, 425, 429].map((status) => [status, undefined, "again"] as const),
    ...[401, 403, 412, 413, 415, 428].map((status) => [status, undefined, "refused"] as const),
    ...[
      "idempotency-key-required",
      "idempotency-key-invalid",
      "idempotency-key-reused",
      "request-too-large",
      "request-unreadable",
    ].map((code) => [400, { code }, "refused"] as const),
    [409, { code: "response-not-stored" }, "done"],
    [409, { code: "response-not-stored", originalStatus: 399 }, "done"],
    [409, { code: "response-not-stored", originalStatus: 400 }, "declined"],
    [409, { code: "idempotency-in-flight" }, "pending"],
    [409, { code: "idempotency-in-flight", retryable: false }, "declined"],
    [410, { code: "idempotency-in-flight" }, "declined"],
    [401, { retryable: true }, "again"],
    [500, { retryable: true }, "again"],
  ] as const)("%i %j is %s", (status, problem, meaning) => {
    expect(meaningOf(status, none, problem)).toBe(meaning);
  });

  it("a 202 is pending by its form or by Retry-After, unless it is a replay; a replayed 500 may be retryable", () => {
    const replay = new Headers({ "idempotency-replayed": "true" });
    expect([meaningOf(202, none, undefined, true), meaningOf(202, none, undefined, false)]).toEqual([
      "pending",
      "done",
    ]);
    expect(meaningOf(202, replay, undefined, true)).toBe("done");
    expect(meaningOf(201, new Headers({ "retry-after": "1" }), undefined, true)).toBe("done");
    expect([meaningOf(500, replay, undefined), meaningOf(500, replay, { retryable: true })]).toEqual(["open", "again"]);
    expect(["done", "declined", "refused", "again", "pending", "open"].map((each) => isFinal(each as never))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it("Retry-After: whole seconds alone are seconds; a problem has it, too", () => {
    const after = (value: string): number | undefined => retryAfterMs(new Headers({ "retry-after": value }), 0);
    expect([after("10"), after(" 7\t"), after(""), after("1.5x"), after("x1")]).toEqual([
      10_000,
      7_000,
      undefined,
      undefined,
      undefined,
    ]);
    expect([
      retryAfterIn(undefined),
      retryAfterIn({ retryAfter: 0 }),
      retryAfterIn({ retryAfter: -1 }),
      retryAfterIn({ retryAfter: "1" as never }),
    ]).toEqual([undefined, 0, undefined, undefined]);
  });

  it("the budget is never more than its size", () => {
    const budget = createRetryBudget(1);
    budget.refill();
    expect([budget.take(), budget.take()]).toEqual([true, false]);
  });
});

describe("options and addresses", () => {
  it("whole numbers have both bounds", () => {
    for (const value of [0, 2_147_483_647]) expectWhole("n", value, 0);
    for (const value of [-1, 2_147_483_648, 0.5, "1", Number.NaN])
      expect(() => expectWhole("n", value, 0)).toThrow("option n: expected a whole number from 0 to 2147483647");
    expect(() => expectWhole("n", {}, 0)).toThrow("got object");
    expect(() => expectWhole("n", false, 0)).toThrow("got false");
  });

  it("a path is below its base by one slash, whatever both have; a whole address stays", () => {
    expect(urlOf("https://a.example//", "//p/q/")).toBe("https://a.example/p/q/");
    expect(urlOf("https://a.example", "p//q")).toBe("https://a.example/p//q");
    expect(urlOf("https://a.example", "b+.-9:x")).toBe("b+.-9:x");
    expect(urlOf("https://a.example", "1b:x")).toBe("https://a.example/1b:x");
    expect(() => urlOf(undefined, "p")).toThrow('option the address: expected a URL; set baseUrl, got "p"');
    vi.stubGlobal("location", { href: "https://page.example/a/b" });
    expect(urlOf(undefined, "/p")).toBe("/p");
    expect(urlOf("/v1", "p")).toBe("/v1/p");
  });

  it("another service gets the caller's key only at an origin that is named, and no other option is known", () => {
    const ctx = { key: "a b", reference: (name: string) => `ref-${name}` };
    const to = new URL("https://ledger.internal:443/x");
    expect(downstreamHeaders(ctx, "x", { to, trustDomain: ["https://other", "https://ledger.internal/y"] })).toEqual({
      "Idempotency-Key": '"a b"',
    });
    expect(downstreamHeaders(ctx, "x", { trustDomain: ["https://ledger.internal"] })).toEqual({
      "Idempotency-Key": "ref-x",
    });
    expect(() => downstreamHeaders(ctx, "x", { trustDomain: ["ledger"] })).toThrow(
      'option trustDomain: expected an http or https address, got "ledger"',
    );
    expect(() => downstreamHeaders(ctx, "x", { to: "data:x", trustDomain: [] })).toThrow(
      'option to: expected an http or https address, got "data:x"',
    );
    expect(() => downstreamHeaders(ctx, "x", { zzzzzz: 1 } as never)).toThrow(
      "downstreamHeaders has no such option; it has to, trustDomain, header",
    );
  });
});

describe("where attempts are kept", () => {
  it("in the storage of the tab or of the browser, where it takes something, else in memory", async () => {
    const webOf = () => {
      const items = new Map<string, string>();
      return {
        items,
        getItem: (name: string) => items.get(name),
        setItem: (name: string, value: string) => void items.set(name, value),
        removeItem: (name: string) => void items.delete(name),
      };
    };
    const [session, local] = [webOf(), webOf()];
    vi.stubGlobal("sessionStorage", session);
    vi.stubGlobal("localStorage", local);
    expect([tabStorage(), browserStorage()]).toEqual([session, local]);
    expect([session.items.size, local.items.size], "nothing is left of the look").toEqual([0, 0]);
    const full = {
      ...webOf(),
      setItem: () => {
        throw new Error("full");
      },
    };
    vi.stubGlobal("sessionStorage", full);
    const memory = tabStorage();
    expect(memory).not.toBe(full);
    memory.setItem("a", "1");
    expect(await memory.getItem("a")).toBe("1");
    memory.removeItem("a");
    expect(await memory.getItem("a")).toBeUndefined();
  });

  it("one after the other under a name, also after one that failed; at once under others", async () => {
    const storage = memoryStorage();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = withLock(storage, "a", async () => {
      order.push("first begins");
      await gate.promise;
      order.push("first ends");
      throw new Error("own");
    });
    const second = withLock(storage, "a", async () => order.push("second"));
    await withLock(storage, "b", async () => order.push("other"));
    gate.resolve();
    await expect(first).rejects.toThrow("own");
    await second;
    expect(order).toEqual(["first begins", "other", "first ends", "second"]);
  });

  it("also without Web Locks, where what runs was asked for while another ran", async () => {
    vi.stubGlobal("navigator", undefined);
    const storage = memoryStorage();
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const first = withLock(storage, "a", async () => order.push("first"));
    const second = withLock(storage, "a", async () => {
      await gate.promise;
      order.push("second");
    });
    await first;
    await new Promise(setImmediate);
    const third = withLock(storage, "a", async () => order.push("third"));
    await new Promise(setImmediate);
    gate.resolve();
    await Promise.all([second, third]);
    expect(order).toEqual(["first", "second", "third"]);
  });

  it("by the storage's own lock where it has one, and by Web Locks where there are some", async () => {
    const names: string[] = [];
    const locking = {
      ...memoryStorage(),
      lock: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
        names.push(`own ${name}`);
        return work();
      },
    };
    const locks = {
      request: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
        names.push(`web ${name}`);
        return work();
      },
    };
    vi.stubGlobal("navigator", { locks });
    expect(await withLock(locking, "a", async () => 1)).toBe(1);
    expect(await withLock(memoryStorage(), "b", async () => 2)).toBe(2);
    expect(names).toEqual(["own a", "web b"]);
    const refusing = { ...memoryStorage(), lock: () => Promise.reject(new Error("held")) };
    await expect(withLock(refusing, "a", async () => 1)).rejects.toThrow("held");
    let runs = 0;
    const fails = async (): Promise<never> => {
      runs += 1;
      throw new Error("own");
    };
    await expect(withLock(memoryStorage(), "a", fails)).rejects.toThrow("own");
    expect(runs, "what has begun is not begun again").toBe(1);
  });

  it("names: the newest, none twice, none too old; with the time 0 one goes", async () => {
    const storage = memoryStorage();
    const list = { place: "names", ageMs: 100, max: 3 };
    const kept = async (): Promise<unknown> =>
      (JSON.parse((await storage.getItem("names")) ?? "[]") as [string][]).map(([name]) => name);
    expect(await enlist(storage, list, ["a", 1])).toEqual([]);
    await enlist(storage, list, ["b", 2]);
    expect(await enlist(storage, list, ["a", 3])).toEqual([]);
    expect(await kept()).toEqual(["b", "a"]);
    await enlist(storage, list, ["c", 4]);
    expect(await enlist(storage, list, ["d", 5])).toEqual(["b"]);
    expect(await kept()).toEqual(["a", "c", "d"]);
    expect(await enlist(storage, list, ["e", 103])).toEqual(["a"]);
    expect(await kept()).toEqual(["c", "d", "e"]);
    await enlist(storage, list, ["d", 0]);
    expect(await kept()).toEqual(["c", "e"]);
  });
});

describe("the clock", () => {
  it("tells the time, draws, and sleeps until its time or its signal", async () => {
    expect(Math.abs(systemClock.nowMs() - Date.now())).toBeLessThan(1_000);
    expect(systemClock.random()).toBeLessThan(1);
    const beganMs = performance.now();
    const toldMs = systemClock.elapsedMs?.();
    expect(toldMs).toBeGreaterThanOrEqual(beganMs);
    expect(toldMs).toBeLessThanOrEqual(performance.now());
    await systemClock.sleep(20, undefined);
    expect(performance.now() - beganMs).toBeGreaterThan(15);
    await systemClock.sleep(60_000, AbortSignal.abort());
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 5);
    await systemClock.sleep(60_000, abort.signal);
  });

  it("offline is believed only where it is said; what waits for the network stops listening", async () => {
    expect(isOffline()).toBe(false);
    vi.stubGlobal("navigator", undefined);
    expect(isOffline()).toBe(false);
    vi.stubGlobal("navigator", { onLine: false });
    expect(isOffline()).toBe(true);
    const listeners = new Map<string, () => void>();
    vi.stubGlobal("addEventListener", (name: string, listener: () => void) => void listeners.set(name, listener));
    vi.stubGlobal("removeEventListener", (name: string) => void listeners.delete(name));
    const waiting = untilOnline(60_000, undefined);
    expect([...listeners.keys()]).toEqual(["online"]);
    listeners.get("online")?.();
    await waiting;
    expect(listeners.size).toBe(0);
    await untilOnline(1, undefined);
  });
});
