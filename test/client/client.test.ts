import { describe, expect, it } from "vitest";
import { createClient, memoryStorage, type Client } from "ichido/client";
import { eventually } from "../support/eventually.ts";
import { bench, order, pay } from "./payment-bench.ts";

describe("one intent, one key, one effect, whatever the network does", () => {
  it("sends once when nothing fails", async () => {
    const all = await bench();
    const result = await pay(all);
    expect(result).toMatchObject({ kind: "done", replayed: false, tries: 1 });
    expect(result.kind === "done" && (result.answer.json() as { id: number }).id).toBe(1);
  });

  it.each([
    ["the request is lost", "to-server", "POST /payments", "before"],
    ["the answer is lost", "to-client", "HTTP/1.1 201", "before"],
    ["the body of the answer is cut in the middle", "to-client", "xxxxxxxxxx", "before"],
  ] as const)("%s: same key again, one effect", async (_, direction, pattern, place) => {
    const all = await bench();
    all.proxy.cut({ direction, pattern, place });
    const result = await pay(all);
    expect(result.kind).toBe("done");
    expect(result.tries).toBe(2);
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
    if (place === "before" && direction === "to-client") expect(result).toMatchObject({ replayed: true });
  });

  it("the connection is refused for a while: same key again, one effect", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    const onRetry = ({ tries }: { tries: number }): void => void (tries === 3 && all.proxy.admit("pass"));
    expect((await pay(all, { onRetry })).kind).toBe("done");
    expect(all.effects()).toBe(1);
  });

  it("a server that does not answer in time: the second try waits for the first one's answer", async () => {
    const all = await bench();
    all.plan.push(() => new Promise((resolve) => setTimeout(resolve, 600)));
    const result = await pay(all, { retry: { callTimeoutMs: 150, backoffMs: 10, backoffMsMax: 20, triesMax: 30 } });
    expect(result).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
  });

  it("503 then 201, and 500 under the same key", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(503).end());
    all.plan.push((res) => void res.status(500).end());
    expect(await pay(all)).toMatchObject({ kind: "done", tries: 3 });
    expect(all.effects()).toBe(1);
    expect(new Set(all.keys).size).toBe(1);
  });

  it("429 with Retry-After is honoured", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(429).set("retry-after", "1").end());
    const pauses: number[] = [];
    await pay(all, { onRetry: ({ pauseMs }: { pauseMs: number }) => pauses.push(pauseMs) });
    expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
  });

  it("202 with Retry-After is asked again until the deadline, whatever the tries, then it is unknown", async () => {
    const all = await bench();
    all.always.push((res) => void res.status(202).set("retry-after", "0").end());
    const result = await pay(all, { retry: { triesMax: 1, backoffMs: 1, deadlineMs: 1_000 } });
    expect(result).toMatchObject({ kind: "unknown", reason: "deadline" });
    expect(result.tries).toBeGreaterThan(2);
    expect(all.effects()).toBe(0);
  });

  it("202 with Retry-After, then the final answer", async () => {
    const all = await bench();
    all.front.push((res) => void res.status(202).set("retry-after", "0").end());
    expect(await pay(all, { retry: { triesMax: 1 } })).toMatchObject({ kind: "done", tries: 2 });
  });

  it("a request that is still running is waited for, however many tries are allowed", async () => {
    const all = await bench();
    all.plan.push(() => new Promise((resolve) => setTimeout(resolve, 1_500)));
    const attempt = await all.client.createAttempt("pay", order);
    const send = (tries: number): ReturnType<Client["post"]> =>
      all.client.post("/payments", {
        attempt,
        json: order,
        retry: { triesMax: tries, backoffMs: 1, callTimeoutMs: 15_000 },
      });
    const first = send(1);
    await eventually(() => expect(all.keys).toHaveLength(1));
    expect(await send(1)).toMatchObject({ kind: "done", replayed: true });
    expect(await first).toMatchObject({ kind: "done", replayed: false });
    expect(all.effects()).toBe(1);
  });

  it("an answer that is shorter than announced is no answer, also where fetch does not complain", async () => {
    const all = await bench();
    let calls = 0;
    const cutting: typeof fetch = async (input, init) => {
      calls += 1;
      const response = await fetch(input, init);
      if (calls > 1) return response;
      const { status, headers } = response;
      return new Response((await response.arrayBuffer()).slice(0, 20), { status, headers });
    };
    const client = all.make({ fetch: cutting });
    expect(await pay({ client })).toMatchObject({ kind: "done", replayed: true, tries: 2 });
    expect(all.effects()).toBe(1);
  });
});

