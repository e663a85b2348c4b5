/** What the client and its fetch put on the wire, without a network: `test/client` has the rest over sockets. */
import { describe, expect, it, vi } from "vitest";
import { createClient, type ClientOptions } from "./client.ts";
import type { UnknownOutcomeError } from "./errors.ts";
import { createFetch, idempotentFetch, type FetchOptions } from "./fetch.ts";
import { memoryStorage } from "./storage.ts";

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: unknown;
  readonly init: RequestInit;
}

type Reply = Response | Error | ((sent: Sent) => Response | Error | Promise<Response>);

function wire(...replies: Reply[]) {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const one: Sent = {
      url: input instanceof Request ? input.url : String(input),
      method: init.method,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body,
      init,
    };
    sent.push(one);
    const next = replies[Math.min(sent.length, replies.length) - 1] ?? new Response("{}", { status: 200 });
    const made = typeof next === "function" ? await next(one) : next;
    if (made instanceof Error) throw made;
    return made.clone();
  };
  return { sent, fetch };
}

const base = "https://api.example/v1";
const clock = { nowMs: () => 1_000, elapsedMs: () => 0, random: () => 0, sleep: async () => undefined };

function clientOn(on: ReturnType<typeof wire>, options: ClientOptions = {}) {
  return createClient({
    baseUrl: base,
    fetch: on.fetch,
    storage: memoryStorage(),
    clock,
    keys: () => "k-1",
    ...options,
  });
}

