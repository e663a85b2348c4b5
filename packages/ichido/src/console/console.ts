/**
 * `ichido/console`: one handler, mounted in any framework under any prefix.
 *
 *     app.use("/console", console(ichido, { authorize }));                               Express, Nest
 *     createServer(console(ichido, { authorize, at: "/console" }));                      node:http
 *     app.register(console(ichido, { authorize }).fastify, { prefix: "/console" });      Fastify
 *     app.use(console(ichido, { authorize, at: "/console" }).koa);                       Koa
 *     app.all("/console/*", console(ichido, { authorize }).hono);                        Hono
 *     (request) => console(ichido, { authorize, at: "/console" }).fetch(request);        whatever speaks fetch
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createParts } from "./create-parts.ts";
import type { FastifyLike, HonoContextLike, KoaContextLike, NodeHandler } from "./frameworks.ts";
import { handle } from "./handler.ts";
import { nodeIncoming, sendResponse, type NodeIncoming, type NodeMounting } from "./node-mount.ts";
import type { ConsoleEngine, ConsoleOptions } from "./options.ts";
import { webIncoming } from "./web-mount.ts";

export interface Console extends NodeHandler {
  /** `native`: what `authorize` gets; default the request itself. */
  readonly fetch: (request: Request, native?: unknown) => Promise<Response>;
  readonly hono: (c: HonoContextLike) => Promise<Response>;
  readonly fastify: (app: FastifyLike) => Promise<void>;
  readonly koa: (ctx: KoaContextLike, next: () => Promise<unknown>) => Promise<void>;
  /**
   * Stops counting, and ends the streams of Live, which would keep a server from closing: call it before that. The engine
   * and its store are yours.
   */
  readonly close: () => void;
}

function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(500).end();
}

const absent = (response: ServerResponse) => (): unknown => response.writeHead(404).end();

export function console<Native = unknown>(ichido: ConsoleEngine, options: ConsoleOptions<Native> = {}): Console {
  const parts = createParts(ichido, options);
  const { at } = parts.settings;

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    mounting: NodeMounting,
    pass: () => unknown,
  ): Promise<void> {
    const answer = await handle(parts, nodeIncoming(request, mounting));
    if (answer === undefined) await pass();
    else await sendResponse(response, answer, request.method ?? "GET");
  }

  async function serveNext(given: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) {
    const request: NodeIncoming = given;
    const { url = "/", body: parsed } = request;
    const { originalUrl = url } = request;
    // What Express and its like strip is not in `url` any more.
    const mounting = { native: request, mount: originalUrl === url ? at : "", url, originalUrl, parsed };
    try {
      await serve(request, response, mounting, next ?? absent(response));
    } catch (error) {
      if (next === undefined || response.headersSent) fail(response);
      else next(error);
    }
  }

  const middleware: NodeHandler = (request, response, next) => void serveNext(request, response, next);

  async function fetch(request: Request, native: unknown, mount: string): Promise<Response> {
    return (await handle(parts, webIncoming(request, native, mount))) ?? new Response("", { status: 404 });
  }

  return Object.assign(middleware, {
    fetch: (request: Request, native: unknown = request) => fetch(request, native, at),
    hono(c: HonoContextLike) {
      const { raw, routePath = "" } = c.req;
      return fetch(raw, c, at === "" ? routePath.replace(/\/\*?$/, "") : at);
    },
    async fastify(app: FastifyLike) {
      const mount = at === "" ? app.prefix.replace(/\/$/, "") : at;
      const answer: Parameters<FastifyLike["all"]>[1] = async (request, reply) => {
        const { raw, url, body: parsed } = request;
        // Answered on Node's own response: a stream of hours is not Fastify's to send.
        reply.hijack();
        const mounting = { native: request, mount, url, originalUrl: url, parsed };
        await serve(raw, reply.raw, mounting, absent(reply.raw)).catch(() => fail(reply.raw));
      };
      app.all("/", answer);
      app.all("/*", answer);
    },
    async koa(ctx: KoaContextLike, next: () => Promise<unknown>) {
      const { url, originalUrl } = ctx;
      const { body: parsed } = ctx.request as { readonly body?: unknown };
      const mounting = { native: ctx, mount: originalUrl === url ? at : "", url, originalUrl, parsed };
      let isPassed = false;
      await serve(ctx.req, ctx.res, mounting, () => {
        isPassed = true;
        return next();
      });
      if (!isPassed) ctx.respond = false;
    },
    close: () => parts.close(),
  });
}
