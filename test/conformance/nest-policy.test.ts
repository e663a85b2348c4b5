/** Nest's policy is collected from its decorators, with the addresses under which the routes are really registered. */
import "reflect-metadata";
import { Controller, Get, Module, Patch, Post, RequestMethod, Version, VersioningType } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { createIchido, type Ichido, type RouteOptions } from "ichido";
import { memoryStore } from "ichido/memory";
import { IdempotencyModule, Idempotent, publishedRoutes } from "ichido/nest";
import { mergeOpenApi, openApiFragment, type PolicyOptions } from "ichido/policy";
import { afterEach, describe, expect, it } from "vitest";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A method of a class with its decorators, the last one first, as the compiler applies them. */
function decorate(target: object, name: string, ...decorators: readonly MethodDecorator[]): void {
  for (const decorator of decorators.toReversed()) {
    const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor;
    decorator(target, name, descriptor);
    Object.defineProperty(target, name, descriptor);
  }
}

const protect = (options: Partial<RouteOptions<unknown>> = {}) => Idempotent({ operation: "thing", ...options });

function controllers(): (new () => object)[] {
  class Payments {
    async create(): Promise<object> {
      return { from: "payments" };
    }
    async change(): Promise<object> {
      return {};
    }
    async list(): Promise<object> {
      return [];
    }
    async open(): Promise<object> {
      return {};
    }
  }
  decorate(Payments.prototype, "create", Post(), protect({ operation: "payment.create" }));
  decorate(Payments.prototype, "change", protect({ operation: "payment.change" }), Version("2"), Patch(":id"));
  decorate(Payments.prototype, "list", Get(), protect({ operation: "payment.list" }));
  decorate(Payments.prototype, "open", Post("open"));
  Controller({ path: "payments", version: "1" })(Payments);

  class Base {
    async refund(): Promise<object> {
      return { from: "refunds" };
    }
  }
  decorate(Base.prototype, "refund", Post("one"));
  class Refunds extends Base {
    async all(): Promise<object> {
      return {};
    }
  }
  decorate(Refunds.prototype, "all", Post(["all", "every"]));
  protect({ operation: "refund" })(Refunds);
  Controller("refunds")(Refunds);

  class Hooks {
    async receive(): Promise<object> {
      return {};
    }
  }
  decorate(Hooks.prototype, "receive", Post(), protect({ operation: "hook.receive" }));
  Controller("hooks")(Hooks);
  return [Payments, Refunds, Hooks];
}

const platforms = { express: () => new ExpressAdapter(), fastify: () => new FastifyAdapter() };

async function start(platform: keyof typeof platforms, policy: boolean | PolicyOptions, made = controllers()) {
  const ichido: Ichido = createIchido({
    store: memoryStore(),
    scope: () => ({ principal: "p" }),
    onUnknown: "rerun",
  });
  class App {}
  Module({ imports: [IdempotencyModule.forRoot({ ichido, policy })], controllers: made })(App);
  const app = await NestFactory.create(App, platforms[platform]() as never, { logger: false, abortOnError: false });
  closers.push(() => app.close());
  app.setGlobalPrefix("api", { exclude: [{ path: "hooks", method: RequestMethod.POST }] });
  app.enableVersioning({ type: VersioningType.URI });
  await app.listen(0, "127.0.0.1");
  return { app, ichido, url: (await app.getUrl()).replace("[::1]", "127.0.0.1") };
}

const addresses = [
  "PATCH /api/v2/payments/{id} payment.change",
  "POST /api/refunds/all refund.all",
  "POST /api/refunds/every refund.all",
  "POST /api/refunds/one refund.refund",
  "POST /api/v1/payments payment.create",
  "POST /hooks hook.receive",
];

describe.each(["express", "fastify"] as const)("nest on %s", (platform) => {
  it("serves the policy of all decorated handlers, with global prefix and versions", async () => {
    const { url } = await start(platform, { scope: ["account"] });
    const reply = await fetch(`${url}/.well-known/idempotency`);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([
      200,
      expect.stringMatching(/^application\/json/),
    ]);
    const { operations } = (await reply.json()) as {
      operations: { method: string; path: string; operation: string; scope: string[] }[];
    };
    expect(operations.map((each) => `${each.method} ${each.path} ${each.operation}`).toSorted()).toEqual(addresses);
    expect(operations[0]?.scope).toEqual(["account", "operation", "key"]);
    for (const { method, path } of operations) {
      const headers = { "idempotency-key": `"${path}"` };
      const first = await fetch(url + path.replace("{id}", "7"), { method, headers });
      const again = await fetch(url + path.replace("{id}", "7"), { method, headers });
      expect([first.ok, again.headers.get("idempotency-replayed")], path).toEqual([true, "true"]);
    }
  });

  it("gives the routes for a description in OpenAPI, and serves no policy unasked", async () => {
    const { app, ichido, url } = await start(platform, false);
    expect((await fetch(`${url}/.well-known/idempotency`)).status).toBe(404);
    const fragment = openApiFragment(ichido, publishedRoutes(app));
    const document = mergeOpenApi({ openapi: "3.1.0", paths: {} }, fragment) as {
      paths: Record<string, object>;
    };
    expect(Object.keys(document.paths).toSorted()).toEqual(
      addresses.map((each) => each.split(" ")[1] as string).toSorted(),
    );
  });
});

describe("a policy that cannot be published", () => {
  it("stops the start where nothing is protected", async () => {
    await expect(start("express", true, [])).rejects.toThrow(/no route to publish/);
  });

  it("stops the start where the option is none", async () => {
    await expect(start("express", "yes" as never)).rejects.toThrow(
      /option policy: expected true, false or \{ scope \}/,
    );
    await expect(start("express", { scop: [] } as never)).rejects.toThrow(/did you mean scope\?/);
  });
});
