/** The harness's application on plain `node:http`, and as a `(Request) => Response` handler. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { idempotent as idempotentFetch } from "ichido/fetch";
import { idempotent } from "ichido/node";
import type { AdapterSubject, Harness, HarnessAnswer, HarnessOptions, RunningApp } from "ichido/testing";
import { createHarness } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { corsLines, listening, parseJson, pieces, streamOf } from "./answers.ts";
import { joinedLines } from "./hono-app.ts";
import { allLayers, changedResponse, layerInFront } from "./layers.ts";

type NodeWay = (response: ServerResponse, answer: HarnessAnswer) => unknown;

const nodeWays: Readonly<Record<string, NodeWay>> = {
  send: (response, { body }) => response.end(body),
  write(response, { body }) {
    for (const piece of pieces(body)) response.write(piece);
    response.end();
  },
  writeHead(response, { status, headers, body }) {
    for (const [name] of headers) response.removeHeader(name);
    response.writeHead(status, headers.flat());
    response.end(body);
  },
  async chunks(response, { body }) {
    for (const piece of pieces(body)) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  },
  void(response) {
    response.removeHeader("content-type");
    response.end();
  },
  async events(response, { events }) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for await (const event of events) response.write(event);
    response.end();
  },
  async flush(response, { events }) {
    response.flushHeaders();
    for await (const event of events) response.write(event);
    response.end();
  },
  hints: () => undefined,
  provided: () => undefined,
};

/** Which route a path belongs to. */
function routeNameOf(path: string): string | undefined {
  return new RegExp(`^${routePrefix}/([^/?]+)(?:/[^/?]+)?(?:\\?|$)`).exec(path)?.[1];
}

export async function startNode(options: HarnessOptions, serverOf = createServer): Promise<RunningApp> {
  const harness: Harness<IncomingMessage> = createHarness<IncomingMessage>(
    options,
    (request) => request.headers.authorization,
  );
  const routes = new Map(
    harness.routes.map((route) => [
      route.name,
      idempotent(
        harness.ichido,
        route.options,
        async (request, response, idempotency) => {
          const made = await harness.handle({
            method: request.method ?? "GET",
            target: request.url ?? "/",
            header: (name) => request.headers[name] as string | undefined,
            body: undefined,
            idempotency,
          });
          if (made.way === "provided") return;
          if (made.hints) response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
          response.statusCode = made.status;
          for (const [name, value] of made.headers) response.appendHeader(name, value);
          await nodeWays[made.way]?.(response, made);
        },
        { quietMs: 5_000 },
      ),
    ]),
  );
  const server = serverOf((request, response) => {
    layerInFront(harness, request, response, () => serve(request, response));
  });
  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { preflight, lines } = corsLines(harness, {
      method: request.method ?? "GET",
      origin: request.headers.origin,
    });
    for (const [name, value] of lines) response.setHeader(name, value);
    if (preflight) return void response.writeHead(204).end();
    response.setHeader("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(request.headers.authorization);
    const route = routes.get(routeNameOf(request.url ?? "/") ?? "");
    if (status !== 200 || route === undefined) return void response.writeHead(status === 200 ? 404 : status).end();
    // What a handler throws is answered by the adapter and thrown on; a program would log it.
    return void route(request, response).catch(() => undefined);
  }
  return listening(server, harness);
}

export async function startFetch(options: HarnessOptions): Promise<RunningApp> {
  const harness = createHarness<Request>(options, (request) => request.headers.get("authorization") ?? undefined);
  const routes = new Map(
    harness.routes.map((route) => [
      route.name,
      idempotentFetch(harness.ichido, route.options, async (request, idempotency) => {
        const url = new URL(request.url);
        const made = await harness.handle({
          method: request.method,
          target: url.pathname + url.search,
          header: (name) => request.headers.get(name) ?? undefined,
          body: undefined,
          idempotency,
        });
        if (made.way === "provided") return undefined;
        const headers = new Headers();
        for (const [name, value] of made.headers) headers.append(name, value);
        return fetchAnswer(made, headers);
      }),
    ]),
  );
  async function serve(request: Request): Promise<Response> {
    const status = harness.tokens.admit(request.headers.get("authorization") ?? undefined);
    if (status !== 200) return new Response(null, { status });
    const url = new URL(request.url);
    const route = routes.get(routeNameOf(url.pathname) ?? "");
    if (route === undefined) return new Response(null, { status: 404 });
    const type = request.headers.get("content-type") ?? undefined;
    if (Number(request.headers.get("content-length") ?? 0) > harness.jsonBytesMax && /json/i.test(type ?? "")) {
      return new Response(null, { status: 413 });
    }
    try {
      if (request.body !== null && !request.headers.has("content-encoding"))
        parseJson(type, new Uint8Array(await request.clone().arrayBuffer()));
    } catch {
      return new Response("bad JSON", { status: 400 });
    }
    try {
      return await route(request);
    } catch (error) {
      return new Response("error", { status: (error as { status?: number }).status ?? 500 });
    }
  }
  const listener = getRequestListener(async (request) => {
    const origin = request.headers.get("origin") ?? undefined;
    const { preflight, lines } = corsLines(harness, { method: request.method, origin });
    const response = preflight
      ? new Response(null, { status: 204 })
      : await changedResponse(harness, await serve(request));
    for (const [name, value] of lines) response.headers.set(name, value);
    response.headers.set("X-Request-Serial", harness.serial());
    return response;
  });
  return listening(
    createServer((request, response) => void listener(request, response)),
    harness,
  );
}

function fetchAnswer({ status, body, events, way, json }: HarnessAnswer, headers: Headers): Response {
  if (way === "events") return new Response(streamOf(events), { headers: { "content-type": "text/event-stream" } });
  if (way === "json") return Response.json(json, { status, headers });
  if (way === "chunks") return new Response(streamOf(pieces(body)), { status, headers });
  if (way === "void") headers.delete("content-type");
  const empty = way === "void" || status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : new Uint8Array(body), { status, headers });
}

export const nodeSubject: Pick<AdapterSubject, "start" | "ways" | "layers"> & {
  readonly skip: Record<string, string>;
} = {
  start: (options) => startNode(options),
  layers: allLayers,
  ways: Object.keys(nodeWays).filter((way) => way !== "send" && way !== "provided"),
  skip: {
    "E-01": "node:http has no parser in front of the handler that could refuse a body",
    "A16 thrown status": "node:http gives no meaning to the status of a thrown error",
  },
};

const outside = "what a handler throws becomes an answer outside of the wrapper, which cannot see it";

export const fetchSubject: Pick<AdapterSubject, "start" | "ways" | "layers" | "skip"> = {
  start: startFetch,
  layers: ["signature", "envelope"],
  ways: ["json", "chunks", "void", "events"],
  skip: { A22: joinedLines, "E-03 stripe": outside, "A16 thrown status": outside },
};
