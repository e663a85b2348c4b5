/** Handlers that answer by `reply.send` and return nothing, at whatever moment their promise resolves. */
import fastify, { type FastifyReply } from "fastify";
import { createIchido } from "ichido";
import { idempotency } from "ichido/fastify";
import { memoryStore } from "ichido/memory";
import { afterEach, expect, it } from "vitest";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(
  handler: (reply: FastifyReply, path: string) => Promise<unknown>,
  hook: () => Promise<void> = async () => undefined,
) {
  const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
  const app = fastify({ forceCloseConnections: true });
  await app.register(idempotency, { ichido });
  app.addHook("onSend", hook);
  app.setErrorHandler((_error, _request, reply) => reply.code(503).send());
  app.post("/:hops", { config: { idempotency: { operation: "thing.create" } } }, (request, reply) =>
    handler(reply, (request.params as { hops: string }).hops),
  );
  closing.push(
    () => app.close(),
    () => ichido.close(),
  );
  return async (path: string, key: string) => {
    const reply = await app.inject({ method: "POST", url: `/${path}`, headers: { "idempotency-key": key } });
    return [reply.statusCode, reply.body];
  };
}

it("A21 the answer is the one that was sent, however many promises later the handler returns nothing", async () => {
  const post = await start(async (reply, hops) => {
    reply.code(201);
    reply.send({ id: 1 });
    for (let count = 0; count < Number(hops); count += 1) await Promise.resolve();
  });
  for (let hops = 0; hops < 60; hops += 1) {
    expect(await post(String(hops), `first-of-${hops}`), String(hops)).toEqual([201, '{"id":1}']);
    expect(await post(String(hops), `first-of-${hops}`), String(hops)).toEqual([201, '{"id":1}']);
  }
});

it("A21 an error of another hook may be answered without content", async () => {
  const post = await start(
    async (reply) => {
      reply.code(201);
      reply.send({ id: 1 });
    },
    () => Promise.reject(new Error("the hook is broken")),
  );
  expect((await post("0", "broken-hook"))[0]).toBe(503);
});
