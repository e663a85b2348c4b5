/** A stream that its record's answer has replaced is not read by anybody: what it reads from is closed. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import fastify from "fastify";
import { createIchido, type Store } from "ichido";
import { idempotency } from "ichido/fastify";
import { idempotent } from "ichido/fetch";
import { memoryStore } from "ichido/memory";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";

const route = { operation: "export.create" };
const events = { "content-type": "text/event-stream" };

/** Another owner has the record by the time at which the stream is to begin. */
function engine<Native>() {
  const store: Store = { ...memoryStore(), complete: async () => "stale" };
  const ichido = createIchido<Native>({ store, dangerouslyShareKeys: true, onUnknown: "rerun" });
  onTestFinished(() => ichido.close());
  return ichido;
}

function endless(): Readable {
  return new Readable({
    read() {
      this.push(Buffer.alloc(100_000));
    },
  });
}

async function onFastify(closed: () => void, lines: Record<string, string>): Promise<RequestListener> {
  const app = fastify();
  await app.register(idempotency, { ichido: engine() });
  app.post("/", { config: { idempotency: route } }, (_request, reply) =>
    reply.headers(lines).send(endless().once("close", closed)),
  );
  await app.ready();
  return (request, response) => app.routing(request, response);
}

async function onFetch(closed: () => void, headers: Record<string, string>): Promise<RequestListener> {
  const pull = (controller: ReadableStreamDefaultController): void => controller.enqueue(new Uint8Array(100_000));
  const handler = () => new Response(new ReadableStream({ pull, cancel: closed }), { headers });
  const listener = getRequestListener(idempotent(engine<Request>(), route, handler));
  return (request, response) => void listener(request, response);
}

test.each([
  ["Fastify, longer than is kept", onFastify, {}],
  ["Fastify, events", onFastify, events],
  ["fetch, longer than is kept", onFetch, {}],
  ["fetch, events", onFetch, events],
] as const)("A25 %s: is closed", async (_, open, lines) => {
  let isClosed = false;
  const server = createServer(await open(() => (isClosed = true), lines)).listen(0, "127.0.0.1");
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: { "idempotency-key": "k-1" } });
  expect(answer.status).toBe(409);
  await eventually(async () => expect(isClosed).toBe(true));
});
