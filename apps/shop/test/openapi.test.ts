/** The description and the service agree: every route is described, and every answer is as its description says. */
import { randomUUID } from "node:crypto";
import express, { type Request } from "express";
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { shopApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { openapi } from "../src/http/openapi.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { faultsOf } from "./support/schema.ts";
import {
  booking,
  send,
  setFault,
  startBank,
  startShop,
  whileRunning,
  type Bank,
  type Reply,
  type Sending,
  type Shop,
} from "./support/shop.ts";

type Node = Readonly<Record<string, unknown>>;

interface Described {
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

interface DescribedAnswer {
  readonly headers?: Readonly<Record<string, { readonly required: boolean; readonly schema: Node }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Node }>>;
}

/** What of an answer is not as described. */
function deviations(reply: Reply, operation: Described, document: Node): readonly string[] {
  const answer = operation.responses[String(reply.status)];
  if (answer === undefined) return [`status ${reply.status} is not described: ${reply.text}`];
  const faults: string[] = [];
  for (const [name, { required, schema }] of Object.entries(answer.headers ?? {})) {
    const text = reply.headers.get(name);
    if (text === null && required) faults.push(`header ${name} is missing`);
    if (text !== null)
      faults.push(...faultsOf(schema.type === "integer" ? Number(text) : text, schema, document, name));
  }
  const [mediaType = ""] = (reply.headers.get("content-type") ?? "").split(";");
  if (answer.content === undefined) return reply.text === "" ? faults : [...faults, "a body is not described"];
  const described = answer.content[mediaType];
  if (described === undefined) return [...faults, `media type ${mediaType} is not described`];
  const body = mediaType.endsWith("json") ? reply.body : reply.text;
  return [...faults, ...faultsOf(body, described.schema, document)];
}

describe("the description of the API", () => {
  let shop: Shop;
  let slow: Shop;
  let bank: Bank;
  let document: Node;
  const seen = new Map<string, Set<number>>();
  beforeAll(async () => {
    const SHOP_DATA = newFolder();
    bank = await startBank({ BANK_DATA: `${SHOP_DATA}/bank.db` });
    const settings = { SHOP_DATA, GATEWAY_URL: bank.url, GATEWAY_TIMEOUT_MS: "400" };
    [shop, slow] = await Promise.all([startShop(settings), startShop({ ...settings, SHOP_HANDLER_DELAY_MS: "1500" })]);
    document = (await send(`${shop.url}/openapi.json`, { token: "" })).body;
  });

  /** Calls an operation by its template and holds the answer against its description. */
  async function call(
    template: string,
    names: Readonly<Record<string, string>> = {},
    { query = "", ...sending }: Sending & { readonly query?: string } = {},
    on = shop,
  ) {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ""));
    const method = sending.method ?? (sending.body === undefined && sending.rawBody === undefined ? "GET" : "POST");
    const reply = await send(`${on.url}${path}?${query}`, { ...sending, method });
    const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>;
    const operation = paths[template]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${method} ${template} is not described`);
    expect(deviations(reply, operation, document), `${method} ${path} ${reply.status}`).toEqual([]);
    const name = `${method} ${template}`;
    seen.set(name, (seen.get(name) ?? new Set()).add(reply.status));
    return reply;
  }

  const keyed = (body: unknown, more: Sending = {}): Sending => ({ key: randomUUID(), body, ...more });

  it("payments and refunds answer as described", async () => {
    const key = randomUUID();
    const paid = await call("/payments", {}, { key, body: booking });
    await call("/payments", {}, { key, body: booking });
    await call("/payments", {}, { key, body: { ...booking, amount: 1 } });
    await call("/payments", {}, { body: booking });
    await call("/payments", {}, keyed({ ...booking, amount: -1 }));
    await call("/payments", {}, keyed(booking, { token: "" }));
    await call(
      "/payments",
      {},
      keyed(undefined, { rawBody: "x".repeat(70_000), headers: { "content-type": "application/json" } }),
    );
    await call("/payments", {}, keyed(undefined, { rawBody: "a=b", headers: { "content-type": "text/plain" } }));
    await setFault(bank.url, { mode: "decline", calls: 2 });
    await call("/payments", {}, keyed(booking));
    const names = { paymentId: String(paid.body.paymentId) };
    await call("/payments/{paymentId}/refunds", names, keyed({ amount: 5 }));
    await setFault(bank.url, { mode: "timeout-but-charge", calls: 2 });
    await call("/payments", {}, keyed(booking));
    await call("/payments/{paymentId}/refunds", names, keyed({ amount: 6 }));
    await setFault(bank.url, { mode: "normal" });
    const refundKey = randomUUID();
    for (const amount of [100, 100, 200]) {
      await call("/payments/{paymentId}/refunds", names, { key: refundKey, body: { amount } });
    }
    await call("/payments/{paymentId}/refunds", names, keyed({ amount: 9_999 }));
    await call("/payments/{paymentId}/refunds", names, keyed({ amount: 0 }));
    await call("/payments/{paymentId}/refunds", { paymentId: randomUUID() }, keyed({ amount: 1 }));
    const { headers } = await call("/payments/{paymentId}", names);
    await call("/payments/{paymentId}", names, { headers: { "if-none-match": String(headers.get("etag")) } });
    await call("/payments/{paymentId}", { paymentId: randomUUID() });
    await call("/payments/{paymentId}", names, { token: "" });
    await until("open outcomes are settled", async () => {
      const { text } = await call("/metrics", {}, { token: "" });
      return text.includes('{state="processing"} 0') && text.includes('{state="unknown"} 0');
    });
  });

  it("orders, operations and products answer as described", async () => {
    const order = { productId: "prod-123", quantity: 2 };
    const key = randomUUID();
    const running = call("/orders", {}, { key, body: order }, slow);
    await whileRunning(shop);
    const accepted = await call("/orders", {}, { key, body: order });
    expect(accepted.status).toBe(202);
    const operationId = String(accepted.headers.get("location")).replace("/operations/", "");
    await call("/operations/{operationId}", { operationId });
    await running;
    await call("/operations/{operationId}", { operationId });
    await call("/operations/{operationId}", { operationId: "none" });
    await call("/orders", {}, { key, body: order });
    await call("/orders", {}, { key, body: { ...order, quantity: 3 } });
    await call("/orders", {}, keyed({ ...order, productId: "none" }));
    const names = { orderId: "order of mine" };
    for (const quantity of [1, 1, 2, -1]) {
      await call("/orders/{orderId}", names, { method: "PUT", body: { productId: "prod-456", quantity } });
    }
    const { headers } = await call("/orders/{orderId}", names);
    await call("/orders/{orderId}", names, { headers: { "if-none-match": String(headers.get("etag")) } });
    await call("/orders/{orderId}", { orderId: "none" });
    await call("/products/{productId}", { productId: "prod-123" });
    const { amount } = (await call("/orders/{orderId}", names)).body;
    const payKey = randomUUID();
    await call("/orders/{orderId}/pay", names, keyed({ amount: Number(amount) + 1 }));
    await call("/orders/{orderId}/pay", names, { key: payKey, body: { amount } });
    await call("/orders/{orderId}/pay", names, { key: payKey, body: { amount } });
    await call("/orders/{orderId}/pay", names, { key: payKey, body: { amount: 1 } });
    await call("/orders/{orderId}/pay", names, keyed({ amount }));
    await call("/orders/{orderId}/pay", { orderId: "none" }, keyed({ amount }));
    const sent = await until("the notification is there", async () => {
      const reply = await call("/notifications", {}, { query: "orderId=order%20of%20mine" });
      return (reply.body.notifications as unknown[]).length > 0 ? reply : undefined;
    });
    expect(sent.body.notifications).toHaveLength(1);
    await call("/notifications");
    await call("/products/{productId}", { productId: "none" });
  });

  it("accounts answer as described", async () => {
    const names = { accountId: "account-1" };
    await call("/accounts/{accountId}", names);
    const post = (transactionId: string, type: string, amount: number) =>
      call("/accounts/{accountId}/transactions", names, { body: { transactionId, type, amount } });
    await post("t-1", "deposit", 50);
    await post("t-1", "deposit", 50);
    await post("t-1", "deposit", 51);
    await post("t-2", "withdrawal", 500);
    await post("t-3", "gift", 1);
    for (const newBalance of [10, 10, 20, -1]) {
      const body = { previousBalance: 50, newBalance };
      await call("/accounts/{accountId}/balance", names, { method: "PUT", body });
    }
    await call("/accounts/{accountId}", names, { token: "" });
  });

  it("users answer as described", async () => {
    const names = { userId: "user one" };
    const put = (body: unknown, headers = {}) => call("/users/{userId}", names, { method: "PUT", body, headers });
    const tag = async () => String((await call("/users/{userId}", names)).headers.get("etag"));
    await put({ name: "Ann", city: "Kyoto" });
    await put({ name: "Ann" });
    await put({ name: "Ann" }, { "if-match": '"stale"' });
    await put({ name: "" });
    await put({ name: "Bob" }, { "if-match": await tag() });
    await call("/users/{userId}", names, { headers: { "if-none-match": await tag() } });
    const patch: Sending = { method: "PATCH", key: randomUUID(), headers: { "if-match": await tag() } };
    await call("/users/{userId}", names, { ...patch, body: { age: 7 } });
    await call("/users/{userId}", names, { ...patch, body: { age: 7 } });
    await call("/users/{userId}", names, { ...patch, body: { age: 8 } });
    await call("/users/{userId}", names, { ...patch, key: randomUUID(), body: { age: 8 } });
    await call("/users/{userId}", { userId: "none" }, { ...patch, key: randomUUID(), body: {} });
    await call("/users/{userId}", names, { method: "DELETE" });
    await call("/users/{userId}", names, { method: "DELETE", headers: { "if-match": await tag() } });
    await call("/users/{userId}", names, { method: "DELETE" });
    await call("/users/{userId}", names);
  });

  it("what needs no token answers as described", async () => {
    for (const path of [
      "/",
      "/plain",
      "/healthz",
      "/readyz",
      "/metrics",
      "/openapi.json",
      "/.well-known/idempotency",
    ]) {
      await call(path, {}, { token: "" });
    }
  });

  it("every described operation was called, and succeeded at least once", () => {
    const paths = document.paths as Readonly<Record<string, object>>;
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const succeeded = [...seen].filter(([, statuses]) => [...statuses].some((status) => status < 300));
    expect(succeeded.map(([name]) => name).toSorted()).toEqual(operations.toSorted());
  });

  it("every route of the service is described, and nothing else is", () => {
    const paths: Readonly<Record<string, object>> = openapi.paths;
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((each) => `${each} ${path}`),
    );
    expect(routes().toSorted()).toEqual(described.toSorted());
  });
});

interface RouterLike {
  readonly stack: readonly {
    readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  }[];
}

/** As Express has them, with parameters spelt as the description spells them. */
function routes(): readonly string[] {
  const use = vi.spyOn(express.application, "use");
  try {
    const keyStore = memoryStore();
    const ichido = createIchido<Request>({
      store: keyStore,
      scope: () => ({}),
      onUnknown: "hold",
      sweepMs: "off",
    });
    const nothing = {} as never;
    shopApp({
      config: readConfig({}),
      ichido,
      keyStore,
      ports: nothing,
      database: nothing,
      events: nothing,
      metrics: nothing,
      gatewayUrl: "",
      log: () => undefined,
    });
    void ichido.close();
    return use.mock.calls.flatMap((mounted: readonly unknown[]) => {
      const prefix = typeof mounted[0] === "string" ? mounted[0] : "";
      return mounted.filter(isRouter).flatMap(({ stack }) =>
        stack.flatMap(({ route }) =>
          Object.keys(route?.methods ?? {})
            // `all` answers 405 to what is left.
            .filter((method) => method !== "_all")
            .map(
              (method) =>
                `${method} ${`${prefix}${route?.path ?? ""}`.replace(/(.)\/$/, "$1").replaceAll(/:(\w+)/g, "{$1}")}`,
            ),
        ),
      );
    });
  } finally {
    use.mockRestore();
  }
}

function isRouter(value: unknown): value is RouterLike {
  return typeof value === "function" && "stack" in value;
}
