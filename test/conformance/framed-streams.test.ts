/**
 * A stream whose handler says how it is framed: Hono's `streamText`, and gateways that pass on what another server
 * answered. It is held until it is stored, and its length is known by then; nobody can read an answer that has both.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import fastify from "fastify";
import { Hono } from "hono";
import { streamText } from "hono/streaming";
import Koa from "koa";
import { createIchido } from "ichido";
import { idempotency as onFastify } from "ichido/fastify";
import { idempotent } from "ichido/fetch";
import { idempotency as onHono } from "ichido/hono";
import { idempotency as onKoa } from "ichido/koa";
import { memoryStore } from "ichido/memory";
import { expect, onTestFinished, test } from "vitest";

const route = { operation: "report.create" };

function engine<Native>() {
  const ichido = createIchido<Native>({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun" });
  onTestFinished(() => ichido.close());
  return ichido;
}

const chunks = (): Readable => Readable.from([Buffer.from("first, "), Buffer.from("second")]);

async function fastifyWith(lines: Record<string, string>): Promise<RequestListener> {
  const app = fastify();
  await app.register(onFastify, { ichido: engine() });
  app.post("/", { config: { idempotency: route } }, (_request, reply) => reply.headers(lines).send(chunks()));
  await app.ready();
  return (request, response) => app.routing(request, response);
}

async function koaWith(lines: Record<string, string>): Promise<RequestListener> {
  const app = new Koa().use(onKoa(engine<Koa.Context>(), route)).use((ctx) => {
    ctx.set(lines);
    ctx.body = chunks();
  });
  const listener = app.callback();
  return (request, response) => void listener(request, response);
}

async function honoText(): Promise<RequestListener> {
  const app = new Hono().post("/", onHono(engine(), route), (c) =>
    streamText(c, async (stream) => {
      await stream.write("first, ");
      await stream.write("second");
    }),
  );
  const listener = getRequestListener(app.fetch);
  return (request, response) => void listener(request, response);
}

async function fetchWith(headers: Record<string, string>): Promise<RequestListener> {
  const pass = () => new Response(Readable.toWeb(chunks()) as ReadableStream<Uint8Array>, { headers });
  const listener = getRequestListener(idempotent(engine<Request>(), route, pass));
  return (request, response) => void listener(request, response);
}

const chunked = { "transfer-encoding": "chunked" };
const announced = { trailer: "x-checksum" };

test.each<[string, () => Promise<RequestListener>]>([
  ["Hono's streamText", honoText],
  ["fetch, chunked", () => fetchWith(chunked)],
  ["fetch, with a line about trailers", () => fetchWith(announced)],
  ["Fastify, chunked", () => fastifyWith(chunked)],
  ["Fastify, with a line about trailers", () => fastifyWith(announced)],
  ["Koa, with a line about trailers", () => koaWith(announced)],
])("R-09 %s: the first caller can read the answer, too", async (_, open) => {
  const server = createServer(await open()).listen(0, "127.0.0.1");
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  const ask = async () => {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: { "idempotency-key": "k-1" } });
    return [answer.status, answer.headers.get("idempotency-replayed"), await answer.text()];
  };
  expect(await ask()).toEqual([200, null, "first, second"]);
  expect(await ask()).toEqual([200, "true", "first, second"]);
});
