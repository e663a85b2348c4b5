import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { webhookPublisher } from "ichido/webhook";
import type { WebhookPublisherOptions } from "ichido/webhook";
import { messageFrom } from "../../packages/ichido/src/brokers/headers.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../../scripts/services/instance.ts";
import { eventOf } from "./broker-rig.ts";
import { receiver, signatureByHand, status } from "./webhook-receiver.ts";
import type { Respond } from "./webhook-receiver.ts";

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const secret = newSecret();
const patient = { openAfter: 1_000 } as const;

function publisherTo(url: string, options: Partial<WebhookPublisherOptions> = {}) {
  return webhookPublisher({ endpoint: url, secret, circuit: patient, ...options });
}

describe("webhook request", () => {
  test("carries the event, its id as Idempotency-Key, and a signature that a receiver computes by hand", async () => {
    const there = await receiver();
    const event = eventOf({
      id: String.raw`evt"1\2`,
      key: "schlüssel 鍵",
      payload: Uint8Array.from({ length: 256 }, (_, byte) => byte),
      contentType: "application/octet-stream",
      correlationId: "corr",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      headers: { "x-name": "Žofie 日本" },
    });
    const before = Math.floor(Date.now() / 1_000);
    expect(await publisherTo(there.url, { userAgent: "shop/1" }).publish(event)).toEqual({ outcome: "sent" });
    const [one] = there.received;
    if (one === undefined) throw new Error("nothing was received");
    expect(one.headers["webhook-id"]).toBe(event.id);
    expect(one.headers["idempotency-key"]).toBe(String.raw`"evt\"1\\2"`);
    expect(Number(one.headers["webhook-timestamp"])).toBeGreaterThanOrEqual(before);
    expect(Number(one.headers["webhook-timestamp"])).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(one.headers["webhook-signature"]).toBe(signatureByHand(secret, one));
    expect(one.headers["user-agent"]).toBe("shop/1");
    expect(one.path).toBe("/hooks?token=of-the-user");
    const texts = Object.fromEntries(Object.entries(one.headers).filter(([, value]) => typeof value === "string"));
    const read = messageFrom(texts as Record<string, string>, new Uint8Array(one.body));
    expect({ ...read, payload: [...read.payload] }).toEqual({ ...event, payload: [...event.payload] });
  });

  test("is not made for an event whose id has a full stop: the signature would be one of other ids too", async () => {
    const there = await receiver();
    const published = await publisherTo(there.url).publish(eventOf({ id: "order.1700000000" }));
    expect(published).toMatchObject({ outcome: "rejected", error: { message: expect.stringMatching(/full stop/) } });
    expect(there.received).toEqual([]);
  });

  test("is signed with every secret while one replaces another", async () => {
    const there = await receiver();
    const secrets = [newSecret(), newSecret()] as const;
    await publisherTo(there.url, { secret: secrets }).publish(eventOf());
    const [one] = there.received;
    if (one === undefined) throw new Error("nothing was received");
    expect(one.headers["webhook-signature"]).toBe(secrets.map((each) => signatureByHand(each, one)).join(" "));
  });

  test("goes to the closest endpoint of its topic, with that endpoint's secret and headers", async () => {
    const [exact, below, rest] = [await receiver(), await receiver(), await receiver()];
    const own = newSecret();
    const publisher = webhookPublisher({
      secret,
      endpoints: {
        "order.paid": { url: exact.url, secret: own, headers: { Authorization: "Bearer x" } },
        "order.*": below.url,
        "*": rest.url,
      },
    });
    for (const topic of ["order.paid", "order.sent", "order.line.added", "stock"])
      expect(await publisher.publish(eventOf({ topic }))).toEqual({ outcome: "sent" });
    expect([exact, below, rest].map(({ received }) => received.map(({ headers }) => headers["ce-type"]))).toEqual([
      ["order.paid"],
      ["order.sent", "order.line.added"],
      ["stock"],
    ]);
    const [paid] = exact.received;
    if (paid === undefined) throw new Error("nothing was received");
    expect(paid.headers.authorization).toBe("Bearer x");
    expect(paid.headers["webhook-signature"]).toBe(signatureByHand(own, paid));
  });

  test("is not made for a topic without an endpoint, nor with a header that HTTP cannot carry", async () => {
    const there = await receiver();
    const publisher = webhookPublisher({ secret, endpoints: { "order.*": there.url } });
    expect(await publisher.publish(eventOf({ topic: "stock" }))).toMatchObject({ outcome: "rejected" });
    const unsendable = eventOf({ topic: "order.paid", headers: { expect: "100-continue" } });
    expect(await publisher.publish(unsendable)).toMatchObject({ outcome: "rejected" });
    expect(there.received).toEqual([]);
  });
});

