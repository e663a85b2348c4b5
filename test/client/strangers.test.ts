/** Answers that the protected service did not make: gateways, login pages, captive portals. */
import { describe, expect, it } from "vitest";
import { createFetch, memoryStorage, type ClientOptions, type Result } from "ichido/client";
import { bench, order, pay, type Bench } from "./payment-bench.ts";

const page = "<!doctype html><title>Not here</title>";
type Answers = Bench["front"][number];
type Answering = Parameters<Answers>[0];
const html =
  (status: number): Answers =>
  (res) =>
    void res.status(status).type("html").send(page);
const json =
  (status: number): Answers =>
  (res) =>
    void res.status(status).json({ message: "no route matched" });
const declineCard: Answers = (res) => void res.status(402).json({ code: "card-declined" });
/** The answer is made and recorded, and does not arrive. */
const loseAnswer = (all: Bench, status: number): void =>
  void all.proxy.cut({ direction: "to-client", pattern: `HTTP/1.1 ${status}`, place: "before" });
/** From then on the stranger answers, as a gateway does when what is behind it restarts. */
const from =
  (all: Bench, stranger: Answers): Answers =>
  () =>
    void all.always.push(stranger);

async function onceReachable(all: Bench, first: Result): Promise<void> {
  all.always.length = 0;
  const again = await pay(all);
  expect(again).toMatchObject({ kind: "done", key: first.key });
  expect(all.effects()).toBe(1);
  expect(new Set(all.keys).size).toBe(1);
}

describe("a stranger's answer never ends an attempt", () => {
  it.each([
    ["404 in HTML", html(404)],
    ["404 in JSON", json(404)],
    ["410 without a body", (res: Answering) => void res.status(410).end()],
    ["502 in HTML", html(502)],
    ["200 in HTML", html(200)],
  ])("%s after a lost answer: unknown, and the next press gets the first one's answer", async (_, stranger) => {
    const all = await bench();
    loseAnswer(all, 201);
    all.plan.push(from(all, stranger));
    const lost = await pay(all, { retry: { triesMax: 4, backoffMs: 1 } });
    expect(lost.kind).toBe("unknown");
    await onceReachable(all, lost);
  });

  it("a redirect to a login page is not done, whatever the page says", async () => {
    const all = await bench();
    for (const stranger of [html(200), json(200)]) {
      all.always.push((res) => {
        if (res.req.path === "/login") stranger(res);
        else res.redirect(302, "/login");
      });
      const result = await pay(all);
      expect(result).toMatchObject({ kind: "unknown", reason: "unproven", tries: 3 });
      expect(result.answer?.redirected).toBe(true);
      all.always.length = 0;
    }
    expect(await pay(all)).toMatchObject({ kind: "done", replayed: false });
    expect(new Set(all.keys).size).toBe(1);
  });

  it("a portal's page is not done, also without a media type", async () => {
    const all = await bench();
    for (const stranger of [html(200), (res: Answering) => void res.writeHead(200).end(page)]) {
      all.always[0] = stranger;
      expect(await pay(all)).toMatchObject({ kind: "unknown", reason: "unproven" });
    }
    await onceReachable(all, await pay(all));
  });

  it("JSON that was cut is no answer, where nothing announced its length", async () => {
    const all = await bench();
    all.front.push((res) => {
      // As over HTTP/1.0: the end of the connection is the end of the answer.
      res.socket?.end('HTTP/1.0 201 Created\r\ncontent-type: application/json\r\n\r\n{"id": 1, "pad');
    });
    expect(await pay(all)).toMatchObject({ kind: "done", tries: 2 });
  });

  it("a page at the first try is declined with its key, and other content is free: nothing was left open", async () => {
    const all = await bench();
    all.always.push(html(404));
    const refused = await pay(all);
    expect(refused).toMatchObject({ kind: "declined", keyKept: true, tries: 2 });
    const other = await all.client.createAttempt("pay:b-1", { ...order, amount: 200 });
    expect([other.resumed, other.key === refused.key]).toEqual([false, false]);
  });

  it("a gateway's JSON at the first try likewise: a browser may have sent the request twice, unseen", async () => {
    const all = await bench();
    all.proxy.cut({ direction: "to-client", pattern: "HTTP/1.1 201", place: "before" });
    all.plan.push(from(all, json(404)));
    // As Chromium does over a connection that was kept.
    const resending: typeof fetch = (input, init) => fetch(input, init).catch(() => fetch(input, init));
    const client = all.make({ fetch: resending, retry: { triesMax: 1 } });
    const refused = await pay({ client });
    expect(refused).toMatchObject({ kind: "declined", keyKept: true, tries: 2 });
    all.always.length = 0;
    expect(await pay({ client })).toMatchObject({ kind: "done", replayed: true, key: refused.key });
    expect(all.effects()).toBe(1);
  });

  it("a deploy's page at the first try is waited out", async () => {
    const all = await bench();
    all.front.push(html(404));
    expect(await pay(all)).toMatchObject({ kind: "done", tries: 2 });
    expect(new Set(all.keys).size).toBe(1);
  });

  it("of two sends at once, the one that a stranger refuses leaves the other its key", async () => {
    const all = await bench();
    const storage = memoryStorage();
    const other = all.make({ storage, retry: { triesMax: 1 } });
    const gate = Promise.withResolvers<void>();
    const inside = Promise.withResolvers<void>();
    loseAnswer(all, 201);
    all.plan.push(() => {
      inside.resolve();
      return gate.promise;
    });
    const held: Promise<Result>[] = [];
    const client = all.make({
      storage,
      fetch: async () => {
        if (held.length === 0) held.push(pay({ client: other }));
        await inside.promise;
        return Response.json({ message: "no route matched" }, { status: 404 });
      },
    });
    const refused = await pay({ client });
    expect(refused).toMatchObject({ kind: "declined", keyKept: true });
    gate.resolve();
    expect((await Promise.all(held)).map(({ kind }) => kind)).toEqual(["unknown"]);
    expect(await pay({ client: other })).toMatchObject({ kind: "done", replayed: true, key: refused.key });
    expect(all.effects()).toBe(1);
  });
});

