/** What `ctx.transaction` answers passes the framework's serialisers as any answer does, before it is stored. */
import "reflect-metadata";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ClassSerializerInterceptor, Controller, Module, Post, UseInterceptors } from "@nestjs/common";
import { NestFactory, Reflector } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Exclude } from "class-transformer";
import express from "express";
import fastify from "fastify";
import { createIchido, type Context, type Ichido } from "ichido";
import { idempotency as onExpress } from "ichido/express";
import { idempotency as onFastify } from "ichido/fastify";
import { Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";
import { openSqliteStore } from "ichido/sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { nodeSqliteTransactions } from "ichido/transactions";
import { listening } from "./answers.ts";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

class User {
  id = 1;
  password = "hidden";
}
Exclude()(User.prototype, "password");

interface Rows {
  readonly ichido: Ichido<never>;
  readonly count: () => number;
}

async function rows(): Promise<Rows> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-answers-"));
  const path = join(folder, "ichido.db");
  const store = await openSqliteStore(path, { migrate: true });
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("CREATE TABLE users (id INTEGER PRIMARY KEY)");
  // Looked at with COMMIT, and not before.
  database.exec("CREATE TABLE mails (user_id INTEGER REFERENCES users DEFERRABLE INITIALLY DEFERRED)");
  const transactions = nodeSqliteTransactions(database);
  const scope = (): { principal: string } => ({ principal: "alice" });
  const ichido = createIchido<never>({ store, transactions, scope, onUnknown: "rerun" } as never);
  opened.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => database.close(),
    () => store.close(),
    () => ichido.close(),
  );
  return { ichido, count: () => Number(database.prepare("SELECT count(*) AS n FROM users").get()?.["n"]) };
}

function signUp(context: Context | undefined, body: unknown, then?: () => void): Promise<unknown> | undefined {
  return context?.transaction(async (_tx, handle) => {
    await handle.execute("INSERT INTO users DEFAULT VALUES", []);
    then?.();
    return { status: 200, body, headers: { "x-own": "1" } };
  });
}

async function ask(port: number): Promise<readonly unknown[]> {
  const headers = { "idempotency-key": "k", "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}/users`, { method: "POST", headers, body: "{}" });
  const isReplay = response.headers.get("idempotency-replayed") === "true";
  return [response.status, await response.text(), response.headers.get("x-own"), isReplay];
}

type Where = "whole application" | "one controller" | "handler that a controller inherits";
type Mode = "lease" | "transaction";
type Handler = (context: Context | undefined) => unknown;

async function startNest(
  platform: "express" | "fastify",
  where: Where,
  handler: Handler,
  ichido: Ichido<never>,
  mode: Mode = "lease",
): Promise<number> {
  class Base {
    create(context: Context): unknown {
      return handler(context);
    }
  }
  const isInherited = where === "handler that a controller inherits";
  const descriptor = Object.getOwnPropertyDescriptor(Base.prototype, "create") as PropertyDescriptor;
  if (!isInherited) Idempotent({ operation: "user.create", mode })(Base.prototype, "create", descriptor);
  Post()(Base.prototype, "create", descriptor);
  Idempotency()(Base.prototype, "create", 0);
  class Users extends Base {}
  if (isInherited) Idempotent({ operation: "user" })(Users);
  if (where !== "whole application") UseInterceptors(ClassSerializerInterceptor)(Users);
  Controller("users")(Users);
  class App {}
  Module({ imports: [IdempotencyModule.forRoot({ ichido } as never)], controllers: [Users] })(App);
  const adapter = platform === "express" ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(App, adapter as never, { logger: false });
  if (where === "whole application") app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector)));
  await app.listen(0, "127.0.0.1");
  opened.push(() => app.close());
  return Number(new URL(await app.getUrl()).port);
}

async function startFastify(handler: Handler, ichido: Ichido<never>, mode: Mode = "lease"): Promise<number> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(onFastify, { ichido } as never);
  const shown = { type: "object", properties: { id: { type: "number" } } };
  const config = { idempotency: { operation: "user.create", mode } } as object;
  app.post("/users", { config, schema: { response: { 200: shown } } }, async (request) =>
    handler((request as { idempotency?: Context }).idempotency),
  );
  await app.listen({ port: 0, host: "127.0.0.1" });
  opened.push(() => app.close());
  return Number(new URL(app.listeningOrigin).port);
}