describe("results are values", () => {
  it("a declined card is declined, and the next attempt of that name has a new key", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(402).type("application/problem+json").send('{"code":"card-declined"}'));
    const declined = await pay(all);
    expect(declined).toMatchObject({ kind: "declined", keyKept: false, problem: { code: "card-declined" }, tries: 2 });
    const again = await pay(all);
    expect(again.kind).toBe("done");
    expect(again.key).not.toBe(declined.key);
  });

  it("401 declines but keeps the key: log in and send again", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(401).end());
    const refused = await pay(all);
    expect(refused).toMatchObject({ kind: "declined", keyKept: true });
    expect((await pay(all)).key).toBe(refused.key);
  });

  it("outcome-unknown is unknown at once, with the attempt to ask again", async () => {
    const all = await bench();
    const problem = JSON.stringify({ code: "outcome-unknown", retryable: false });
    all.plan.push((res) => void res.status(409).type("application/problem+json").send(problem));
    const result = await pay(all);
    expect(result).toMatchObject({ kind: "unknown", reason: "server", tries: 1 });
    expect(result.kind === "unknown" && result.attempt.resumed).toBe(true);
  });

  it("a retryable flag decides over the status", async () => {
    const all = await bench();
    const body = (retryable: boolean): string => JSON.stringify({ code: "own", retryable });
    all.plan.push((res) => void res.status(429).type("application/problem+json").send(body(true)));
    all.plan.push((res) => void res.status(500).type("application/problem+json").send(body(false)));
    expect(await pay(all)).toMatchObject({ kind: "unknown", reason: "server", tries: 2 });
  });

  it("an aborted send is unknown, not an exception", async () => {
    const all = await bench();
    const abort = new AbortController();
    all.plan.push(async () => {
      abort.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(await pay(all, { signal: abort.signal })).toMatchObject({ kind: "unknown", reason: "aborted" });
    const aborted = AbortSignal.abort();
    expect(await pay(all, { signal: aborted })).toMatchObject({ kind: "unknown", reason: "aborted", tries: 0 });
  });

  it("gives up at the total deadline and when the retry budget is empty", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    expect(await pay(all, { retry: { deadlineMs: 200, backoffMs: 150, backoffMsMax: 300 } })).toMatchObject({
      reason: "deadline",
    });
    const client = all.make({ retry: { budget: 1, backoffMs: 1 } });
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "budget", tries: 2 });
  });
});