describe("the service's own answer is believed", () => {
  it("a refusal after a lost answer, by its marker", async () => {
    const all = await bench();
    loseAnswer(all, 402);
    all.plan.push(declineCard);
    expect(await pay(all)).toMatchObject({ kind: "declined", keyKept: false, tries: 2 });
  });

  it("a first refusal after a lost request is asked for once more, and then has its marker", async () => {
    const all = await bench();
    all.proxy.cut({ direction: "to-server", pattern: "POST /payments", place: "before" });
    all.plan.push(declineCard);
    const declined = await pay(all);
    expect(declined).toMatchObject({ kind: "declined", keyKept: false, tries: 3 });
    expect((await all.client.createAttempt("pay:b-1", order)).key).not.toBe(declined.key);
  });

  it.each([
    ["JSON", 402, declineCard],
    ["HTML", 402, html(402)],
  ] as const)("a refusal in %s, when it is replayed", async (_, status, refuse) => {
    const all = await bench();
    all.plan.push(refuse);
    const declined = await pay(all);
    expect(declined).toMatchObject({ kind: "declined", keyKept: false, tries: 2, answer: { status } });
  });

  it.each([
    ["text", (res: Answering) => void res.status(200).type("text").send("paid")],
    ["nothing", (res: Answering) => void res.status(204).end()],
    ["nothing, announced as JSON", (res: Answering) => void res.status(201).type("json").end()],
  ])("an answer of %s", async (_, answer) => {
    const all = await bench();
    all.plan.push(answer);
    expect(await pay(all)).toMatchObject({ kind: "done", tries: 1 });
  });

  it("HTML where a form was sent, or where HTML was asked for", async () => {
    const all = await bench();
    const attempt = await all.client.createAttempt("form", 1);
    all.plan.push(html(200));
    expect(await all.client.post("/payments", { attempt, body: new URLSearchParams({ a: "1" }) })).toMatchObject({
      kind: "done",
      tries: 1,
    });
    all.plan.push(html(200));
    expect(await pay(all, { headers: { accept: "text/html" } })).toMatchObject({ kind: "done", tries: 1 });
  });

  it("where isAnswer says so, and not where it says no", async () => {
    const all = await bench();
    const told = async (isAnswer: ClientOptions["isAnswer"]): Promise<Result> =>
      pay({ client: all.make({ storage: memoryStorage(), isAnswer }) });
    all.always.push((res) => {
      if (res.req.path === "/payments/7") res.json({ id: 7 });
      else res.redirect(303, "/payments/7");
    });
    expect(await told(undefined)).toMatchObject({ kind: "unknown", reason: "unproven" });
    expect(await told(() => undefined)).toMatchObject({ kind: "unknown", reason: "unproven" });
    expect(await told(({ url }) => url.includes("/payments/"))).toMatchObject({ kind: "done", tries: 1 });
    all.always.length = 0;
    expect(await told(({ headers }) => headers.has("x-request-id"))).toMatchObject({ kind: "done", replayed: true });
    expect(() => all.make({ isAnswer: true as never })).toThrow("option isAnswer: expected a function");
  });

  it("a service without markers says with isAnswer that a refusal after a lost answer is its own", async () => {
    const all = await bench();
    const client = all.make({ isAnswer: ({ headers }) => (headers.get("content-type") ?? "").includes("json") });
    all.front.push((res) => void res.destroy());
    all.front.push(declineCard);
    expect(await pay({ client })).toMatchObject({ kind: "declined", keyKept: false, tries: 2 });
  });

  it("asks for JSON where JSON is sent, unless the caller asks for something else", async () => {
    const accepts: (string | null)[] = [];
    const spy: typeof fetch = async (_, init) => {
      accepts.push(new Headers(init?.headers).get("accept"));
      return new Response(null, { status: 204 });
    };
    const all = await bench();
    const send = (more = {}): Promise<Result> => pay({ client: all.make({ fetch: spy }) }, more);
    await send();
    await send({ headers: { Accept: "text/csv" } });
    await send({ json: undefined, body: "a" });
    expect(accepts).toEqual(["application/json", "text/csv", null]);
  });
});

