/** What needs no token: health, metrics, descriptions, the playground's page and a plain one. */
import { Router, type Request } from "express";
import type { Ichido } from "ichido";
import type { ShopConfig } from "../config.ts";
import { select, type Database } from "../database/database.ts";
import type { PaymentRepository } from "../payments/payment-repository.ts";
import { sendPageFile } from "../playground/page.ts";
import { plainPage } from "./plain-page.ts";
import { idempotencyPolicy } from "./idempotency-policy.ts";
import type { Metrics } from "./metrics.ts";
import { openapi } from "./openapi.ts";
import { allow } from "./problems.ts";

export interface PublicRouteOptions {
  readonly config: ShopConfig;
  readonly ichido: Ichido<Request>;
  readonly database: Database;
  readonly payments: PaymentRepository;
  readonly gatewayUrl: string;
  readonly metrics: Metrics;
}

const DATABASES = { sqlite: "SQLite", postgres: "PostgreSQL", mysql: "MariaDB or MySQL" } as const;

export function publicRoutes({ config, ichido, database, payments, gatewayUrl, metrics }: PublicRouteOptions): Router {
  const router = Router();
  const { direct } = database;
  const published = idempotencyPolicy(ichido);
  // A token of somebody's own is never printed.
  const demoToken = config.usesDefaultTokens ? "demo-1" : undefined;

  router.get("/", (request, response) => {
    sendPageFile(request, response, "");
  });
  router.get("/plain", async (request, response) => {
    const [records, byStatus, orders] = await Promise.all([
      ichido.store.stats(),
      payments.countByStatus(),
      select<{ total: number }>(direct)`SELECT count(*) AS total FROM orders`,
    ]);
    response
      .set({ "Content-Security-Policy": plainPage.contentSecurityPolicy, "Cache-Control": "no-store" })
      .set({ "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" })
      .type("html")
      .send(
        plainPage.render({
          origin: originOf(request),
          gatewayUrl,
          database: DATABASES[direct.dialect],
          keys: config.keyStoreUrl === undefined ? "in the same database" : "in Redis",
          demoToken,
          records,
          byStatus,
          orders: orders[0]?.total ?? 0,
        }),
      );
  });
  router.get("/healthz", (_request, response) => {
    response.json({ status: "ok" });
  });
  router.get("/readyz", async (_request, response) => {
    const [health, reachable] = await Promise.all([
      ichido.health(),
      direct.execute("SELECT 1", []).then(
        () => true,
        () => false,
      ),
    ]);
    const ok = health.ok && reachable;
    const status = ok ? "ready" : "not-ready";
    response.status(ok ? 200 : 503).json({ ...health, ok, status, database: { reachable } });
  });
  router.get("/metrics", async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.text());
  });
  router.get("/openapi.json", (_request, response) => {
    response.json(openapi);
  });
  router.get("/.well-known/idempotency", (_request, response) => {
    response.set("Cache-Control", "public, max-age=300").json(published);
  });
  router.all(
    ["/", "/plain", "/healthz", "/readyz", "/metrics", "/openapi.json", "/.well-known/idempotency"],
    allow("GET", "HEAD"),
  );
  return router;
}

/** The address the reader used, when it is one; the page prints it in commands. */
function originOf(request: Request): string {
  const host = request.headers.host ?? "";
  const port = request.socket.localPort ?? 0;
  return /^[A-Za-z0-9.-]+(:\d+)?$|^\[[0-9A-Fa-f:]+\](:\d+)?$/.test(host)
    ? `http://${host}`
    : `http://127.0.0.1:${port}`;
}
