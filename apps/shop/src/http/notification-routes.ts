/** `/notifications` */
import { Router } from "express";
import type { Database } from "../database/database.ts";
import { findNotifications } from "../notifications/notification.ts";
import { isText } from "../input.ts";
import { caller } from "./authentication.ts";
import { allow, ShopError } from "./problems.ts";

const ORDER_ID_CHARACTERS_MAX = 64;

export function notificationRoutes({ direct }: Database): Router {
  const router = Router();
  router.get("/", async (request, response) => {
    const { orderId } = request.query;
    if (!isText(orderId, ORDER_ID_CHARACTERS_MAX))
      throw new ShopError("validation", "name one order: GET /notifications?orderId=…");
    const notifications = await findNotifications(direct, caller(request).tenant, orderId);
    response.set("Cache-Control", "private, no-store").json({ notifications });
  });
  router.all("/", allow("GET", "HEAD"));
  return router;
}
