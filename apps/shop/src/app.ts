/** The shop's HTTP side, put together. */
import express, { type Express, type Request } from "express";
import type { Ichido } from "ichido";
import type { ShopConfig } from "./config.ts";
import { authenticate } from "./http/authentication.ts";
import { paymentRoutes } from "./http/payment-routes.ts";
import { errorHandler, unknownRoute } from "./http/problems.ts";
import { publicRoutes } from "./http/public-routes.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";

export interface ShopAppOptions {
  readonly config: ShopConfig;
  readonly ichido: Ichido<Request>;
  readonly ports: PaymentPorts;
  readonly gatewayUrl: string;
  readonly log: (line: string) => void;
}

export function shopApp({ config, ichido, ports, gatewayUrl, log }: ShopAppOptions): Express {
  const app = express();
  app.disable("x-powered-by").set("etag", false);
  app.use(publicRoutes({ config, ichido, payments: ports.payments, gatewayUrl }));
  app.use(
    "/payments",
    authenticate(config.tokens),
    paymentRoutes({ ichido, ports, handlerDelayMs: config.handlerDelayMs }),
  );
  app.use(unknownRoute);
  app.use(errorHandler(log));
  return app;
}
