/** One route that takes uploads, in every framework. The handler reads the body itself and tells what it got. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { Decider } from "ichido";
import * as onExpress from "ichido/express";
import * as onFastify from "ichido/fastify";
import * as onFetch from "ichido/fetch";
import * as onHono from "ichido/hono";
import * as onKoa from "ichido/koa";
import * as onNode from "ichido/node";
import Koa from "koa";

export interface Received {
  /** Grows with every run of the handler. */
  readonly serial: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface UploadSettings {
  readonly ichido: Decider<unknown>;
  readonly uploadBytesMax: number;
  /** Called in the handler before it reads. */
  readonly beforeRead?: (() => void | Promise<void>) | undefined;
  /** The handler answers without a look at the body. */
  readonly ignoresBody?: boolean | undefined;
  readonly enforce?: boolean | undefined;
}

export interface UploadApp {
  readonly port: number;
  /** Runs of the handler so far. */
  runs(): number;
  close(): Promise<void>;
}

type Listener = (
  settings: UploadSettings,
  receive: (body: AsyncIterable<Uint8Array> | null) => Promise<Received>,
) => http.RequestListener | Promise<http.RequestListener>;

const options = ({ enforce = true }: UploadSettings) => ({ operation: "upload", enforce });

const listeners = {
  express({ ichido, uploadBytesMax, ...rest }, receive) {
    const app = express();
    const protect = onExpress.idempotency(ichido, options({ ichido, uploadBytesMax, ...rest }), { uploadBytesMax });
    app.use(onExpress.captureBody({ uploadBytesMax }), express.json());
    app.post("/", protect, async (request, response) => void response.status(201).json(await receive(request)));
    return app;
  },
  /** As a parser that runs before us; what it made is what the handler has. */
  "express behind its parser"({ ichido, uploadBytesMax, ...rest }, receive) {
    const app = express();
    const protect = onExpress.idempotency(ichido, options({ ichido, uploadBytesMax, ...rest }));
    app.use(onExpress.captureBody({ uploadBytesMax }));
    app.use(async (request, _response, next) => {
      const parts: { bytes: number; hash: ReturnType<typeof createHash> } = { bytes: 0, hash: createHash("sha256") };
      for await (const chunk of request as AsyncIterable<Buffer>) {
        parts.bytes += chunk.length;
        parts.hash.update(chunk);
      }
      request.body = { bytes: parts.bytes, sha256: parts.hash.digest("hex") };
      next();
    });
    app.post("/", protect, async (request, response) => {
      const { serial } = await receive(null);
      response.status(201).json({ ...(request.body as object), serial });
    });
    return app;
  },
  koa({ ichido, uploadBytesMax, ...rest }, receive) {
    const app = new Koa();
    app.silent = true;
    app.use(onKoa.captureBody({ uploadBytesMax }));
    app.use(onKoa.idempotency<Koa.Context>(ichido, options({ ichido, uploadBytesMax, ...rest }), { uploadBytesMax }));
    app.use(async (ctx) => {
      ctx.body = await receive(ctx.req);
      ctx.status = 201;
    });
    const listener = app.callback();
    return (request, response) => void listener(request, response);
  },
  node({ ichido, uploadBytesMax, ...rest }, receive) {
    const handler = onNode.idempotent(
      ichido,
      options({ ichido, uploadBytesMax, ...rest }),
      async (request, response) => void response.writeHead(201).end(JSON.stringify(await receive(request))),
      { uploadBytesMax },
    );
    return (request, response) => void handler(request, response);
  },
  async fastify({ ichido, uploadBytesMax, ...rest }, receive) {
    const app = fastify();
    await app.register(onFastify.idempotency, { ichido, uploadBytesMax });
    // As its own multipart plugin does: the stream is left for the handler.
    app.addContentTypeParser("multipart/form-data", (_request, _payload, done) => done(null));
    const config = { idempotency: options({ ichido, uploadBytesMax, ...rest }) } as object;
    app.post("/", { config }, async (request, reply) => reply.code(201).send(await receive(request.raw)));
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
  hono({ ichido, uploadBytesMax, ...rest }, receive) {
    const app = new Hono<{ Variables: onHono.IdempotencyVariables }>();
    const protect = onHono.idempotency(ichido, options({ ichido, uploadBytesMax, ...rest }), { uploadBytesMax });
    app.post("/", protect, async (c) => c.json({ ...(await receive(c.req.raw.body)) }, 201));
    const listener = getRequestListener(app.fetch);
    return (request, response) => void listener(request, response);
  },
  fetch({ ichido, uploadBytesMax, ...rest }, receive) {
    const handler = onFetch.idempotent(
      ichido,
      options({ ichido, uploadBytesMax, ...rest }),
      async (request) => Response.json(await receive(request.body), { status: 201 }),
      { uploadBytesMax },
    );
    const listener = getRequestListener((request) => handler(request));
    return (request, response) => void listener(request, response);
  },
} satisfies Readonly<Record<string, Listener>>;

export type UploadFramework = keyof typeof listeners;
export const uploadFrameworks = Object.keys(listeners) as UploadFramework[];

export async function startUploads(framework: UploadFramework, settings: UploadSettings): Promise<UploadApp> {
  let serial = 0;
  async function receive(body: AsyncIterable<Uint8Array> | null): Promise<Received> {
    serial += 1;
    const own = serial;
    await settings.beforeRead?.();
    const hash = createHash("sha256");
    let bytes = 0;
    if (settings.ignoresBody !== true && body !== null) {
      for await (const chunk of body) {
        bytes += chunk.length;
        hash.update(chunk);
      }
    }
    return { serial: own, bytes, sha256: hash.digest("hex") };
  }
  const listen: Listener = listeners[framework];
  const server = http.createServer(await listen(settings, receive)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    runs: () => serial,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** A multipart body as clients make it, with a boundary of its own. */
export function formOf(parts: readonly (readonly [name: string, content: string | Buffer])[]): {
  readonly content: Buffer;
  readonly type: string;
} {
  const boundary = `----form${Math.random().toString(36).slice(2)}`;
  const pieces = parts.flatMap(([name, content]) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${typeof content === "string" ? "" : '; filename="a.bin"\r\nContent-Type: application/octet-stream'}\r\n\r\n`,
    content,
    "\r\n",
  ]);
  const all = [...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string));
  return { content: Buffer.concat(all), type: `multipart/form-data; boundary=${boundary}` };
}
