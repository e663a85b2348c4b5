/**
 * Fastify 5, as a plugin: `await app.register(idempotency, { ichido })`, then `config: { idempotency: { operation } }` on
 * a route. It protects the routes of the scope it is registered in, and of scopes below it.
 */
import type { ServerResponse } from "node:http";
import type { Context } from "../core/context.ts";
import { IchidoError } from "../core/errors.ts";
import type { NeutralResponse } from "../core/message.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { bodyLimitsOf } from "../http/body-limits.ts";
import { createNodeGuard, type NodeGuard, type WireOptions } from "../http/node-guard.ts";
import type { NodeRequest } from "../http/node-request.ts";
import { captureBytes } from "../http/request-bytes.ts";

/** What the plugin needs of Fastify. */
export interface FastifyRequestLike {
  readonly raw: NodeRequest;
  readonly body?: unknown;
  readonly routeOptions: { readonly config?: unknown };
  idempotency?: Context | null;
}

export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  send(payload?: unknown): unknown;
  hijack(): unknown;
}

export interface FastifyInstanceLike {
  decorateRequest(name: string, value: null): unknown;
  hasRequestDecorator(name: string): boolean;
  addHook(name: "onRoute", hook: (route: { readonly url: string; readonly config?: unknown }) => void): unknown;
  addHook(
    name: "preParsing" | "preHandler",
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown;
}

export interface FastifyIdempotencyOptions<Request extends FastifyRequestLike> extends WireOptions {
  readonly ichido: Decider<Request>;
}

function routeOptionsOf<Request>(config: unknown): RouteOptions<Request> | undefined {
  return (config as { idempotency?: RouteOptions<Request> } | undefined)?.idempotency;
}

/** Through Fastify's own reply, so that hooks of outer plugins (CORS, compression) see it like any answer. */
function send(reply: FastifyReplyLike, answer: NeutralResponse): void {
  const grouped = new Map<string, string[]>();
  for (const [name, value] of answer.headers) grouped.set(name, [...(grouped.get(name) ?? []), value]);
  for (const [name, values] of grouped) reply.header(name, values.length === 1 ? (values[0] ?? "") : values);
  reply.code(answer.status);
  reply.send(
    answer.body.length === 0 ? undefined : Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.length),
  );
}

async function plugin<Request extends FastifyRequestLike>(
  app: FastifyInstanceLike,
  options: FastifyIdempotencyOptions<Request>,
): Promise<void> {
  if (typeof options.ichido?.decide !== "function") {
    throw new IchidoError("option-invalid", "option ichido: register the plugin with { ichido: createIchido(…) }");
  }
  const limits = bodyLimitsOf(options);
  const guards = new WeakMap<object, NodeGuard<Request>>();

  function guardOf(config: unknown): NodeGuard<Request> | undefined {
    const route = routeOptionsOf<Request>(config);
    if (route === undefined) return undefined;
    const guard = guards.get(route) ?? createNodeGuard(options.ichido, route, options);
    guards.set(route, guard);
    return guard;
  }

  if (!app.hasRequestDecorator("idempotency")) app.decorateRequest("idempotency", null);
  // A bad option stops the start, not the first request.
  app.addHook("onRoute", ({ config }) => void guardOf(config));
  app.addHook("preParsing", async (request) => {
    if (guardOf(request.routeOptions.config) !== undefined) captureBytes(request.raw, limits);
  });
  app.addHook("preHandler", async (request, reply) => {
    const guard = guardOf(request.routeOptions.config);
    if (guard === undefined || reply.sent) return undefined;
    if (request.body !== undefined) request.raw.body ??= request.body;
    const verdict = await guard.guard({
      request: request.raw,
      response: reply.raw,
      native: request as Request,
      answer: (response) => send(reply, response),
      prepare: (execution) => {
        request.idempotency = execution.context;
        // What outer hooks have set must count as theirs, so that a replay carries their present values.
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
        void execution.provided.then(() => reply.hijack());
      },
    });
    if (verdict === "run") return undefined;
    // A dead connection: nobody is answered, and the handler must not run.
    if (!reply.sent) reply.hijack();
    return reply;
  });
}

/** Fastify's own marks: hooks reach the registering scope, and the plugin has a name in its messages. */
export const idempotency: typeof plugin = Object.assign(plugin, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "ichido",
});
