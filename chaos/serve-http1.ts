/** Express over HTTP/1.1. */
import type { AddressInfo } from "node:net";
import type express from "express";
import { captureBody, idempotency } from "../packages/ichido/src/adapters/express.ts";
import type { AnswerLike } from "../packages/ichido/src/core/contract/options.ts";
import { callerOf, engineOf, routeOf } from "./engine.ts";
import { answerNaively } from "./naive.ts";
import { policies, type Order } from "./policies.ts";
import type { Served, Serve } from "./serve.ts";
import { work } from "./work.ts";

function send(response: express.Response, { status, headers = {}, body }: AnswerLike): void {
  response
    .status(status)
    .set(headers as Record<string, string>)
    .json(body ?? {});
}

export const serve: Serve = async (side, setup): Promise<Served> => {
  const { default: express } = await import("express");
  const app = express();
  app.use(captureBody(), express.json());
  const ichido = engineOf<express.Request>(side, setup);
  for (const policy of policies) {
    if (policy === "transaction" && side.store.capabilities.transactionMode !== true) continue;
    if (policy === "commit" && side.runner === undefined) continue;
    if (setup.naive) {
      app.post(`/${policy}`, async (request, response) => {
        const key = request.get("idempotency-key") ?? "";
        const asking = { policy, caller: callerOf(request), key, order: request.body as Order };
        send(response, await answerNaively(side, setup, asking));
      });
      continue;
    }
    app.post(`/${policy}`, idempotency(ichido, routeOf<express.Request>(policy, setup)), async (request, response) => {
      const { idempotency: context } = request;
      if (context === undefined) throw new Error("the request was not protected");
      const answer = await work(policy, context, request.body as Order, { ...setup, caller: callerOf(request) });
      if (answer !== undefined) send(response, answer);
    });
  }
  // What a handler throws is a 500 without a page of its stack.
  app.use((_error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    if (!response.headersSent) response.status(500).json({ code: "handler-failed" });
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      await ichido.close();
    },
  };
};
