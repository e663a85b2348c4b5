/** The shop's HTTP side, put together. */
import express, { type Express, type Request, type RequestHandler } from "express";
import type { Ichido, Store } from "ichido";
import type { ShopConfig } from "./config.ts";
import type { OrderEvents } from "./events/order-events.ts";
import { accountRoutes } from "./http/account-routes.ts";
import { authenticate } from "./http/authentication.ts";
import { keyedWrites } from "./http/keyed.ts";
import type { Metrics } from "./http/metrics.ts";
import { notificationRoutes } from "./http/notification-routes.ts";
import { operationRoutes } from "./http/operation-routes.ts";
import { orderRoutes, productRoutes } from "./http/order-routes.ts";
import { paymentRoutes } from "./http/payment-routes.ts";
import { refundRoutes } from "./http/refund-routes.ts";
import { errorHandler, unknownRoute } from "./http/problems.ts";
import { publicRoutes } from "./http/public-routes.ts";
import { userRoutes } from "./http/user-routes.ts";
import type { Playground } from "./playground/on-first-use.ts";
import { playgroundRoutes } from "./playground/routes.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";
import type { RefundPorts } from "./payments/create-refund.ts";
import type { Database } from "./database/database.ts";

export interface ShopAppOptions {
  readonly config: ShopConfig;
  readonly ichido: Ichido<Request>;
  readonly keyStore: Store;
  readonly ports: PaymentPorts & RefundPorts;
  readonly database: Database;
  readonly events: OrderEvents;
  readonly metrics: Metrics;
  /** For people on call; absent: `/console` answers 404. */
  readonly console?: RequestHandler;
  readonly gatewayUrl: string;
  /** Absent: there is none. */
  readonly playground?: Playground;
  readonly log: (line: string) => void;
}

export function shopApp(options: ShopAppOptions): Express {
  const { config, ichido, ports, database, events, metrics, gatewayUrl, log } = options;
  const writes = keyedWrites(options.keyStore, database);
  const app = express();
  app.disable("x-powered-by").set("etag", false);
  app.use(publicRoutes({ config, ichido, database, payments: ports.payments, gatewayUrl, metrics }));
  const { playground } = options;
  if (playground !== undefined) {
    app.use(
      "/playground",
      playgroundRoutes({ host: config.host, allowedHosts: config.playgroundHosts, ...playground }),
    );
  }
  const { handlerDelayMs } = config;
  const authenticated = authenticate(config.tokens);
  app.use(
    "/payments",
    authenticated,
    paymentRoutes({ ichido, ports, handlerDelayMs }),
    refundRoutes({ ichido, ports, handlerDelayMs }),
  );
  app.use("/accounts", authenticated, accountRoutes(database));
  app.use("/users", authenticated, userRoutes({ ichido, database, writes, handlerDelayMs }));
  app.use("/orders", authenticated, orderRoutes({ ichido, database, writes, events, handlerDelayMs }));
  app.use("/notifications", authenticated, notificationRoutes(database));
  app.use("/products", authenticated, productRoutes(database));
  app.use("/operations", authenticated, operationRoutes(ichido));
  if (options.console !== undefined) app.use("/console", options.console);
  app.use(unknownRoute);
  app.use(errorHandler(log));
  return app;
}