describe("a refusal that did not use the key up", () => {
  it("leaves the content free, unless an earlier send is open", async () => {
    const all = await bench();
    all.plan.push((res) => void res.status(413).end());
    const refused = await pay(all);
    expect(refused).toMatchObject({ kind: "declined", keyKept: true });
    expect((await all.client.createAttempt("pay:b-1", order)).key).toBe(refused.key);
    const smaller = { ...order, amount: 1 };
    const attempt = await all.client.createAttempt("pay:b-1", smaller);
    loseAnswer(all, 201);
    all.plan.push(from(all, (res) => void res.status(401).end()));
    expect(await all.client.post("/payments", { attempt, json: smaller })).toMatchObject({ keyKept: true, tries: 2 });
    await expect(all.client.createAttempt("pay:b-1", order)).rejects.toMatchObject({ code: "attempt-changed" });
  });
});

describe("headers that CORS does not expose", () => {
  const readable = new Set(["content-type", "content-length", "cache-control", "expires", "last-modified"]);
  const hiding: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const headers = [...response.headers].filter(([name]) => readable.has(name));
    return new Response(await response.arrayBuffer(), { status: response.status, headers });
  };

  it("202 says in its body that it is not the answer", async () => {
    const all = await bench();
    const client = all.make({ fetch: hiding });
    const accepted = { operationId: "op-1", state: "processing" };
    all.front.push((res) => void res.status(202).set("retry-after", "1").json(accepted));
    expect(await pay({ client }, { retry: { triesMax: 1 } })).toMatchObject({ kind: "done", tries: 2 });
    expect(all.effects()).toBe(1);
  });

  it("a pause is read from the problem document", async () => {
    const all = await bench();
    const client = all.make({ fetch: hiding });
    const problem = JSON.stringify({ code: "store-unavailable", retryable: true, retryAfter: 1 });
    all.front.push((res) => void res.status(503).type("application/problem+json").send(problem));
    const pauses: number[] = [];
    await pay({ client }, { onRetry: ({ pauseMs }: { pauseMs: number }) => pauses.push(pauseMs) });
    expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
  });

  it("a refusal after a lost answer cannot be told from a stranger's: unknown, and the key is kept", async () => {
    const all = await bench();
    const client = all.make({ fetch: hiding });
    loseAnswer(all, 402);
    all.plan.push(declineCard);
    const result = await pay({ client });
    expect(result).toMatchObject({ kind: "unknown", reason: "unproven", answer: { status: 402 } });
    expect((await client.createAttempt("pay:b-1", order)).key).toBe(result.key);
  });
});

describe("as a drop-in for fetch", () => {
  it("a first refusal is a Response at once, also of a service without markers; after a lost answer it is not", async () => {
    const all = await bench();
    const send = createFetch({ storage: memoryStorage(), retry: { backoffMs: 1 } });
    const paying = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) };
    const url = new URL("/payments", all.proxy.url).href;
    all.front.push(json(402));
    expect((await send(url, paying)).status).toBe(402);
    expect(all.keys).toHaveLength(1);
    loseAnswer(all, 201);
    all.plan.push(from(all, html(404)));
    await expect(send(url, paying)).rejects.toMatchObject({ code: "outcome-unknown", reason: "unproven" });
  });
});
