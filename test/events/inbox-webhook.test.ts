/** Signed webhooks become messages; nothing is written for one that is not signed. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createIchido } from "ichido";
import { createWebhookReceiver, type Inbox, type WebhookEvent, type WebhookReceiverOptions } from "ichido/inbox";
import { createRelay } from "ichido/outbox";
import { webhookPublisher } from "ichido/webhook";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { readSecret, sign } from "../../packages/ichido/src/brokers/standard-webhooks.ts";
import { addEffect } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { uniqueName } from "../support/services.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, migrated } from "./inbox-messages.ts";
import { openOutbox } from "./outbox-bed.ts";

const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const former = `whsec_${Buffer.from("fedcba9876543210fedcba9876543210").toString("base64")}`;
const encoder = new TextEncoder();

interface Sending {
  readonly id?: string;
  readonly body?: string;
  readonly by?: string;
  readonly nowMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

function sent({
  id = uniqueName("evt"),
  body = '{"a":1}',
  by = secret,
  nowMs = Date.now(),
  headers = {},
}: Sending = {}): {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const signature = sign(readSecret(by), { id, body: encoder.encode(body), nowMs });
  return { id, body, headers: { "content-type": "application/json", ...signature, ...headers } };
}

forEachDatabase("the webhook receiver", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });

  const receiving = (options: Partial<WebhookReceiverOptions<unknown>> = {}) => {
    const events: WebhookEvent[] = [];
    const receiver = createWebhookReceiver({
      inbox,
      secrets: [secret, former],
      name: "stripe",
      once: (_tx, { handle, message }) => addEffect(handle, `${message.topic} ${message.id}`),
      onEvent: (event) => events.push(event),
      ...options,
    } as WebhookReceiverOptions<unknown>);
    const post = (one: { readonly headers: Record<string, string>; readonly body: string }): Promise<Response> =>
      receiver.fetch(new Request("http://shop.test/hooks", { method: "POST", ...one }));
    return { receiver, events, post };
  };
  const effectsOf = async (id: string): Promise<readonly string[]> =>
    (await open().effects()).filter((name) => name.endsWith(` ${id}`));

  test("a signed delivery is processed once, whichever secret signed it; other content under its id is a conflict", async () => {
    const { post, events } = receiving();
    const one = sent();
    expect((await post(one)).status).toBe(204);
    expect((await post(sent({ id: one.id, by: former }))).status).toBe(204);
    expect((await post(sent({ id: one.id, body: '{"a":2}' }))).status).toBe(422);
    expect(await effectsOf(one.id)).toEqual([`webhook ${one.id}`]);
    expect(events.map(({ type }) => type)).toEqual(["processed", "duplicate", "conflict"]);
  });

  test("nothing is written for what is not signed, too old, changed or too large", async () => {
    const { post, receiver, events } = receiving({ bodyBytesMax: 100 });
    const before = await inbox.stats();
    const one = sent();
    const stranger = sent({ by: `whsec_${Buffer.alloc(32, 7).toString("base64")}` });
    const refusals = [
      await post({ ...one, body: '{"a":9}' }),
      await post({ ...one, headers: { ...one.headers, "webhook-id": "another" } }),
      await post({ ...one, headers: { "content-type": "application/json" } }),
      await post(stranger),
      await post(sent({ nowMs: Date.now() - 301_000 })),
      await post(sent({ nowMs: Date.now() + 302_000 })),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401]);
    for (const refusal of refusals) expect(await refusal.text()).toBe("");
    expect((await post(sent({ body: "x".repeat(101) }))).status).toBe(413);
    const chunked = sent({ body: "x".repeat(300) });
    const stream = new Blob(["x".repeat(150), "x".repeat(150)]).stream();
    const endless = new Request("http://shop.test", {
      method: "POST",
      headers: chunked.headers,
      body: stream,
      duplex: "half",
    } as RequestInit);
    expect((await receiver.fetch(endless)).status).toBe(413);
    expect((await receiver.fetch(new Request("http://shop.test/hooks"))).status).toBe(405);
    expect((await inbox.stats()).processed).toBe(before.processed);
    expect(events.every(({ type }) => type === "refused")).toBe(true);
  });

  test("W8b a handler that fails is answered with 500 and no details, and the retry is processed", async () => {
    let failing = true;
    const { post, events } = receiving({
      name: "flaky",
      once: async (_tx, { handle, message }) => {
        await addEffect(handle, `flaky ${message.id}`);
        if (failing) throw new Error("the secret plan");
      },
    });
    const one = sent();
    const first = await post(one);
    expect([first.status, await first.text()]).toEqual([500, ""]);
    expect(await effectsOf(one.id)).toEqual([]);
    expect(events).toMatchObject([{ type: "failed", id: one.id, error: { message: "the secret plan" } }]);
    failing = false;
    expect((await post(one)).status).toBe(204);
    expect(await effectsOf(one.id)).toEqual([`flaky ${one.id}`]);
  });

  test("a delivery whose first one still runs is asked to come again", async () => {
    const one = sent();
    const side = open().side();
    await (side.store as unknown as { migrate(): Promise<unknown> }).migrate();
    const ichido = createIchido({ store: side.store, dangerouslyShareKeys: true, onUnknown: "hold", sweepMs: "off" });
    const leased = inboxOn(side.runner, { ichido });
    let second: Response | undefined;
    const { post } = receiving({
      inbox: leased,
      name: "leased",
      once: undefined as never,
      retryAfterSeconds: 7,
      run: async () => {
        second ??= await post(one);
      },
    });
    expect((await post(one)).status).toBe(204);
    expect(second?.status).toBe(503);
    expect(second?.headers.get("retry-after")).toBe("7");
  });

  test("the id is the signed one, whatever the event's own headers say", async () => {
    const { post } = receiving();
    const one = sent({ headers: { "ce-id": "forged", "ce-type": "order.paid", "ce-source": "/shop" } });
    expect((await post(one)).status).toBe(204);
    expect(await effectsOf(one.id)).toEqual([`order.paid ${one.id}`]);
    expect(await effectsOf("forged")).toEqual([]);
    expect((await post(sent({ headers: { "ce-type": "no topic" } }))).status).toBe(400);
  });

  test("on Node's own server, with the bytes as they came", async () => {
    const { receiver } = receiving({ bodyBytesMax: 1_000 });
    const server = createServer((request, response) => void receiver.node(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const one = sent({ body: '{ "name":  "\u00e9\u6771" }' });
    expect((await fetch(url, { method: "POST", ...one })).status).toBe(204);
    expect((await fetch(url, { method: "POST", ...one })).status).toBe(204);
    expect((await fetch(url, { method: "POST", ...one, body: '{"name":"\u00e9\u6771"}' })).status).toBe(401);
    expect((await fetch(url, { method: "POST", ...sent({ body: "x".repeat(1_001) }) })).status).toBe(413);
    expect((await fetch(url)).status).toBe(405);
    expect(await effectsOf(one.id)).toHaveLength(1);
  });

  test("a relay that sends other content under a known id is refused for good: a dead letter, not a retry without end", async () => {
    const { receiver, events } = receiving();
    const server = createServer((request, response) => void receiver.node(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { id, ...first } = sent();
    expect((await fetch(endpoint, { method: "POST", ...first })).status).toBe(204);
    const outbox = await openOutbox(open(), { topics: { "order.*": { to: "web", attemptsMax: 2 } } });
    await outbox.transaction((_tx, handle) => outbox.add(handle, { id, topic: "order.paid", payload: { a: 2 } }));
    const routes = { web: webhookPublisher({ endpoint, secret }) };
    const relay = createRelay(outbox, { routes, backoffMs: 1, backoffMsMax: 1, pauseMs: 1, pauseMsMax: 1 });
    await eventually(async () => {
      await relay.tick();
      expect((await outbox.dead.list()).letters).toMatchObject([{ message: { id }, reason: "rejected" }]);
    });
    await relay.stop();
    expect(events.map(({ type }) => type)).toEqual(["processed", "conflict", "conflict"]);
  });

  test("a body that somebody has read is an error that says where to mount", async () => {
    const { receiver } = receiving();
    const request = new Request("http://shop.test/hooks", { method: "POST", ...sent() });
    await request.text();
    await expect(receiver.fetch(request)).rejects.toMatchObject({ code: "body-unavailable" });
  });

  test.each([
    [{ secrets: [] }, /secrets: expected at least one/],
    [{ secrets: ["x"] }, /secrets\[0\]: expected "whsec_"/],
    [{ name: "" }, /handler: expected/],
    [{ topic: "a b" }, /topic must be/],
    [{ bodyBytesMax: 0 }, /bodyBytesMax: expected/],
    [{ run: () => {} }, /once: expected a function here or as run, and not both/],
  ])("the options %j are refused", (options, text) => {
    expect(() => receiving(options as Partial<WebhookReceiverOptions<unknown>>)).toThrow(text);
  });
});
