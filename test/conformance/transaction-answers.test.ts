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
import { nodeSqliteTransactions } from "../../packages/ichido/src/transactions/index.ts";
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

type Where = "whole application" | "one controller";

async function startNest(
  platform: "express" | "fastify",
  where: Where,
  handler: (context: Context) => unknown,
  ichido: Ichido<never>,
): Promise<number> {
  class Users {
    create(context: Context): unknown {
      return handler(context);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Users.prototype, "create") as PropertyDescriptor;
  Idempotent({ operation: "user.create" })(Users.prototype, "create", descriptor);
  Post()(Users.prototype, "create", descriptor);
  Idempotency()(Users.prototype, "create", 0);
  if (where === "one controller") UseInterceptors(ClassSerializerInterceptor)(Users);
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

for (const platform of ["express", "fastify"] as const) {
  describe(`nest on ${platform}`, () => {
    it.each(["whole application", "one controller"] as const)(
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
    const app = fastify({ forceCloseConnections: true });
    await app.register(onFastify, { ichido } as never);
    const shown = { type: "object", properties: { id: { type: "number" } } };
    const config = { idempotency: { operation: "user.create" } } as object;
    app.post("/users", { config, schema: { response: { 200: shown } } }, async (request) =>
      signUp((request as { idempotency?: Context }).idempotency, new User()),
    );
    await app.listen({ port: 0, host: "127.0.0.1" });
    opened.push(() => app.close());
    const port = Number(new URL(app.listeningOrigin).port);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
    expect(count()).toBe(1);
  });
});

describe("express", () => {
  it("A24 hides what the application's replacer leaves out, first and replayed", async () => {
    const { ichido, count } = await rows();
    const app = express();
    app.set("json replacer", (name: string, value: unknown) => (name === "password" ? undefined : value));
    app.post("/users", onExpress(ichido as never, { operation: "user.create" }), async (request) => {
      await signUp(request.idempotency, new User());
    });
    const running = await listening(createServer(app), {} as never);
    opened.push(() => running.close());
    const { port } = running;
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", false]);
    expect(await ask(port)).toEqual([200, '{"id":1}', "1", true]);
    expect(count()).toBe(1);
  });
});