async function startExpress(handler: Handler, ichido: Ichido<never>, mode: Mode = "lease"): Promise<number> {
  const app = express();
  app.set("json replacer", (name: string, value: unknown) => (name === "password" ? undefined : value));
  app.post("/users", onExpress(ichido as never, { operation: "user.create", mode }), async (request) => {
    await handler(request.idempotency);
  });
  const running = await listening(createServer(app), {} as never);
  opened.push(() => running.close());
  return running.port;
}

const starts: Readonly<Record<string, (handler: Handler, ichido: Ichido<never>, mode: Mode) => Promise<number>>> = {
  express: startExpress,
  fastify: startFastify,
  "nest on express": (handler, ichido, mode) => startNest("express", "one controller", handler, ichido, mode),
  "nest on fastify": (handler, ichido, mode) => startNest("fastify", "one controller", handler, ichido, mode),
};

describe.each(Object.keys(starts))("%s", (name) => {
  it.each(["lease", "transaction"] as const)(
    "A24 an answer whose COMMIT fails is neither sent nor stored, mode %s",
    async (mode) => {
      const { ichido, count } = await rows();
      let broken = true;
      const mailed: Handler = (context) =>
        context?.transaction(async (_tx, handle) => {
          await handle.execute("INSERT INTO users DEFAULT VALUES", []);
          if (broken) await handle.execute("INSERT INTO mails VALUES (99)", []);
          return { status: 200, body: new User(), headers: { "x-own": "1" } };
        });
      const port = await starts[name]!(mailed, ichido, mode);
      const [status, text, own] = await ask(port);
      expect(status).toBe(503);
      expect(text).not.toContain('"id":1');
      expect(own).toBeNull();
      expect(count()).toBe(0);
      broken = false;
      expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
      expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
      expect(count()).toBe(1);
    },
  );
});

for (const platform of ["express", "fastify"] as const) {
  describe(`nest on ${platform}`, () => {
    it.each(["whole application", "one controller", "handler that a controller inherits"] as const)(
      "A24 hides what a class serializer hides, for the %s, first and replayed",
      async (where) => {
        const { ichido, count } = await rows();
        const port = await startNest(platform, where, (context) => signUp(context, new User()), ichido);
        expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
        expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
        expect(count()).toBe(1);
      },
    );

    it("A24 undoes the transaction where the serializer fails, and the next attempt runs", async () => {
      const { ichido, count } = await rows();
      let broken = true;
      class Broken {
        get id(): number {
          if (broken) throw new Error("cannot be shown");
          return 2;
        }
      }
      const body = { toJSON: () => ({ id: new Broken().id }) };
      const port = await startNest(platform, "one controller", (context) => signUp(context, body), ichido);
      expect((await ask(port))[0]).toBe(500);
      expect(count()).toBe(0);
      broken = false;
      expect((await ask(port))[0]).toBe(200);
      expect(count()).toBe(1);
    });

    it("A24 a body that throws is the framework's error, and the next attempt runs", async () => {
      const { ichido, count } = await rows();
      let broken = true;
      const fail = (): void => {
        if (broken) throw new Error("no");
      };
      const port = await startNest(platform, "one controller", (context) => signUp(context, new User(), fail), ichido);
      expect((await ask(port))[0]).toBe(500);
      broken = false;
      expect((await ask(port)).slice(0, 2)).toEqual([200, '{"id":1}']);
      expect(count()).toBe(1);
    });
  });
}

describe("fastify", () => {
  it("A24 hides what a response schema leaves out, first and replayed", async () => {
    const { ichido, count } = await rows();
    const port = await startFastify((context) => signUp(context, new User()), ichido);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
    expect(count()).toBe(1);
  });
});

describe("express", () => {
  it("A24 hides what the application's replacer leaves out, first and replayed", async () => {
    const { ichido, count } = await rows();
    const port = await startExpress((context) => signUp(context, new User()), ichido);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
    expect(count()).toBe(1);
  });
});
