/** What the protected lane has beside its handler: the engine, what it does after a crash, and the console. */
import type { Express, Request } from "express";
import { createIchido, type Ichido, type RouteOptions } from "ichido";
import { console, loopbackOnly } from "ichido/console";
import { guardControls } from "../guard.ts";
import { askBank } from "./ask-bank.ts";
import type { LaneParts } from "./lane.ts";

export async function laneEngine(app: Express, { keys, engine }: LaneParts): Promise<Ichido<Request>> {
  const ichido = createIchido<Request>({ store: keys, scope: () => ({ principal: "buyer" }), ...engine });
  app.use("/console", console(ichido, { authorize: loopbackOnly(), environmentName: "playground" }));
  const guard = guardControls({ host: "127.0.0.1", allowedHosts: [] });
  app.post("/sweep", guard, async (_request, response) => void response.json(await ichido.sweep()));
  await ichido.start();
  return ichido;
}

export function paymentOperation(parts: LaneParts): RouteOptions<Request> {
  return {
    operation: "payment.create",
    onUnknown: askBank(parts),
    // For the page that shows where the limits are.
    ...(parts.withoutStore === "run" ? { dangerouslyRunWithoutStore: true } : {}),
  };
}
