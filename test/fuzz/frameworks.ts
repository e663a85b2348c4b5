/** A protected POST in each framework, on a store that the target gives. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { idempotency as onExpress } from "../../packages/ichido/src/adapters/express.ts";
import { idempotency as onFastify } from "../../packages/ichido/src/adapters/fastify.ts";
import { idempotency as onHono } from "../../packages/ichido/src/adapters/hono.ts";
import { idempotency as onKoa } from "../../packages/ichido/src/adapters/koa.ts";
import { createIchido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";

export interface App {
  readonly name: string;
  readonly port: number;
  /** How often its handler ran. */
  readonly runs: () => number;
  readonly close: () => Promise<void>;
}

const operation = "fuzz.create";
export const requestBytesMax = 64 * 1_024;

async function listening(name: string, server: Server, runs: () => number): Promise<App> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    name,
    port: (server.address() as AddressInfo).port,
    runs,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function engineOn<Native>(store: Store) {
  return createIchido<Native>({ store, scope: () => ({ principal: "me" }), onUnknown: "rerun", sweepMs: "off" });
}

export async function openApps(storeFor: () => Store): Promise<readonly App[]> {
  const apps: App[] = [];
  const counted = async (
    name: string,
    listener: (ran: () => void) => RequestListener | Promise<RequestListener>,
  ): Promise<void> => {
    let runs = 0;
    apps.push(await listening(name, createServer(await listener(() => (runs += 1))), () => runs));
  };

  await counted("express", (ran) => {
    const app = express();
    app.post(
      "/",
      onExpress(engineOn<IncomingMessage>(storeFor()), { operation }, { requestBytesMax }),
      (_request, response) => {
        ran();
        response.status(201).json({ made: true });
      },
    );
    return app;
  });
  await counted("koa", (ran) => {
    const app = new Koa();
    app.use(onKoa(engineOn<Koa.Context>(storeFor()), { operation }, { requestBytesMax }));
    app.use((context) => {
      ran();
      context.status = 201;
      context.body = { made: true };
    });
    const listener = app.callback();
    return (request, response) => void listener(request, response);
  });
  await counted("hono", (ran) => {
    const app = new Hono();
    app.post("/", onHono(engineOn<Request>(storeFor()) as never, { operation }, { requestBytesMax }), (context) => {
      ran();
      return context.json({ made: true }, 201);
    });
    const listener = getRequestListener(app.fetch);
    return (request, response) => void listener(request, response);
  });
  await counted("fastify", async (ran) => {
    const app = fastify({ bodyLimit: requestBytesMax });
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    await app.register(onFastify, { ichido: engineOn<never>(storeFor()), requestBytesMax });
    app.post("/", { config: { idempotency: { operation } } }, async (_request, reply) => {
      ran();
      return reply.code(201).send({ made: true });
    });
    await app.ready();
    return (request, response) => app.routing(request, response);
  });
  return apps;
}
