/** The harness's application in Hono, on Node. */
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { stream, streamSSE } from "hono/streaming";
import { idempotency, type IdempotencyVariables } from "ichido/hono";
import type { AdapterSubject, HarnessAnswer, HarnessOptions, RunningApp } from "ichido/testing";
import { createHarness } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { listening, parseJson, pieces, streamOf } from "./answers.ts";
import { allLayers, changedResponse } from "./layers.ts";

type Env = { Variables: IdempotencyVariables };
type Ctx = Context<Env>;
type Way = (c: Ctx, answer: HarnessAnswer, headers: Headers) => Response;

const bytes = (body: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(body);

/** Every way in which Hono applications make answers. */
const ways: Readonly<Record<string, Way>> = {
  send: (_c, { status, body }, headers) => new Response(noContent(status) ? null : bytes(body), { status, headers }),
  json: (c, { status, json }, headers) => {
    for (const [name, value] of headers) c.header(name, value);
    return c.json(json as never, status as never);
  },
  chunks: (_c, { status, body }, headers) => new Response(streamOf(pieces(body)), { status, headers }),
  "stream()": (c, { status, body }, headers) => {
    c.status(status as never);
    for (const [name, value] of headers) c.header(name, value);
    return stream(c, async (out) => {
      for (const piece of pieces(body)) await out.write(piece);
    });
  },
  void: (_c, { status }, headers) => {
    headers.delete("content-type");
    return new Response(null, { status, headers });
  },
  events: (_c, { events }) => new Response(streamOf(events), { headers: { "content-type": "text/event-stream" } }),
  "events by streamSSE()": (c, { events }) =>
    streamSSE(c, async (out) => {
      for await (const event of events) await out.write(event);
    }),
};

function noContent(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

export function webWays(): readonly string[] {
  return Object.keys(ways).filter((way) => way !== "send");
}

export async function startHono(options: HarnessOptions): Promise<RunningApp> {
  const harness = createHarness<Ctx>(options, (c) => c.req.header("authorization"));
  const app = new Hono<Env>();
  if (harness.layer === "compression") app.use(compress({ threshold: 0 }));
  else if (harness.layer !== undefined) {
    app.use(async (c, next) => {
      await next();
      c.res = await changedResponse(harness, c.res);
    });
  }
  const { origins, allow, expose } = harness.cors;
  app.use(cors({ origin: [...origins], allowHeaders: allow.split(", "), exposeHeaders: expose.split(", ") }));
  app.use(async (c, next) => {
    c.header("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(c.req.header("authorization"));
    if (status !== 200) return c.json({ error: "refused by an outer layer" }, status as never);
    await next();
    return undefined;
  });
  app.use(bodyLimit({ maxSize: harness.jsonBytesMax }));
  app.use(async (c, next) => {
    const type = c.req.header("content-type");
    try {
      const plain = c.req.header("content-encoding") === undefined;
      const safe = c.req.method === "GET" || c.req.method === "HEAD";
      if (plain && !safe) parseJson(type, new Uint8Array(await c.req.arrayBuffer()));
    } catch {
      return c.json({ error: "bad JSON" }, 400);
    }
    await next();
    return undefined;
  });
  const api = new Hono<Env>();
  for (const route of harness.routes) {
    const protect = idempotency<Ctx>(harness.ichido, route.options);
    for (const path of route.paths) {
      api.all(path, protect, async (c) => {
        const url = new URL(c.req.url);
        const made = await harness.handle({
          method: c.req.method,
          target: url.pathname + url.search,
          header: (name) => c.req.header(name),
          body: undefined,
          idempotency: c.var.idempotency,
        });
        const headers = new Headers();
        for (const [name, value] of made.headers) headers.append(name, value);
        return (ways[made.way] ?? ways["send"] ?? never)(c, made, headers);
      });
    }
  }
  app.onError((error, c) => c.json({ error: error.message }, ((error as { status?: number }).status ?? 500) as never));
  app.route(routePrefix, api);
  const listener = getRequestListener(app.fetch);
  return listening(
    createServer((request, response) => void listener(request, response)),
    harness,
  );
}

function never(): Response {
  throw new Error("there is no such way");
}

export const joinedLines = "`Headers` joins repeated lines before an adapter can see them";

export const honoSubject: Pick<AdapterSubject, "start" | "ways" | "layers" | "skip"> = {
  start: startHono,
  layers: allLayers,
  ways: webWays(),
  skip: { A22: joinedLines },
};
