/** Fastify over HTTP/2, in clear text. */
import type { AddressInfo } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { idempotency } from "../packages/ichido/src/adapters/fastify.ts";
import type { AnswerLike } from "../packages/ichido/src/core/contract/options.ts";
import { callerOf, engineOf, routeOf } from "./engine.ts";
import { answerNaively } from "./naive.ts";
import { policies, type Order } from "./policies.ts";
import type { Serve, Served } from "./serve.ts";
import { work } from "./work.ts";

function send(reply: FastifyReply, { status, headers = {}, body }: AnswerLike): FastifyReply {
  return reply
    .code(status)
    .headers(headers as Record<string, string>)
    .send(body ?? {});
}

export const serve: Serve = async (side, setup): Promise<Served> => {
  const { default: fastify } = await import("fastify");
  // The options of an HTTP/2 server make other types of everything; the routes are the same.
  const app = fastify({ http2: true } as object);
  const ichido = engineOf<FastifyRequest>(side, setup);
  if (!setup.naive) await app.register(idempotency, { ichido });
  for (const policy of policies) {
    if (policy === "transaction" && side.store.capabilities.transactionMode !== true) continue;
    if (policy === "commit" && side.runner === undefined) continue;
    const config = setup.naive ? {} : { idempotency: routeOf<FastifyRequest>(policy, setup) };
    app.post(`/${policy}`, { config }, async (request, reply) => {
      const order = request.body as Order;
      const caller = callerOf(request);
      if (setup.naive) {
        const key = String(request.headers["idempotency-key"]);
        return send(reply, await answerNaively(side, setup, { policy, caller, key, order }));
      }
      const { idempotency: context } = request;
      if (context === null) throw new Error("the request was not protected");
      const answer = await work(policy, context, order, { ...setup, caller });
      return answer === undefined ? reply : send(reply, answer);
    });
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
      await app.close();
      await ichido.close();
    },
  };
};