describe("a request of the client", () => {
  it("has the key, JSON and its two headers, below the base, with headers and settings of client and call", async () => {
    const on = wire();
    const client = clientOn(on, {
      headers: { "x-a": "1", "x-b": "1" },
      settings: { credentials: "include", mode: "cors" },
    });
    const attempt = await client.createAttempt("pay", 1);
    const settings = { mode: "same-origin" } as const;
    await client.post("/payments", { attempt, json: { a: 1 }, headers: { "x-b": "2" }, settings });
    expect(on.sent).toMatchObject([
      {
        url: `${base}/payments`,
        method: "POST",
        headers: {
          "idempotency-key": "k-1",
          "content-type": "application/json",
          accept: "application/json",
          "x-a": "1",
          "x-b": "2",
        },
        body: '{"a":1}',
        init: { credentials: "include", mode: "same-origin" },
      },
    ]);
  });

  it("leaves the caller's own content type and accept alone, and adds none to a body that is no JSON", async () => {
    const on = wire();
    const client = clientOn(on);
    const attempt = await client.createAttempt("pay", 1);
    const headers = { "Content-Type": "application/vnd.own+json", Accept: "text/plain" };
    await client.patch("/a", { attempt, json: 1, headers });
    expect(on.sent[0]).toMatchObject({
      method: "PATCH",
      headers: { "content-type": "application/vnd.own+json", accept: "text/plain" },
    });
    const second = await client.createAttempt("b", 1);
    await client.send("PUT", "/b", { attempt: second, body: "text" });
    expect(on.sent[1]).toMatchObject({ method: "PUT", body: "text" });
    expect(Object.keys(on.sent[1]?.headers ?? {})).toEqual(["idempotency-key"]);
    const third = await client.createAttempt("c", 1);
    await client.send("DELETE", "/c", { attempt: third });
    expect(on.sent[2]).toMatchObject({ method: "DELETE", body: null });
  });

  it("sends no other content under the same attempt, and whatever it likes of a form", async () => {
    const on = wire(new Error("lost"));
    const client = clientOn(on, { retry: { triesMax: 1 } });
    const attempt = await client.createAttempt("pay", 1);
    await client.post("/payments", { attempt, json: { a: 1 } });
    for (const [path, content] of [
      ["/payments", { json: { a: 2 } }],
      ["/refunds", { json: { a: 1 } }],
      ["/payments", { body: "a" }],
    ] as const) {
      await expect(client.post(path, { attempt, ...content })).rejects.toMatchObject({ code: "attempt-changed" });
    }
    await expect(client.patch("/payments", { attempt, json: { a: 1 } })).rejects.toMatchObject({
      code: "attempt-changed",
    });
    expect((await client.post("/payments", { attempt, body: new URLSearchParams("a=1") })).kind).toBe("unknown");
    expect(on.sent).toHaveLength(2);
  });

  it.each([
    [{ json: 1 }, "attempt-missing", "pass { attempt: await createAttempt(…) }"],
    [{ attempt: { key: 7 }, json: 1 }, "attempt-missing", "pass { attempt: await createAttempt(…) }"],
    [
      { zzzzzz: 1 },
      "option-invalid",
      "option zzzzzz: send has no such option; it has attempt, json, body, headers, settings, signal, retry, onRetry",
    ],
  ])("%j is refused as %s before anything is sent", async (sending, code, message) => {
    const on = wire();
    await expect(clientOn(on).post("/a", sending as never)).rejects.toMatchObject({ code, message });
    expect(on.sent).toEqual([]);
  });

  it("a method without a key and a body that can be sent once are refused", async () => {
    const on = wire();
    const client = clientOn(on);
    const attempt = await client.createAttempt("pay", 1);
    for (const method of ["GET", "head", "OPTIONS", "TRACE"]) {
      await expect(client.send(method as "POST", "/a", { attempt })).rejects.toThrow(
        `option the method: expected one with a key, got "${method}"`,
      );
    }
    const body = new ReadableStream() as never;
    await expect(client.post("/a", { attempt, body })).rejects.toThrow("option body: expected no stream, got object");
    await expect(createClient().post("/a", { attempt })).rejects.toThrow(
      "option the address: expected a URL; set baseUrl",
    );
  });

  it("has the retry options of the call over those of the client, its signal and its listener", async () => {
    const on = wire(new Error("lost"));
    const told: unknown[] = [];
    const client = clientOn(on, { retry: { triesMax: 5 } });
    const attempt = await client.createAttempt("pay", 1);
    const onRetry = (each: unknown): unknown => told.push(each);
    expect(await client.post("/a", { attempt, json: 1, retry: { triesMax: 2 }, onRetry })).toMatchObject({ tries: 2 });
    expect(told).toHaveLength(1);
    const signal = AbortSignal.abort();
    expect(await client.post("/a", { attempt, json: 1, signal })).toMatchObject({ reason: "aborted", tries: 0 });
  });

  it.each([
    [
      { zzzzzz: 1 },
      "option zzzzzz: the client has no such option; it has baseUrl, fetch, retry, storage, keys, headers, settings, retentionMs, rememberMs, isAnswer, onWarning, clock",
    ],
    [{ baseUrl: 7 }, "option baseUrl: expected an address, got 7"],
    [{ retentionMs: 0 }, "option retentionMs: expected a whole number from 1 to 2147483647, got 0"],
    [{ rememberMs: -1 }, "option rememberMs: expected a whole number from 0 to 2147483647, got -1"],
    [{ fetch: 1 }, "option fetch: expected a function, got 1"],
    [{ isAnswer: 1 }, "option isAnswer: expected a function, got 1"],
    [{ keys: true }, "option keys: expected a function, got true"],
    [{ onWarning: "x" }, 'option onWarning: expected a function, got "x"'],
    [{ storage: { getItem: 1 } }, "option storage.getItem: expected a function, got 1"],
    [
      { storage: { getItem: () => null, setItem: () => null } },
      "option storage.removeItem: expected a function, got undefined",
    ],
  ])("%j is refused", (options, message) => {
    expect(() => createClient(options as never)).toThrow(message);
  });

  it("a retention longer than timers can wait is taken", () => {
    createClient({ retentionMs: 1e12, rememberMs: 1e12 });
  });

  it.each([
    [undefined, 86_400_000],
    [7_200_000, 7_200_000],
  ])("with a retention of %s an attempt is sent again for %i ms", async (retentionMs, ms) => {
    const on = wire(new Error("lost"));
    let nowMs = 1_000;
    const retention = retentionMs === undefined ? {} : { retentionMs };
    const client = clientOn(on, { clock: { ...clock, nowMs: () => nowMs }, retry: { triesMax: 1 }, ...retention });
    const attempt = await client.createAttempt("pay", 1);
    await client.post("/a", { attempt, json: 1 });
    nowMs += ms - 1;
    expect(await client.post("/a", { attempt, json: 1 })).toMatchObject({ reason: "tries", tries: 1 });
    nowMs += 1;
    expect(await client.post("/a", { attempt, json: 1 })).toMatchObject({ reason: "expired", tries: 0 });
  });

  it("starts an intent over for a person who decides so", async () => {
    let made = 0;
    const client = clientOn(wire(new Error("lost")), { keys: () => `k-${(made += 1)}`, retry: { triesMax: 1 } });
    const attempt = await client.createAttempt("pay", 1);
    await client.post("/a", { attempt, json: 1 });
    await expect(client.createAttempt("pay", 2)).rejects.toMatchObject({ code: "attempt-changed" });
    await client.startOver("pay");
    expect(await client.createAttempt("pay", 2)).toMatchObject({ key: "k-2", resumed: false });
  });

  it("warns of a key that looks like personal data, on the console or where it is told", async () => {
    const onConsole = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    try {
      const message = expect.stringContaining("an e-mail address") as string;
      await clientOn(wire(), { keys: () => "bob@mail.example" }).createAttempt("pay", 1);
      expect(onConsole.mock.calls).toEqual([[message]]);
      const told: string[] = [];
      const onWarning = (text: string): void => void told.push(text);
      await clientOn(wire(), { keys: () => "bob@mail.example", onWarning }).createAttempt("pay", 1);
      expect([told, onConsole.mock.calls.length]).toEqual([[message], 1]);
    } finally {
      vi.restoreAllMocks();
    }
  });
});

