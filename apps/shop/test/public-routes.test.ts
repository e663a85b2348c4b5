import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { describeWith, freshDatabase } from "../../../test/support/services.ts";
import { newFolder } from "./support/program.ts";
import { bankOf, LedgerWatch, pay, send, startShop, type Shop } from "./support/shop.ts";

describe("what needs no token", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
  });
  const get = (path: string) => send(`${shop.url}${path}`, { token: "" });

  it("tells that it lives and that keys can be claimed", async () => {
    expect((await get("/healthz")).status).toBe(200);
    expect(await get("/readyz")).toMatchObject({ status: 200, body: { status: "ready", store: { reachable: true } } });
  });

  it("counts stored records in Prometheus text whose labels come from fixed sets", async () => {
    await pay(shop);
    const { text, headers } = await get("/metrics");
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('idempotency_store_record_count{state="completed"} ');
    expect(text).toMatch(
      /^idempotency_request_duration_seconds_count\{operation="payment.create",outcome="executed",.*\} 1$/m,
    );
    expect(text).toContain("outbox_message_pending ");
    expect(text).toContain("inbox_message_remembered ");
    expect(text).toContain('shop_payments{status="captured"} 1\n');
    expect(text).not.toMatch(/acme|user-1|booking-1/);
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$/);
    }
  });

  it("T-05 publishes the policy: header, operations, key, scope, comparison, retention, statuses, marker, errors", async () => {
    const { body } = await get("/.well-known/idempotency");
    expect(body).toMatchObject({
      header: "Idempotency-Key",
      operations: [
        { operation: "payment.create", method: "POST", path: "/payments", required: true, profile: "adr-007" },
        { operation: "payment.refund", method: "POST", path: "/payments/{paymentId}/refunds", profile: "ietf" },
        { operation: "order.create", method: "POST", path: "/orders", profile: "polling", inFlight: "accepted" },
        { operation: "order.pay", method: "POST", path: "/orders/{orderId}/pay", profile: "ietf" },
        { operation: "user.patch", method: "PATCH", path: "/users/{userId}", required: false, profile: "ietf" },
      ],
      key: { length: { min: 36, max: 36 } },
      scope: ["tenant", "user", "operation", "key"],
      retention: { duration: "P1D" },
      marker: { header: "Idempotency-Replayed", value: "true" },
    });
    const reused = await pay(shop, { key: "x" });
    expect((body.errors as { type: string }[]).map(({ type }) => type)).toContain(reused.body.type);
  });

  it("describes the API", async () => {
    const { body } = await get("/openapi.json");
    expect(body).toMatchObject({ openapi: "3.1.0" });
    const paths = body.paths as Readonly<Record<string, object>>;
    const methods = Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((each) => `${each} ${path}`));
    expect(methods).toEqual(
      expect.arrayContaining([
        "post /payments",
        "get /payments/{paymentId}",
        "post /payments/{paymentId}/refunds",
        "post /orders",
        "put /orders/{orderId}",
        "get /orders/{orderId}",
        "get /operations/{operationId}",
        "get /products/{productId}",
        "get /accounts/{accountId}",
        "post /accounts/{accountId}/transactions",
        "put /accounts/{accountId}/balance",
        "get /users/{userId}",
        "put /users/{userId}",
        "patch /users/{userId}",
        "delete /users/{userId}",
      ]),
    );
    // What it lists is there: whatever the answer is, it is not that of an unknown route or method.
    for (const each of methods) {
      const [method = "", path = ""] = each.split(" ");
      const reply = await send(`${shop.url}${path.replace(/\{\w+\}/g, "x")}`, { method: method.toUpperCase() });
      expect(reply.status, each).not.toBe(405);
      expect(String(reply.body.detail), each).not.toContain("nothing answers");
    }
    const named = new Set(JSON.stringify(body).match(/#\/components\/schemas\/\w+/g));
    const { schemas } = body.components as { readonly schemas: object };
    for (const each of named) expect(schemas).toHaveProperty(each.split("/").at(-1) ?? "");
  });

  it("shows the playground with a policy that allows nothing inline, and its files below it", async () => {
    const { text, headers, status } = await get("/");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|https?:/);
    const script = /<script type="module" crossorigin src="([^"]+)"/.exec(text)?.[1] ?? "";
    expect(await get(script)).toMatchObject({ status: 200 });
    expect((await get("/playground/assets/nothing.js")).status).toBe(404);
  });

  it("shows a plain page without scripts or foreign assets whose commands work as pasted", async () => {
    const ledger = new LedgerWatch(await bankOf(shop));
    await ledger.mark();
    const { text, headers } = await get("/plain");
    expect(headers.get("content-type")).toMatch(/^text\/html/);
    // Or else every browser asks for /favicon.ico, in vain.
    expect(text).toMatch(/<link rel="icon" href="data:image\/svg\+xml,[^"<>]+">/);
    expect(headers.get("content-security-policy")).toContain("img-src data:");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).not.toMatch(/<script|<img|<link(?! rel="icon" href="data:)|url\(/);
    const escaped = /<pre><code>([^]*?)<\/code><\/pre>/.exec(text)?.[1] ?? "";
    const commands = escaped.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
    const { stdout, status } = spawnSync("bash", ["-c", commands], { encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toMatch(/HTTP\/1.1 201 Created[^]*HTTP\/1.1 200 OK[^]*idempotency-replayed: true/i);
    expect(await ledger.charges()).toHaveLength(1);
    const captured = (page: string) => Number(/<dt>payments captured<\/dt><dd>(\d+)<\/dd>/.exec(page)?.[1]);
    expect(captured((await get("/plain")).text)).toBe(captured(text) + 1);
  });

  it("answers 404 to an unknown route and 405 with Allow to an unknown method", async () => {
    const missing = await get("/nothing");
    expect(missing).toMatchObject({ status: 404, body: { code: "not-found" } });
    for (const [method, path, allowed] of [
      ["DELETE", "/payments", "POST"],
      ["PUT", "/payments/x", "GET, HEAD"],
      ["POST", "/healthz", "GET, HEAD"],
    ] as const) {
      const reply = await send(`${shop.url}${path}?a=b`, { method });
      const detail = `${path} takes ${allowed}`;
      expect(reply).toMatchObject({ status: 405, body: { code: "method-not-allowed", detail } });
      expect(reply.headers.get("allow")).toBe(allowed);
    }
  });

  it("says nothing of what it is made of", async () => {
    const { headers } = await get("/healthz");
    expect(headers.get("x-powered-by")).toBeNull();
    expect(headers.get("server")).toBeNull();
  });
});

describeWith("postgres", "a shop whose database is taken away", (serverUrl) => {
  it("goes on to answer /metrics, which tells that it is gone; /readyz is 503, and a payment too", async () => {
    const database = await freshDatabase(serverUrl);
    const shop = await startShop({ SHOP_DATA: newFolder(), DATABASE_URL: database.url });
    expect((await send(`${shop.url}/metrics`)).text).toContain("idempotency_store_up 1\n");
    await database.drop();
    const { status, text } = await send(`${shop.url}/metrics`);
    expect(status, text).toBe(200);
    expect(text).toContain("idempotency_store_up 0\n");
    expect(text).not.toContain("shop_payments{");
    expect((await send(`${shop.url}/readyz`)).status).toBe(503);
    const refused = await pay(shop);
    expect([refused.status, refused.body.code]).toEqual([503, "store-unavailable"]);
  });
});