describe("webhook answers", () => {
  test.each([
    [200, "sent"],
    [202, "sent"],
    [204, "sent"],
    [400, "rejected"],
    [401, "rejected"],
    [404, "rejected"],
    [410, "rejected"],
    [413, "rejected"],
    [422, "rejected"],
    [408, "unavailable"],
    [409, "later"],
    [425, "later"],
    [429, "unavailable"],
    [500, "unavailable"],
    [502, "unavailable"],
    [503, "unavailable"],
  ])("%i means %s", async (code, outcome) => {
    const there = await receiver(status(code));
    const published = await publisherTo(there.url).publish(eventOf());
    expect(published.outcome).toBe(outcome);
    if ("error" in published) {
      expect(published.error.message).toContain(String(code));
      expect(published.error.message).not.toContain("of-the-user");
    }
  });

  test("a redirection is rejected with its target and never followed", async () => {
    const target = await receiver();
    for (const code of [301, 302, 303, 307, 308]) {
      const there = await receiver(status(code, { location: target.url }));
      const published = await publisherTo(there.url).publish(eventOf());
      expect(published).toMatchObject({ outcome: "rejected" });
      expect("error" in published && published.error.message).toContain(target.url);
    }
    expect(target.received).toEqual([]);
  });

  test.each<[string, Respond]>([
    ["says nothing", () => undefined],
    ["closes without an answer", (response) => response.destroy()],
    ["breaks off in the headers", (response) => void response.socket?.end("HTTP/1.1 200 OK\r\ncontent-le")],
  ])("a receiver that %s is unavailable within the timeout", async (_, respond) => {
    const there = await receiver(respond);
    const published = await publisherTo(there.url, { callTimeoutMs: 300 }).publish(eventOf());
    expect(published).toMatchObject({ outcome: "unavailable", scope: new URL(there.url).host });
  });

  test("nobody listening is unavailable, with the code of the failure and without the address's query", async () => {
    const published = await publisherTo(`http://127.0.0.1:${await freePort()}/x?token=of-the-user`).publish(eventOf());
    expect(published).toMatchObject({ outcome: "unavailable" });
    expect("error" in published && published.error.message).toMatch(/ECONNREFUSED/);
    expect("error" in published && published.error.message).not.toContain("of-the-user");
  });

  test("a fetch that ignores its signal does not outlast the timeout", async () => {
    const publisher = publisherTo("https://example.test/", {
      callTimeoutMs: 50,
      fetch: () => new Promise(() => undefined),
    });
    expect(await publisher.publish(eventOf())).toMatchObject({ outcome: "unavailable" });
  });

  test("the status counts though the body never ends, comes slowly, or breaks off", async () => {
    const endless: Respond = (response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    };
    const slow: Respond = (response) => void response.writeHead(200).write("a");
    const cut: Respond = (response) => {
      response.writeHead(200, { "content-length": "100" }).write("a", () => response.destroy());
    };
    for (const respond of [endless, slow, cut]) {
      const there = await receiver(respond);
      const publisher = publisherTo(there.url, { callTimeoutMs: 400, responseBytesMax: 1_000 });
      expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
    }
  });
});

