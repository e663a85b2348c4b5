import type { FastifyReply, FastifyRequest } from "fastify";
import type { Running, Settings } from "../contract.ts";
import { begin, keptNames, type Verdict } from "../minimum/minimum.ts";
import { openMinimum } from "../minimum/open.ts";
import { serveFastify } from "./fastify-app.ts";

export async function start(settings: Settings): Promise<Running> {
  const store = await openMinimum(settings);
  const bytesOf = new WeakMap<FastifyRequest, Buffer>();
  const running = new WeakMap<FastifyRequest, Extract<Verdict, { complete: unknown }>>();
  return serveFastify(async (app) => {
    app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes: Buffer, done) => {
      bytesOf.set(request, bytes);
      done(null, JSON.parse(String(bytes)));
    });
    const preHandler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const verdict = await begin(store, request.headers, bytesOf.get(request) ?? Buffer.alloc(0));
      if ("complete" in verdict) return void running.set(request, verdict);
      const { status, headers, body } = verdict.answer;
      return reply.code(status).headers(Object.fromEntries(headers)).send(body);
    };
    const onSend = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
      const body = Buffer.from(payload as string | Buffer);
      const headers = keptNames.flatMap((name) => {
        const value = reply.getHeader(name);
        return value === undefined ? [] : [[name, String(value)] as const];
      });
      await running.get(request)?.complete({ status: reply.statusCode, headers, body });
      return payload;
    };
    return { preHandler, onSend };
  });
}
