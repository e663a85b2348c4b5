/** `/orders` and `/products`. */
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { Ichido, RouteOptions } from "ichido";
import { idempotency } from "ichido/express";
import type { OrderEvents } from "../events/order-events.ts";
import { productOf, stockOf } from "../orders/catalogue.ts";
import { checkOrder, checkOrderPayment, type OrderPayment } from "../orders/order-input.ts";
import { findOrder, orderOnce, placeOrder, type Order, type OrderName, type OrderRequest } from "../orders/order.ts";
import { payOrder, type PayResult } from "../orders/pay-order.ts";
import type { Database } from "../database/database.ts";
import { sendAnswer, type Answer } from "./answer.ts";
import { caller } from "./authentication.ts";
import { etagOf, sendTagged } from "./etag.ts";
import { inputOf, jsonBody } from "./json-body.ts";
import { attemptOf, contextOf, dawdle, type KeyedWrites } from "./keyed.ts";
import { operationUrl } from "./operation-routes.ts";
import { idOf } from "./path-id.ts";
import { allow, problemAnswer, ShopError } from "./problems.ts";

const ORDER = "order";

export interface OrderRouteOptions {
  readonly ichido: Ichido<Request>;
  readonly database: Database;
  readonly writes: KeyedWrites;
  readonly events: OrderEvents;
  readonly handlerDelayMs: number;
}

/** The order is named by the key's reference in the same commit, so that another attempt finds it. */
export const orderOperation: RouteOptions<Request> = {
  operation: "order.create",
  profile: "polling",
  onUnknown: "rerun",
  statusUrl: operationUrl,
};

/** State and event are one commit, and a paid order stays paid, so another attempt pays nothing. */
export const payOperation: RouteOptions<Request> = {
  operation: "order.pay",
  profile: "ietf",
  onUnknown: "rerun",
  labels: ({ params }) => ({ order: String(params.orderId) }),
};

/** Before the key is looked at, like every body that cannot be right. */
const knownProduct: RequestHandler = (request, _response, next) => {
  const { productId } = inputOf<OrderRequest>(request);
  if (productOf(productId) === undefined) throw new ShopError("unknown-product", "GET /products/:productId tells");
  next();
};

export function orderRoutes({ ichido, database, writes, events, handlerDelayMs }: OrderRouteOptions): Router {
  const { direct, transactions } = database;
  const router = Router();

  router.post(
    "/",
    jsonBody(checkOrder),
    knownProduct,
    idempotency(ichido, orderOperation),
    async (request: Request, response: Response) => {
      const key = contextOf(request);
      await dawdle(handlerDelayMs);
      await writes(key, response, async (sql) => {
        const order = await orderOnce(sql, attemptOf(key, ORDER), caller(request), inputOf<OrderRequest>(request));
        if (order !== "overtaken") return orderAnswer(201, order);
        throw new ShopError("internal-error", "another attempt took over; retry with the same key to get its answer");
      });
    },
  );
  router.all("/", allow("POST"));

  router.put("/:orderId", jsonBody(checkOrder), knownProduct, async (request: Request, response: Response) => {
    const name = { ...caller(request), ...nameOf(request) };
    const placed = await transactions.run((_tx, sql) => placeOrder(sql, name, inputOf<OrderRequest>(request)));
    if (placed.outcome === "conflict") {
      throw new ShopError("order-exists", "an order with this id has another product or quantity");
    }
    sendAnswer(response, orderAnswer(placed.outcome === "created" ? 201 : 200, placed.order));
  });
  router.get("/:orderId", async (request, response) => {
    const order = await findOrder(direct, nameOf(request));
    if (order === undefined) throw new ShopError("not-found", "no order of your tenant has this id");
    sendTagged(request, response, order);
  });
  router.all("/:orderId", allow("GET", "HEAD", "PUT"));

  router.post(
    "/:orderId/pay",
    jsonBody(checkOrderPayment),
    idempotency(ichido, payOperation),
    async (request: Request, response: Response) => {
      const key = contextOf(request);
      await dawdle(handlerDelayMs);
      const name = nameOf(request);
      const { amount } = inputOf<OrderPayment>(request);
      await writes(key, response, async (sql) => payAnswer(name, await payOrder(sql, events, name, amount)));
    },
  );
  router.all("/:orderId/pay", allow("POST"));

  return router;
}

export function productRoutes({ direct }: Database): Router {
  const router = Router();
  router.get("/:productId", async (request, response) => {
    const product = productOf(request.params.productId);
    if (product === undefined) throw new ShopError("not-found", "the catalogue has no such product");
    response.set("Cache-Control", "private, no-cache").json({ ...product, stock: await stockOf(direct, product) });
  });
  router.all("/:productId", allow("GET", "HEAD"));
  return router;
}

function orderAnswer(status: number, order: Order): Answer {
  const headers = {
    "content-type": "application/json; charset=utf-8",
    location: `/orders/${encodeURIComponent(order.orderId)}`,
    etag: etagOf(JSON.stringify(order)),
  };
  return { status, headers, body: order };
}

function payAnswer({ orderId }: OrderName, result: PayResult): Answer {
  switch (result.outcome) {
    case "paid":
    case "already":
      return {
        status: 200,
        headers: { "content-type": "application/json; charset=utf-8" },
        body: { orderId, status: "paid", ...(result.outcome === "already" ? { note: "already paid" } : {}) },
      };
    case "absent":
      return problemAnswer(new ShopError("not-found", "no order of your tenant has this id"));
    case "mismatch":
      return problemAnswer(
        new ShopError("amount-mismatch", `the order costs ${result.order.amount} ${result.order.currency}`),
      );
  }
}

function nameOf(request: Request): OrderName {
  return { tenant: caller(request).tenant, orderId: idOf(request, "orderId") };
}
