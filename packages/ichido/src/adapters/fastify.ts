/**
 * Fastify 5, as a plugin: `await app.register(idempotency, { ichido })`, then `config: { idempotency: { operation } }`
 * on a route. It protects the routes of the scope it is registered in, and of scopes below it.
 */
import { nearestOf } from "../core/contract/nearest-name.ts";
import { engineOption, knownOptions } from "../core/contract/option-checks.ts";
import type { Context } from "../core/contract/context.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { Decider, RouteOptions } from "../core/contract/options.ts";
import { bodyLimitsOf } from "../http/body-limits.ts";
import { createNodeGuard, wireNames, type NodeGuard, type WireOptions } from "../http/node-guard.ts";
import { captureBytes, type NodeRequest } from "../http/node-request.ts";
import {
  addSendHook,
  answerOnReply,
  captureReply,
  presentOnReply,
  type ReplyLike,
  type SendHook,
} from "./fastify-reply.ts";

/** What the plugin needs from Fastify. */
export interface FastifyRequestLike {
  readonly raw: NodeRequest;
  readonly body?: unknown;
  readonly routeOptions: { readonly config?: unknown };
  idempotency?: Context | null;
}

export type FastifyReplyLike = ReplyLike;

export interface FastifyRouteLike {
  readonly url: string;
  readonly method: string | string[];
  readonly config?: unknown;
}

export interface FastifyInstanceLike {
  decorateRequest(name: string, value: null): unknown;
  hasRequestDecorator(name: string): boolean;
  after(done: () => void): unknown;
  addHook(name: "onSend", hook: SendHook): unknown;
  addHook(name: "onRoute", hook: (route: FastifyRouteLike) => void): unknown;
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

/** A route whose options stand under a misspelt name would not be protected. */
function checkConfig(config: unknown): void {
  for (const [name, value] of Object.entries(Object(config) as object)) {
    const isOptions = typeof value === "object" && value !== null && name !== "idempotency";
    if (!isOptions || nearestOf(name, ["idempotency"]) === undefined) continue;
    const what = `option ${name}: the config of a route has no such option; did you mean idempotency?`;
    throw new IchidoError("option-invalid", what);
  }
}

async function plugin<Request extends FastifyRequestLike>(
  app: FastifyInstanceLike,
  options: FastifyIdempotencyOptions<Request>,
): Promise<void> {
  // `register` adds its own options to the plugin's.
  const names = { ...wireNames, ichido: true, prefix: true, logLevel: true, logSerializers: true } as const;
  knownOptions("the plugin", options, names);
  engineOption(options.ichido);
  const limits = bodyLimitsOf(options);
  const guards = new WeakMap<object, NodeGuard<Request>>();

  function guardOf(config: unknown, mountedFor?: readonly string[]): NodeGuard<Request> | undefined {
    const route = routeOptionsOf<Request>(config);
    if (route === undefined) return undefined;
    const guard = guards.get(route) ?? createNodeGuard(options.ichido, route, options, mountedFor);
    guards.set(route, guard);
    return guard;
  }

  if (!app.hasRequestDecorator("idempotency")) app.decorateRequest("idempotency", null);
  addSendHook(app);
  // A bad option stops the start, not the first request.
  app.addHook("onRoute", ({ config, method }) => {
    checkConfig(config);
    guardOf(config, [method].flat());
  });
  app.addHook("preParsing", async (request) => {
    if (guardOf(request.routeOptions.config) !== undefined) captureBytes(request.raw, limits);
  });
  app.addHook("preHandler", async (request, reply) => {
    const guard = guardOf(request.routeOptions.config);
    if (guard === undefined || reply.sent) return undefined;
    if (request.body !== undefined) request.raw.body ??= request.body;
    const verdict = await guard.guard(request.raw, reply.raw, request as Request);
    if (verdict.kind === "answer") {
      if (verdict.response !== undefined) answerOnReply(reply, verdict.response);
      // A dead connection: no answer is sent, and the handler must not run.
      if (!reply.sent) reply.hijack();
      return reply;
    }
    if (verdict.kind === "run") {
      const { execution } = verdict;
      request.idempotency = execution.context;
      execution.presenter = { present: (answer) => presentOnReply(reply, answer) };
      captureReply(reply, verdict);
    }
    return undefined;
  });
}

/** Fastify's own marks: hooks reach the registering scope, and the plugin has a name in its messages. */
export const idempotency: typeof plugin = Object.assign(plugin, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "ichido",
});

/** Fastify has `RouteOptions` of its own. */
type IdempotencyOptions<Request> = RouteOptions<Request>;

/**
 * What a program that uses Fastify sees on Fastify's types. Fastify is not imported; where it is not installed, this
 * has no effect.
 */
/** @ts-ignore */
declare module "fastify" {
  interface FastifyRequest {
    /** Null where the request is not protected. */
    readonly idempotency: Context | null;
  }
  interface FastifyContextConfig {
    idempotency?: IdempotencyOptions<FastifyRequest>;
  }
}
