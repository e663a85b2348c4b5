/** The harness's application in Express, for both versions of it. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import cors from "cors";
import express from "express";
import express4 from "express4";
import { captureBody, idempotency } from "ichido/express";
import type { AdapterSubject, Harness, HarnessAnswer, HarnessOptions, RunningApp } from "ichido/testing";
import { createHarness } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { pieces } from "./answers.ts";
import { allLayers, layerInFront } from "./layers.ts";

type Express = typeof express;
type Way = (response: express.Response, answer: HarnessAnswer) => void | Promise<void>;

export const frameworks: Readonly<Record<string, Express>> = { "express 4": express4, "express 5": express };

/** Every way in which Express applications write answers. Status and headers are set, unless the way sets them itself. */
const ways: Readonly<Record<string, Way>> = {
  send: (response, { body }) => void response.send(Buffer.from(body)),
  json: (response, { json }) => void response.json(json),
  end: (response, { body }) => void response.end(body),
  write(response, { body }) {
    for (const piece of pieces(body)) response.write(piece);
    response.end();
  },
  writeHead(response, { status, headers, body }) {
    for (const name of response.getHeaderNames()) {
      if (headers.some(([each]) => each.toLowerCase() === name)) response.removeHeader(name);
    }
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
  pipe: (response, { body }) => void Readable.from(pieces(body)).pipe(response),
  pipeline: (response, { body }) => pipeline(Readable.from(pieces(body)), response),
  "web stream": (response, { body }) => pipeline(new Blob([Buffer.from(body)]).stream(), response),
  file: (response, answer) => withFile(response, answer, (path) => response.sendFile(path, { lastModified: false })),
  download: (response, answer) =>
    withFile(response, answer, (path) => response.download(path, "file.bin", { lastModified: false })),
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
  /** The context has answered already. */
  provided: () => undefined,
};

function withFile(response: express.Response, { body }: HarnessAnswer, send: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "ichido-file-"));
  const path = join(folder, "answer.bin");
  writeFileSync(path, body);
  response.on("close", () => rmSync(folder, { recursive: true, force: true }));
  send(path);
}

async function answer(
  harness: Harness<express.Request>,
  request: express.Request,
  response: express.Response,
): Promise<void> {
  const made = await harness.handle({
    method: request.method,
    target: request.originalUrl,
    header: (name) => request.get(name),
    body: request.body as unknown,
    idempotency: request.idempotency,
  });
  if (made.way !== "provided") {
    if (made.hints) response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
    response.status(made.status);
    for (const [name, value] of made.headers) response.appendHeader(name, value);
  }
  await ways[made.way]?.(response, made);
}

async function answerOrPass(
  harness: Harness<express.Request>,
  request: express.Request,
  response: express.Response,
  next: express.NextFunction,
): Promise<void> {
  try {
    await answer(harness, request, response);
  } catch (error) {
    next(error);
  }
}

function application(framework: Express, harness: Harness<express.Request>): express.Express {
  const app = framework();
  app.use((request, response, next) => layerInFront(harness, request, response, next));
  const { origins, allow, expose } = harness.cors;
  app.use(cors({ origin: [...origins], allowedHeaders: allow, exposedHeaders: expose }));
  app.use((request, response, next) => {
    response.setHeader("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(request.headers.authorization);
    if (status === 200) next();
    else response.status(status).json({ error: "refused by an outer layer" });
  });
  if (harness.bodies === "captured") app.use(captureBody());
  app.use(framework.json({ limit: harness.jsonBytesMax }));
  const router = framework.Router();
  for (const { paths, options } of harness.routes) {
    const protect = idempotency(harness.ichido, options, { quietMs: 5_000 });
    for (const path of paths) {
      // Express 4 does not look at the promise of a handler.
      router.all(path, protect, (request, response, next) => void answerOrPass(harness, request, response, next));
    }
  }
  app.use(routePrefix, router);
  return app;
}

export async function startExpress(framework: Express, options: HarnessOptions): Promise<RunningApp> {
  const harness = createHarness<express.Request>(options, (request) => request.headers.authorization);
  const server = http.createServer(application(framework, harness)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    harness: harness as unknown as Harness<never>,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export function expressSubject(name: string): Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies"> {
  const framework = frameworks[name];
  if (framework === undefined) throw new Error(`there is no framework ${name}`);
  return {
    start: (options) => startExpress(framework, options),
    ways: Object.keys(ways).filter((way) => way !== "send" && way !== "provided"),
    layers: allLayers,
    parsedBodies: true,
  };
}
