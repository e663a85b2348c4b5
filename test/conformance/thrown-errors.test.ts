/** The status that a caller sees when a handler lets an error of ichido through, by each framework's own error handler. */
import "reflect-metadata";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Controller, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { createIchido, IchidoError, type Context, type Ichido } from "ichido";
import { idempotency as onExpress } from "ichido/express";
import { idempotency as onFastify } from "ichido/fastify";
import { idempotency as onKoa } from "ichido/koa";
import { Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import Koa from "koa";
import { Pool, type PoolClient } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import { listening } from "./answers.ts";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

type Handler = (context: Context) => Promise<unknown>;
type Start = (handler: Handler, ichido: Ichido<never>) => Promise<number>;

const route = { operation: "order.create" } as const;

function startExpress(make: typeof express): Start {
  return async (handler, ichido) => {
    const app = make();
    // Its default handler also writes to standard error otherwise.
    app.set("env", "test");
    app.post("/orders", onExpress(ichido as never, route), async (request, _response, next) => {
      // Express 4 does not look at the promise.
      const failure: unknown = await handler(request.idempotency as Context).catch((error: unknown) => error);
      next(failure);
    });
    const running = await listening(createServer(app), {} as never);
    opened.push(() => running.close());
    return running.port;
  };
}

const startFastify: Start = async (handler, ichido) => {
  const app = fastify({ forceCloseConnections: true });
  await app.register(onFastify, { ichido } as never);
  const config = { idempotency: route } as object;
  app.post("/orders", { config }, (request) => handler(request.idempotency as Context));
  await app.listen({ port: 0, host: "127.0.0.1" });
  opened.push(() => app.close());
  return Number(new URL(app.listeningOrigin).port);
};

const startKoa: Start = async (handler, ichido) => {
  const app = new Koa();
  app.silent = true;
  app.use(onKoa(ichido as never, route) as never);
  app.use(async (ctx) => {
    ctx.body = await handler(ctx.state["idempotency"] as Context);
  });
  const running = await listening(
    createServer((request, response) => void app.callback()(request, response)),
    {} as never,
  );
  opened.push(() => running.close());
  return running.port;
};

function startNest(adapter: () => ExpressAdapter | FastifyAdapter): Start {
  return async (handler, ichido) => {
    class Orders {
      create(context: Context): unknown {
        return handler(context);
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, "create") as PropertyDescriptor;
    Idempotent(route)(Orders.prototype, "create", descriptor);
    Post()(Orders.prototype, "create", descriptor);
    Idempotency()(Orders.prototype, "create", 0);
    Controller("orders")(Orders);
    class App {}
    Module({ imports: [IdempotencyModule.forRoot({ ichido } as never)], controllers: [Orders] })(App);
    const app = await NestFactory.create(App, adapter() as never, { logger: false });
    await app.listen(0, "127.0.0.1");
    opened.push(() => app.close());
    return Number(new URL(await app.getUrl()).port);
  };
}

const starts: Readonly<Record<string, Start>> = {
  "express 5": startExpress(express),
  "express 4": startExpress(express4 as never),
  fastify: startFastify,
  koa: startKoa,
  "nest on express": startNest(() => new ExpressAdapter()),
  "nest on fastify": startNest(() => new FastifyAdapter()),
};

async function post(port: number): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { "idempotency-key": randomUUID(), "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}/orders`, { method: "POST", headers, body: "{}" });
  return { status: response.status, text: await response.text() };
}

it("koa: ctx.throw, which assigns to the error, sends it with its status", async () => {
  const app = new Koa();
  app.silent = true;
  app.use((ctx) => ctx.throw(new IchidoError("store-unavailable", "away")));
  const running = await listening(
    createServer((request, response) => void app.callback()(request, response)),
    {} as never,
  );
  opened.push(() => running.close());
  expect(await post(running.port)).toMatchObject({ status: 503 });
});

describeWith("postgres", "an error of ichido that a handler lets through", (url) => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let records: Pool;
  let single: Pool;
  beforeAll(async () => {
    database = await freshDatabase(url);
    records = new Pool({ connectionString: database.url, max: 2 });
    single = new Pool({ connectionString: database.url, max: 1 });
    const store = postgresStore(records);
    await store.migrate();
    await store.close();
  });
  afterAll(async () => {
    await single?.end();
    await records?.end();
    await database?.drop();
  });

  function engine(): Ichido<never> {
    const store = postgresStore(records, { callTimeoutMs: 900 });
    const ichido = createIchido<never>({
      store,
      transactions: pgTransactions(single),
      dangerouslyShareKeys: true,
      onUnknown: "rerun",
      storeTimeoutMs: 1_000,
      onEvent: () => {},
    } as never);
    opened.push(
      () => store.close(),
      () => ichido.close(),
    );
    return ichido;
  }

  describe.each(Object.keys(starts))("%s", (name) => {
    it("is 503 where ctx.transaction got no connection", async () => {
      const taken: PoolClient = await single.connect();
      opened.push(() => taken.release());
      const port = await starts[name]!((context) => context.transaction(() => ({ status: 201 })), engine());
      const { status, text } = await post(port);
      expect(status).toBe(503);
      expect(text, "the framework's own answer").not.toContain("urn:ichido");
    });

    it("is 409 where the fence was lost", async () => {
      const port = await starts[name]!(() => Promise.reject(new IchidoError("fence-lost", "taken over")), engine());
      expect(await post(port)).toMatchObject({ status: 409 });
    });

    it("is 500 for what only the operator can mend", async () => {
      const port = await starts[name]!(() => Promise.reject(new IchidoError("access-denied", "grant it")), engine());
      const { status, text } = await post(port);
      expect(status).toBe(500);
      // Fastify sends the message of every error, Express all of it outside production; the others none of a 500.
      expect(text.includes("grant it")).toBe(name === "fastify" || name.startsWith("express"));
    });
  });
});
