/** One operation mounted twice on the way to one handler: an error that says so, on every adapter, and no claim is left. */
import "reflect-metadata";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Controller, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { createIchido, type Ichido, type Store } from "ichido";
import { idempotency as onExpress } from "ichido/express";
import { idempotency as onFastify } from "ichido/fastify";
import { idempotent as onFetch } from "ichido/fetch";
import { idempotency as onHono } from "ichido/hono";
import { idempotency as onKoa } from "ichido/koa";
import { memoryStore } from "ichido/memory";
import { IdempotencyModule, Idempotent } from "ichido/nest";
import { idempotent as onNode } from "ichido/node";
import { afterEach, describe, expect, it } from "vitest";

interface App {
  /** What the caller got: a status, or the message of what the handler function rejected with. */
  post(key: string): Promise<string>;
  /** What the program was told. */
  readonly errors: string[];
}

type Start = (ichido: Ichido<never>, mounts: 1 | 2, run: () => string) => Promise<App>;

const operation = "pay";
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0)) await end();
});

function overSocket(port: number): (key: string) => Promise<string> {
  return async (key) => {
    const headers = { "idempotency-key": key, connection: "close" };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers });
    await answer.arrayBuffer();
    return String(answer.status);
  };
}

async function listen(server: ReturnType<typeof createServer>): Promise<(key: string) => Promise<string>> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => server.close());
  return overSocket((server.address() as AddressInfo).port);
}

function nest(adapter: () => ExpressAdapter | FastifyAdapter): Start {
  return async (ichido, mounts, run) => {
    class Things {
      pay(): string {
        return run();
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Things.prototype, "pay") as PropertyDescriptor;
    for (const decorate of [Idempotent({ operation }), Post("/")]) decorate(Things.prototype, "pay", descriptor);
    Controller()(Things);
    const modules = Array.from({ length: mounts }, () => IdempotencyModule.forRoot({ ichido } as never));
    class Root {}
    Module({ imports: modules as never[], controllers: [Things] })(Root);
    const errors: string[] = [];
    const logger = {
      log: () => undefined,
      warn: () => undefined,
      error: (error: unknown) => errors.push(String(error)),
    };
    const app = await NestFactory.create(Root, adapter(), { logger: logger as never });
    await app.listen(0, "127.0.0.1");
    open.push(() => app.close());
    const server = app.getHttpServer() as ReturnType<typeof createServer>;
    return { post: overSocket((server.address() as AddressInfo).port), errors };
  };
}

const adapters: Readonly<Record<string, Start>> = {
  async express(ichido, mounts, run) {
    const errors: string[] = [];
    const app = express();
    for (let mount = 0; mount < mounts; mount += 1) app.use(onExpress(ichido, { operation }));
    app.post("/", (_request, response) => void response.send(run()));
    app.use(((error: Error, _request, response, _next) => {
      errors.push(error.message);
      response.sendStatus(500);
    }) as express.ErrorRequestHandler);
    return { post: await listen(createServer(app)), errors };
  },
  async fastify(ichido, mounts, run) {
    const errors: string[] = [];
    const app = fastify({ forceCloseConnections: true });
    for (let mount = 0; mount < mounts; mount += 1) await app.register(onFastify, { ichido });
    app.setErrorHandler((error: Error, _request, reply) => {
      errors.push(error.message);
      return reply.code(500).send();
    });
    app.post("/", { config: { idempotency: { operation } } }, async () => run());
    await app.listen({ port: 0, host: "127.0.0.1" });
    open.push(() => app.close());
    return { post: overSocket((app.server.address() as AddressInfo).port), errors };
  },
  async koa(ichido, mounts, run) {
    const errors: string[] = [];
    const app = new Koa();
    app.on("error", (error: Error) => errors.push(error.message));
    for (let mount = 0; mount < mounts; mount += 1) app.use(onKoa(ichido, { operation }));
    app.use((ctx) => {
      ctx.body = run();
    });
    const listener = app.callback();
    return { post: await listen(createServer((request, response) => void listener(request, response))), errors };
  },
  async node(ichido, mounts, run) {
    const errors: string[] = [];
    const warned = (warning: Error): void => void errors.push(warning.message);
    process.on("warning", warned);
    open.push(() => process.off("warning", warned));
    const handler = onNode(ichido, { operation }, (_request, response) => void response.end(run()));
    const outer = mounts === 1 ? handler : onNode(ichido, { operation }, handler);
    return { post: await listen(createServer((request, response) => void outer(request as never, response))), errors };
  },
  async hono(ichido, mounts, run) {
    const errors: string[] = [];
    const app = new Hono();
    for (let mount = 0; mount < mounts; mount += 1) app.use(onHono(ichido, { operation }) as never);
    app.post("/", (c) => c.text(run()));
    app.onError((error, c) => {
      errors.push(error.message);
      return c.text("error", 500);
    });
    const post = async (key: string): Promise<string> => {
      const answer = await app.request("/", { method: "POST", headers: { "idempotency-key": key } });
      return String(answer.status);
    };
    return { post, errors };
  },
  async fetch(ichido, mounts, run) {
    const errors: string[] = [];
    const handler = onFetch(ichido as never, { operation }, () => new Response(run()));
    const outer = mounts === 1 ? handler : onFetch(ichido as never, { operation }, (request) => handler(request));
    const post = async (key: string): Promise<string> => {
      const headers = { "idempotency-key": key };
      try {
        return String((await outer(new Request("http://x/", { method: "POST", headers }))).status);
      } catch (error) {
        errors.push((error as Error).message);
        return "500";
      }
    };
    return { post, errors };
  },
  "nest on express": nest(() => new ExpressAdapter()),
  "nest on fastify": nest(() => new FastifyAdapter({ forceCloseConnections: true })),
};

const engine = (store: Store): Ichido<never> =>
  createIchido<never>({ store, scope: () => ({ principal: "p" }), onUnknown: "hold", sweepMs: "off" });

describe.each(Object.entries(adapters))("mounted twice: %s", (_, start) => {
  it("C-02 is one clear error that names the operation, nothing is stored, and the key stays free", async () => {
    const store = memoryStore();
    let runs = 0;
    const run = (): string => `run ${(runs += 1)}`;
    const twice = await start(engine(store), 2, run);
    for (const time of [1, 2]) {
      expect(await twice.post("key-1")).toBe("500");
      expect(twice.errors).toHaveLength(time);
      expect(twice.errors.at(-1)).toContain(`operation "${operation}" is mounted twice`);
    }
    expect(runs).toBe(0);
    expect(await store.stats()).toMatchObject({ completed: 0, unknown: 0 });
    const once = await start(engine(store), 1, run);
    expect(await once.post("key-1")).toMatch(/^20[01]$/);
    expect(runs).toBe(1);
  });
});
