/** An answer without a type is replayed without one: bytes are not said to be what nobody said they are. */
import { Readable } from "node:stream";
import fastify, { type FastifyReply } from "fastify";
import { Controller, Module, Post, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { createIchido } from "ichido";
import { idempotency } from "ichido/fastify";
import { memoryStore } from "ichido/memory";
import { IdempotencyModule, Idempotent, captureBody } from "ichido/nest";
import { afterEach, describe, expect, it } from "vitest";

const bytes = Buffer.from("bytes of no type");
type Way = (reply: FastifyReply) => unknown;
const untyped = (): Response => {
  const response = new Response(bytes, { status: 201 });
  response.headers.delete("content-type");
  return response;
};
const ways: Readonly<Record<string, Way>> = {
  stream: (reply) => reply.code(201).send(Readable.from([bytes])),
  hijack(reply) {
    reply.hijack();
    reply.raw.writeHead(201);
    reply.raw.end(bytes);
  },
  raw(reply) {
    reply.raw.statusCode = 201;
    reply.raw.end(bytes);
    return reply.hijack();
  },
  response: (reply) => reply.send(untyped()),
};

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function engine<Native>() {
  const ichido = createIchido<Native>({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
  closing.push(() => ichido.close());
  return ichido;
}

async function startFastify(way: Way): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(idempotency, { ichido: engine() });
  app.post("/things", { config: { idempotency: { operation: "thing.create" } } }, (_request, reply) => way(reply));
  closing.push(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

async function startNest(way: Way): Promise<string> {
  class Things {
    create(reply: FastifyReply): unknown {
      return way(reply);
    }
  }
  const create = Object.getOwnPropertyDescriptor(Things.prototype, "create") as TypedPropertyDescriptor<unknown>;
  Idempotent({ operation: "thing.create" })(Things.prototype, "create", create as never);
  Post()(Things.prototype, "create", create);
  Res()(Things.prototype, "create", 0);
  Controller("things")(Things);
  class App {}
  Module({ imports: [IdempotencyModule.forRoot(engine())], controllers: [Things] })(App);
  const app = await NestFactory.create(App, new FastifyAdapter({ forceCloseConnections: true }), { logger: false });
  captureBody(app);
  closing.push(() => app.close());
  await app.listen(0, "127.0.0.1");
  return app.getUrl();
}

describe.each([
  ["fastify", startFastify],
  ["nest on fastify", startNest],
])("%s", (_, start) => {
  it.each(Object.entries(ways))("R-01 an answer without a type, by %s, is replayed without one", async (_way, way) => {
    const url = await start(way);
    const post = (): Promise<Response> =>
      fetch(`${url}/things`, { method: "POST", headers: { "idempotency-key": "k" }, body: new Uint8Array(0) });
    const first = await post();
    const replay = await post();
    expect(replay.headers.get("idempotency-replayed"), await replay.clone().text()).toBe("true");
    expect([replay.status, await replay.text()]).toEqual([first.status, await first.text()]);
    expect(replay.headers.get("content-type")).toBe(first.headers.get("content-type"));
  });
});