describe("webhook circuit", () => {
  test("opens after failures in a row, tries with one event, and closes when that one arrives", async () => {
    const there = await receiver(status(500));
    const circuit = { openAfter: 3, probeMs: 200 };
    const publisher = publisherTo(there.url, { circuit });
    for (let failure = 0; failure < 3; failure += 1) await publisher.publish(eventOf());
    const refused = await publisher.publish(eventOf());
    expect(refused).toMatchObject({ outcome: "unavailable", scope: new URL(there.url).host });
    expect("retryAfterMs" in refused && refused.retryAfterMs).toBeGreaterThan(0);
    expect(there.received.length).toBe(3);

    await sleep(250);
    const probes = await Promise.all([1, 2, 3, 4].map(() => publisher.publish(eventOf())));
    expect(probes.every(({ outcome }) => outcome === "unavailable")).toBe(true);
    expect(there.received.length).toBe(4);

    there.respond = status(204);
    await sleep(250);
    expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
    const all = await Promise.all([1, 2, 3, 4].map(() => publisher.publish(eventOf())));
    expect(all.every(({ outcome }) => outcome === "sent")).toBe(true);
  });

  test("stays closed while an answer in between shows that the receiver works, a refusal too", async () => {
    const there = await receiver();
    const publisher = publisherTo(there.url, { circuit: { openAfter: 2, probeMs: 60_000 } });
    for (const code of [500, 422, 500, 409, 500, 204, 500]) {
      there.respond = status(code);
      await publisher.publish(eventOf());
    }
    expect(there.received.length).toBe(7);
  });

  test("one dead receiver does not stop the others", async () => {
    const works = await receiver();
    const port = await freePort();
    const publisher = webhookPublisher({
      secret,
      circuit: { openAfter: 1, probeMs: 60_000 },
      endpoints: { dead: `http://127.0.0.1:${port}/`, works: works.url },
    });
    const dead = await publisher.publish(eventOf({ topic: "dead" }));
    expect(dead).toMatchObject({ outcome: "unavailable", scope: `127.0.0.1:${port} (dead)` });
    expect(await publisher.publish(eventOf({ topic: "works" }))).toEqual({ outcome: "sent" });
  });

  test.each([429, 503])(
    "%i with Retry-After is obeyed at once, in seconds and as a date, up to the bound",
    async (code) => {
      const there = await receiver(status(code, { "retry-after": "40" }));
      const first = await publisherTo(there.url).publish(eventOf());
      expect("retryAfterMs" in first && first.retryAfterMs).toBeGreaterThan(35_000);

      const publisher = publisherTo(there.url, { retryAfterMsMax: 300 });
      const bounded = await publisher.publish(eventOf());
      expect("retryAfterMs" in bounded && bounded.retryAfterMs).toBeLessThanOrEqual(300);
      const asked = there.received.length;
      expect(await publisher.publish(eventOf())).toMatchObject({ outcome: "unavailable" });
      expect(there.received.length).toBe(asked);
      there.respond = status(204);
      await eventually(async () => expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" }));

      there.respond = status(code, { "retry-after": new Date(Date.now() + 60_000).toUTCString() });
      const dated = await publisherTo(there.url).publish(eventOf());
      expect("retryAfterMs" in dated && dated.retryAfterMs).toBeGreaterThan(45_000);
    },
  );

  test("409 makes the event wait, not the endpoint", async () => {
    const there = await receiver(status(409));
    const published = await publisherTo(there.url).publish(eventOf({ key: "order-1" }));
    expect(published).toMatchObject({ outcome: "later", delayMs: 1_000 });
  });

  test("an endpoint gets no more requests at once than its concurrency, and all in the end", async () => {
    let running = 0;
    let most = 0;
    const there = await receiver((response) => {
      running += 1;
      most = Math.max(most, running);
      setTimeout(() => {
        running -= 1;
        response.writeHead(204).end();
      }, 20);
    });
    const publisher = publisherTo(there.url, { concurrency: 3 });
    const all = await Promise.all(Array.from({ length: 20 }, () => publisher.publish(eventOf())));
    expect(all.every(({ outcome }) => outcome === "sent")).toBe(true);
    expect(most).toBe(3);
  });

  test("whoever finds no free place in time is unavailable and was not sent", async () => {
    const there = await receiver(() => undefined);
    const publisher = publisherTo(there.url, { concurrency: 1, callTimeoutMs: 200 });
    const outcomes = await Promise.all([1, 2, 3].map(() => publisher.publish(eventOf())));
    expect(outcomes.every(({ outcome }) => outcome === "unavailable")).toBe(true);
    expect(there.received.length).toBeLessThan(3);
  });
});

describe("webhook options", () => {
  test.each<[string, Partial<WebhookPublisherOptions>, RegExp]>([
    ["plain http beyond the own machine", { endpoint: "http://example.test/" }, /must be https/],
    ["no address", { endpoint: "example" }, /absolute https address/],
    ["another protocol", { endpoint: "ftp://example.test/" }, /absolute https address/],
    ["a password in the address", { endpoint: "https://a:b@example.test/" }, /headers\.authorization/],
    ["neither endpoint nor endpoints", {}, /endpoint: expected an address here or in endpoints, and not both/],
    [
      "both",
      { endpoint: "https://a.test/", endpoints: { "*": "https://a.test/" } },
      /endpoint: expected an address here or in endpoints, and not both/,
    ],
    ["a strange topic", { endpoints: { "a*": "https://a.test/" } }, /endpoints: expected a topic/],
    ["a weak secret", { endpoint: "https://a.test/", secret: "short" }, /whsec_/],
    ["no secret", { endpoint: "https://a.test/", secret: [] }, /secret: expected a secret here/],
    [
      "a timeout of nothing",
      { endpoint: "https://a.test/", callTimeoutMs: 0 },
      /callTimeoutMs: expected an integer from 10/,
    ],
  ])("refuse %s", (_, options, message) => {
    expect(() => webhookPublisher({ secret, ...options })).toThrow(message);
  });

  test("take http where asked to, and on the own machine", () => {
    expect(() => webhookPublisher({ secret, endpoint: "http://example.test/", allowHttp: true })).not.toThrow();
    for (const endpoint of ["http://localhost:1/", "http://127.0.0.2/", "http://[::1]/"])
      expect(() => webhookPublisher({ secret, endpoint })).not.toThrow();
    expect(() => webhookPublisher({ secret, endpoint: "http://127.0.0.1.example.test/" })).toThrow(/must be https/);
  });
});
