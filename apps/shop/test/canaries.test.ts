/** 1,000 keys and secrets go through a shop; its log, metrics, spans, events and status addresses have none of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeCanaries, type CanaryCall } from "../../../test/support/canaries.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { send, setFault, startBank, startShop, type Reply, type Shop } from "./support/shop.ts";

const CALLS = 250;
const AT_ONCE = 8;

const spansToFile = fileURLToPath(new URL("support/spans-to-file.ts", import.meta.url));

/** As a client that puts something of its own everywhere it can. */
function sender(shop: Shop, { key, secret, header, customer }: CanaryCall, index: number) {
  const headers = {
    "x-secret": header,
    "x-request-id": header,
    tracestate: `vendor=${header}`,
    baggage: `user=${header}`,
    cookie: `session=${header}`,
  };
  const sending = { token: `t${index}`, key, headers };
  return {
    pay: (more: object = {}) =>
      send(`${shop.url}/payments`, {
        ...sending,
        body: { bookingId: secret, amount: 1_200, currency: "EUR", ...more },
      }),
    order: (orderId: string) =>
      send(`${shop.url}/orders/${orderId}`, {
        ...sending,
        method: "PUT",
        body: { productId: "prod-456", quantity: 1 },
      }),
    payOrder: (orderId: string, amount: unknown) =>
      send(`${shop.url}/orders/${orderId}/pay`, { ...sending, body: { amount, note: customer } }),
    /** The second of two at once is told where to ask. */
    twice: () => {
      const body = { productId: "prod-456", quantity: 1, note: secret };
      return Promise.all([1, 2].map(() => send(`${shop.url}/orders`, { ...sending, body })));
    },
    broken: () => send(`${shop.url}/payments`, { ...sending, rawBody: `{"bookingId":"${secret}",` }),
    oddKey: () => send(`${shop.url}/payments`, { ...sending, key: `${key}-${customer}`, body: { bookingId: secret } }),
  };
}

async function callAll(shop: Shop, calls: readonly CanaryCall[]): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  const work = [...calls.entries()];
  async function caller(): Promise<void> {
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      const [index, call] = next;
      const { pay, order, payOrder, twice, broken, oddKey } = sender(shop, call, index);
      if (index % 5 === 0) {
        const orderId = `o${call.customer}`;
        const { amount } = (await order(orderId)).body;
        replies.push(await payOrder(orderId, amount), await payOrder(orderId, amount), await payOrder(orderId, 1));
      } else replies.push(await pay(), await pay(), await pay({ amount: 7 }));
      if (index % 7 === 0) replies.push(await broken(), await oddKey(), ...(await twice()));
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  return replies;
}

describe("1,000 canaries", () => {
  it("are in no log line, metric, span, and status address of a shop", async () => {
    const canaries = makeCanaries(CALLS);
    expect(canaries.count).toBe(1_000);
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: join(folder, "bank.db") });
    const SPANS_FILE = join(folder, "spans");
    const shop = await startShop({
      SHOP_DATA: folder,
      GATEWAY_URL: bank.url,
      GATEWAY_TIMEOUT_MS: "300",
      SHOP_HANDLER_DELAY_MS: "20",
      SHOP_LOG: "json",
      SHOP_TOKENS: canaries.calls.map(({ customer }, index) => `t${index}=${customer}/${customer}`).join(","),
      NODE_OPTIONS: `--import=${spansToFile}`,
      SPANS_FILE,
    });
    const half = CALLS / 2;
    const replies = [...(await callAll(shop, canaries.calls.slice(0, half)))];
    // Outcomes that stay open: interim answers, status addresses, a reconciler that asks.
    await setFault(bank.url, { mode: "timeout-but-charge" });
    const later = canaries.calls.map((call, index) => [call, index] as const).slice(half);
    const open = await Promise.all(later.slice(0, 20).map(([call, index]) => sender(shop, call, index).pay()));
    await setFault(bank.url, { mode: "normal" });
    replies.push(...(await Promise.all(later.slice(20).map(([call, index]) => sender(shop, call, index).pay()))));
    const metrics = await until("the outcomes are found out", async () => {
      const { text } = await send(`${shop.url}/metrics`, { token: "" });
      return /^idempotency_record_unknown 0$/m.test(text) && text;
    });
    shop.kill("SIGTERM");
    expect(await shop.exited).toEqual({ code: 0, signal: null });

    const statuses = new Set([...replies, ...open].map(({ status }) => status));
    for (const status of [200, 201, 202, 400, 409])
      expect(statuses, `there were answers of ${status}`).toContain(status);
    const log = `${shop.output.lines.join("\n")}\n${shop.output.errors()}`;
    const lines = shop.output.errors().trim().split("\n");
    const told = lines.map((line) => JSON.parse(line) as { event?: string; part?: string });
    expect(told.filter(({ event }) => event === "request").length).toBeGreaterThan(CALLS);
    for (const event of ["sent", "processed", "reconciled"]) expect(told.map((line) => line.event)).toContain(event);
    const spans = readFileSync(SPANS_FILE, "utf8");
    for (const name of ["idempotency.request", "idempotency.step", "outbox.publish", "inbox.process"])
      expect(spans).toContain(`"name":"${name}"`);
    expect(spans, "replays link to their first run").toMatch(/"links":\[\{"context":\{"traceId":"[0-9a-f]{32}"/);
    const addresses = [...replies, ...open].map(({ headers }) => headers.get("location") ?? "").join("\n");
    expect(addresses).toMatch(/^\/operations\//m);

    expect(canaries.foundIn(log), "in the log").toEqual([]);
    expect(canaries.foundIn(metrics), "in the metrics").toEqual([]);
    expect(canaries.foundIn(spans), "in the spans").toEqual([]);
    expect(canaries.foundIn(addresses.replaceAll(/^\/orders\/.*$/gm, "")), "in status addresses").toEqual([]);
    // The search itself is no fake: where a canary belongs, it is found.
    const [first] = canaries.calls;
    expect(canaries.foundIn(`x${first?.key.toUpperCase()}x`)).toEqual([first?.key]);
    expect(canaries.foundIn(Buffer.from(`ab${first?.secret}cd`).toString("base64"))).toEqual([first?.secret]);
  });
});