describe("attempts", () => {
  it("survive a reload: another client on the same storage sends the same key and gets the first answer", async () => {
    const all = await bench();
    const storage = memoryStorage();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    const before = all.make({ storage, retry: { triesMax: 1 } });
    expect((await pay({ client: before })).kind).toBe("unknown");
    const after = all.make({ storage });
    const attempt = await after.createAttempt("pay:b-1", order);
    expect(attempt.resumed).toBe(true);
    expect(await after.post("/payments", { attempt, json: order })).toMatchObject({ kind: "done", replayed: true });
    expect(all.effects()).toBe(1);
  });

  it("are bound to their payload once sent: a changed payload is an error that says what to do", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    await pay(all, { retry: { triesMax: 1 } });
    all.proxy.admit("pass");
    const changed = all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    await expect(changed).rejects.toMatchObject({
      code: "attempt-changed",
      message: expect.stringContaining("startOver"),
    });
    await all.client.startOver("pay:b-1");
    expect((await all.client.createAttempt("pay:b-1", { ...order, amount: 200 })).resumed).toBe(false);
  });

  it("may change freely before anything was sent, and member order does not matter", async () => {
    const { client } = await bench();
    const first = await client.createAttempt("a", { x: 1, y: { b: 2, a: 1 } });
    expect((await client.createAttempt("a", { y: { a: 1, b: 2 }, x: 1 })).key).toBe(first.key);
    expect((await client.createAttempt("a", { x: 2 })).key).not.toBe(first.key);
  });

  it("made twice at once are one", async () => {
    const { client } = await bench();
    const made = await Promise.all(Array.from({ length: 10 }, () => client.createAttempt("a", order)));
    expect(new Set(made.map(({ key }) => key)).size).toBe(1);
  });

  it("a double click is one effect", async () => {
    const all = await bench();
    all.plan.push(() => new Promise((resolve) => setTimeout(resolve, 100)));
    const attempt = await all.client.createAttempt("pay", order);
    const results = await Promise.all([1, 2].map(() => all.client.post("/payments", { attempt, json: order })));
    expect(results.map(({ kind }) => kind)).toEqual(["done", "done"]);
    expect(all.effects()).toBe(1);
  });

  it("older than the server remembers are unknown and are not sent blindly", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock, storage: memoryStorage() });
    await client.readPolicy();
    all.proxy.admit("reset");
    all.proxy.reset();
    await pay({ client }, { retry: { triesMax: 1 } });
    all.proxy.admit("pass");
    nowMs += 2 * 3_600_000 + 1;
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "expired", tries: 0 });
    expect(all.effects()).toBe(0);
  });

  it("held in memory past the retention are not sent blindly either, settled elsewhere or not", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock, retentionMs: 3_600_000 });
    const attempt = await client.createAttempt("pay", order);
    expect((await client.post("/payments", { attempt, json: order })).kind).toBe("done");
    nowMs += 7_200_000;
    expect(await client.post("/payments", { attempt, json: order })).toMatchObject({ reason: "expired", tries: 0 });
    expect(all.effects()).toBe(1);
  });

  it("made long ago but never sent are sent: the server has not seen them", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock, retentionMs: 3_600_000 });
    const attempt = await client.createAttempt("pay", order);
    nowMs += 7_200_000;
    expect((await client.post("/payments", { attempt, json: order })).kind).toBe("done");
  });

  it("the policy is read by itself before an old attempt is sent again", async () => {
    const all = await bench();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, random: () => 0, sleep: async () => undefined };
    const client = all.make({ clock });
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    await pay({ client }, { retry: { triesMax: 1 } });
    // The server says two hours; without its word a day would be assumed.
    nowMs += 3 * 3_600_000;
    expect(await pay({ client })).toMatchObject({ kind: "unknown", reason: "expired", tries: 0 });
    expect(all.effects()).toBe(1);
  });

  it("are bound to what was sent: other content under the same attempt is an error before it leaves", async () => {
    const all = await bench();
    all.proxy.admit("reset");
    const attempt = await all.client.createAttempt("pay", "cart-7");
    await all.client.post("/payments", { attempt, json: order, retry: { triesMax: 1 } });
    all.proxy.admit("pass");
    const other = all.client.post("/payments", { attempt, json: { ...order, amount: 200 } });
    await expect(other).rejects.toMatchObject({ code: "attempt-changed" });
    expect(all.keys).toEqual([]);
    const { amount, bookingId } = order;
    expect((await all.client.post("/payments", { attempt, json: { amount, bookingId } })).kind).toBe("done");
  });

  it("replaced in another tab are not sent", async () => {
    const all = await bench();
    const storage = memoryStorage();
    const [one, other] = [all.make({ storage }), all.make({ storage })];
    const attempt = await one.createAttempt("pay", order);
    await other.createAttempt("pay", { ...order, amount: 200 });
    const sent = one.post("/payments", { attempt, json: order });
    await expect(sent).rejects.toMatchObject({ code: "attempt-changed", message: expect.stringContaining("replaced") });
    expect(all.keys).toEqual([]);
  });

  it("that cannot be kept are not sent; one that cannot be removed still gives its result", async () => {
    const all = await bench();
    const full = { ...memoryStorage(), setItem: () => Promise.reject(new Error("full")) };
    await expect(all.make({ storage: full }).createAttempt("a", 1)).rejects.toMatchObject({ code: "storage-failed" });
    const stuck = { ...memoryStorage(), removeItem: () => Promise.reject(new Error("stuck")) };
    expect((await pay({ client: all.make({ storage: stuck }) })).kind).toBe("done");
  });

  it("aborted before anything was sent stay unsent", async () => {
    const all = await bench();
    await pay(all, { signal: AbortSignal.abort() });
    expect((await all.client.createAttempt("pay:b-1", order)).resumed).toBe(false);
  });

  it("a send without an attempt is refused", async () => {
    const { client } = await bench();
    await expect(client.post("/payments", {} as never)).rejects.toMatchObject({ code: "attempt-missing" });
  });

  it("never goes on GET", async () => {
    const { client } = await bench();
    const attempt = await client.createAttempt("a", order);
    const sent = client.send("GET" as never, "/payments", { attempt });
    await expect(sent).rejects.toMatchObject({ code: "option-invalid" });
  });

  it("a response that was not kept is done, not declined", async () => {
    const all = await bench();
    const problem = { code: "response-not-stored", retryable: false, originalStatus: 201, location: "/payments/7" };
    all.front.push((res) => void res.status(409).type("application/problem+json").send(JSON.stringify(problem)));
    expect(await pay(all)).toMatchObject({ kind: "done", replayed: true, problem: { location: "/payments/7" } });
  });

  it("makes keys of version 4 where the server takes no others", async () => {
    const policy = JSON.stringify({ key: { form: "lenient", format: "uuid-v4" } });
    const client = createClient({ baseUrl: "http://127.0.0.1", fetch: async () => new Response(policy) });
    expect((await client.createAttempt("a", 1)).key[14]).toBe("7");
    await client.readPolicy();
    expect((await client.createAttempt("b", 1)).key[14]).toBe("4");
  });

  it("uses the form that the server publishes", async () => {
    const all = await bench();
    expect(await all.client.readPolicy()).toMatchObject({ quoted: true, retentionMs: 7_200_000 });
    await pay(all);
    expect(all.keys[0]).toMatch(/^"[0-9a-f-]{36}"$/);
  });
});