describe("the server's policy", () => {
  const published = { header: "X-Key", key: { form: "strict", format: "uuid-v4" }, retention: { duration: "PT1H" } };
  const policy = (): Response => Response.json(published);

  it("is read once, below the origin, and decides header, form and kind of keys", async () => {
    const on = wire(({ url }) => (url.endsWith("/idempotency") ? policy() : new Response("{}")));
    const client = clientOn(on, { keys: undefined as never, settings: { credentials: "include" } });
    expect(await client.readPolicy()).toMatchObject({
      header: "X-Key",
      quoted: true,
      uuidV4: true,
      retentionMs: 3_600_000,
    });
    await client.readPolicy();
    expect(on.sent.map(({ url }) => url)).toHaveLength(1);
    expect(on.sent[0]?.url).toContain("/.well-known/idempotency");
    expect(on.sent[0]).toMatchObject({ headers: { accept: "application/json" }, init: { credentials: "include" } });
    const attempt = await client.createAttempt("pay", 1);
    expect(attempt.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    await client.post("/payments", { attempt, json: 1 });
    expect(on.sent[1]?.headers).toMatchObject({ "x-key": `"${attempt.key}"` });
    expect(on.sent[1]?.headers).not.toHaveProperty("idempotency-key");
  });

  it("that cannot be read leaves everything as it is", async () => {
    const on = wire(new Response("no", { status: 404 }), new Response("{}"));
    const client = clientOn(on);
    await expect(client.readPolicy()).rejects.toThrow("no policy: 404");
    const attempt = await client.createAttempt("pay", 1);
    expect((await client.post("/payments", { attempt, json: 1 })).kind).toBe("done");
    expect(on.sent.at(-1)?.headers).toMatchObject({ "idempotency-key": "k-1" });
  });

  it.each([
    [200, 1, "x-key"],
    [404, 1, "idempotency-key"],
    [503, 2, "idempotency-key"],
  ])("with status %i is asked for %i times as an old attempt is sent again twice", async (status, times, header) => {
    const reply = (): Response => Response.json(published, { status });
    const on = wire(({ url }) => (url.endsWith("/idempotency") ? reply() : new Error("lost")));
    let nowMs = 1_000;
    const client = clientOn(on, { clock: { ...clock, nowMs: () => nowMs }, retry: { triesMax: 1 } });
    const attempt = await client.createAttempt("pay", 1);
    for (let sends = 0; sends < 3; sends += 1) {
      await client.post("/payments", { attempt, json: 1 });
      nowMs += 61_000;
    }
    expect(on.sent.filter(({ url }) => url.endsWith("/idempotency"))).toHaveLength(times);
    expect(on.sent.at(-1)?.headers).toHaveProperty(header);
  });
});

describe("a fetch with keys", () => {
  const fetchOn = (on: ReturnType<typeof wire>, options: FetchOptions = {}) =>
    createFetch({ fetch: on.fetch, storage: memoryStorage(), clock, keys: () => "k-1", ...options });
  const url = `${base}/payments`;

  it("gives a Response with status, text, lines and address of the answer", async () => {
    const reply = new Response("paid", { status: 201, statusText: "Made", headers: { "x-a": "1" } });
    const response = await fetchOn(wire(reply))(url, { method: "POST", body: "x" });
    expect(response).toBeInstanceOf(Response);
    expect([response.status, response.statusText, response.headers.get("x-a"), await response.text()]).toEqual([
      201,
      "Made",
      "1",
      "paid",
    ]);
    const empty = await fetchOn(wire(new Response(null, { status: 204 })))(url, { method: "POST" });
    expect([empty.status, empty.body]).toEqual([204, null]);
  });

  it("leaves what carries no key to fetch as it was given", async () => {
    const on = wire();
    const send = fetchOn(on);
    await send(url);
    await send(url, { method: "put", body: "x" });
    await send(new Request(url, { method: "DELETE" }));
    expect(on.sent.map(({ method, headers }) => [method, headers])).toEqual([
      [undefined, {}],
      ["put", {}],
      [undefined, {}],
    ]);
  });

  it("sends POST, also in lower case and of a Request, with the bytes of the body", async () => {
    const on = wire();
    const send = fetchOn(on);
    await send(url, { method: "post", body: "x" });
    await send(new Request(url, { method: "PATCH", body: "y", headers: { "x-a": "1" } }));
    await send(url, { method: "POST", body: new Blob(["z"]).stream() });
    await send(url, { method: "POST" });
    const bodies = on.sent.map(({ body }) => (body === null ? null : new TextDecoder().decode(body as ArrayBuffer)));
    expect(bodies).toEqual(["x", "y", "z", null]);
    expect(on.sent.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST", "POST"]);
    for (const { headers } of on.sent) expect(headers).toMatchObject({ "idempotency-key": "k-1" });
    expect(on.sent[1]?.headers).toMatchObject({ "x-a": "1" });
  });

  it("with an attempt every method but GET and HEAD has its key", async () => {
    const on = wire();
    const send = fetchOn(on);
    const attempt = await send.attempts.create("pay", 1);
    await send(url, { attempt });
    for (const method of ["GET", "HEAD", "DELETE"]) await send(url, { method, attempt });
    const keys = on.sent.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([undefined, undefined, undefined, "k-1"]);
  });

  it("leaves a key header of the caller's own as it is, with an attempt and without", async () => {
    const on = wire();
    const send = fetchOn(on);
    const attempt = await send.attempts.create("pay", 1);
    const headers = { "Idempotency-Key": '"own"' };
    await send(url, { method: "POST", headers });
    await send(url, { method: "POST", headers, attempt });
    expect(on.sent.map((sent) => sent.headers["idempotency-key"])).toEqual(['"own"', '"own"']);
  });

  it("sends the attempt of an unknown outcome again under the very header that the caller wrote", async () => {
    const on = wire(new Error("lost"));
    const send = fetchOn(on, { retry: { triesMax: 1 } });
    const lost = send(url, { method: "POST", headers: { "Idempotency-Key": '"own"' } });
    const { attempt } = (await lost.catch((error: unknown) => error)) as UnknownOutcomeError;
    await expect(send(url, { method: "POST", attempt })).rejects.toMatchObject({ key: '"own"' });
    await clientOn(on).post("/payments", { attempt, json: 1, retry: { triesMax: 1 } });
    expect(on.sent.map(({ headers }) => headers["idempotency-key"])).toEqual(['"own"', '"own"', '"own"']);
  });

  it("compares what an attempt sends, but for forms", async () => {
    const on = wire(new Error("lost"));
    const send = fetchOn(on, { retry: { triesMax: 1 } });
    const attempt = await send.attempts.create("pay", 1);
    await expect(send(url, { method: "POST", body: "x", attempt })).rejects.toMatchObject({ code: "outcome-unknown" });
    await expect(send(url, { method: "POST", body: "y", attempt })).rejects.toMatchObject({ code: "attempt-changed" });
    const form = new FormData();
    form.set("a", "1");
    await expect(send(url, { method: "POST", body: form, attempt })).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it("throws what is unknown with attempt, key, reason, tries and the last answer", async () => {
    const on = wire(new Response("busy", { status: 503 }));
    const failing = fetchOn(on, { retry: { triesMax: 2 } })(url, { method: "POST" });
    await expect(failing).rejects.toMatchObject({
      name: "UnknownOutcomeError",
      code: "outcome-unknown",
      key: "k-1",
      reason: "tries",
      attempt: { key: "k-1", name: "call:k-1", bornAtMs: 1_000 },
      response: { status: 503 },
      message: "the outcome is unknown after 2 tries (tries). Send error.attempt again; a new key could do it twice",
    });
    const lost = new Error("lost");
    const nothing = fetchOn(wire(lost), { retry: { triesMax: 1 } })(url, { method: "POST" });
    await expect(nothing).rejects.toMatchObject({ response: undefined, cause: lost });
    const reason = new Error("closed");
    const aborted = fetchOn(on)(url, { method: "POST", signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);
  });

  it("believes a refusal at once where the key lives as long as the call, which leaves nothing in the storage", async () => {
    const on = wire(new Response("{}", { status: 402 }));
    const storage = memoryStorage();
    const write = vi.spyOn(storage, "setItem");
    const response = await fetchOn(on, { storage })(url, { method: "POST" });
    expect([response.status, on.sent.length]).toEqual([402, 1]);
    expect(write.mock.calls).toEqual([]);
  });

  it("throws what is unknown where it was aborted after it was sent, and where the key is too old to be sent", async () => {
    const abort = new AbortController();
    const during = (): Error => {
      abort.abort(new Error("closed"));
      return new Error("lost");
    };
    const aborted = fetchOn(wire(during))(url, { method: "POST", signal: abort.signal });
    await expect(aborted).rejects.toMatchObject({ code: "outcome-unknown", reason: "aborted", key: "k-1" });
    const on = wire(new Error("lost"));
    let nowMs = 1_000;
    const send = fetchOn(on, { clock: { ...clock, nowMs: () => nowMs }, retry: { triesMax: 1 }, retentionMs: 60_000 });
    const attempt = await send.attempts.create("pay", 1);
    await expect(send(url, { method: "POST", attempt })).rejects.toMatchObject({ reason: "tries" });
    nowMs += 60_000;
    await expect(send(url, { method: "POST", attempt })).rejects.toMatchObject({ reason: "expired", attempt });
    expect(on.sent).toHaveLength(1);
  });

  it("has defaults of its own, made at first use", async () => {
    const on = wire();
    vi.stubGlobal("fetch", on.fetch);
    try {
      await idempotentFetch(url, { method: "POST" });
      await idempotentFetch(url, { method: "POST" });
      expect(new Set(on.sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(2);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
