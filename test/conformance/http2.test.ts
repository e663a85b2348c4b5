/** HTTP/2 by clients that speak it themselves: in clear text, over TLS, and beside HTTP/1.1 on one port. */
import { once } from "node:events";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import * as http2 from "node:http2";
import * as https from "node:https";
import { connect as netConnect, type AddressInfo, type Socket } from "node:net";
import { Readable } from "node:stream";
import { connect as tlsConnect, type ConnectionOptions, type TlsOptions } from "node:tls";
import fastify from "fastify";
import Koa from "koa";
import { createIchido, type Context, type IchidoOptions } from "ichido";
import { idempotency as onFastify } from "ichido/fastify";
import { idempotency as onKoa } from "ichido/koa";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "./wire.ts";

/** A key shared beforehand: TLS without a certificate to keep in the repository. */
const psk = { ciphers: "PSK-AES128-GCM-SHA256", maxVersion: "TLSv1.2" } as const;
const secret = Buffer.from("0123456789abcdef");
const serverTls: TlsOptions = { ...psk, pskCallback: () => secret };
const clientTls: ConnectionOptions = {
  ...psk,
  pskCallback: () => ({ psk: secret, identity: "test" }),
  checkServerIdentity: () => undefined,
};

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

type Transport = "clear" | "tls" | "tls with HTTP/1.1";
const tlsOf = (transport: Transport): http2.SecureServerOptions => ({
  ...serverTls,
  allowHTTP1: transport === "tls with HTTP/1.1",
});

/** What the one route does; it writes on Node's own response. */
type Handler = (request: IncomingMessage, response: ServerResponse, context: Context | undefined) => unknown;

async function listen(server: http2.Http2Server | http2.Http2SecureServer | Server): Promise<number> {
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session: http2.ServerHttp2Session) => sessions.add(session));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function serverOf(transport: Transport, listener: RequestListener): http2.Http2Server | http2.Http2SecureServer {
  return transport === "clear"
    ? http2.createServer(listener as never)
    : http2.createSecureServer(tlsOf(transport), listener as never);
}

const operation = "http2.try";
const options = {
  scope: () => ({ principal: "p" }),
  onUnknown: "rerun",
  sweepMs: "off",
  bodyBytesMax: 1_000,
} as const satisfies Partial<IchidoOptions<never>>;

const frameworks: Readonly<Record<string, (transport: Transport, handler: Handler) => Promise<number>>> = {
  node(transport, handler) {
    const ichido = createIchido<http2.Http2ServerRequest>({ store: memoryStore(), ...options });
    const listener = idempotent<http2.Http2ServerRequest, http2.Http2ServerResponse>(
      ichido,
      { operation },
      (request, response, context) => handler(request as never, response as never, context),
    );
    return listen(serverOf(transport, listener as never));
  },
  koa(transport, handler) {
    const ichido = createIchido<Koa.Context>({ store: memoryStore(), ...options });
    const app = new Koa();
    app.silent = true;
    app.use(onKoa(ichido, { operation }));
    app.use(async (ctx) => {
      ctx.respond = false;
      ctx.res.statusCode = 200;
      await handler(ctx.req, ctx.res, ctx.state["idempotency"] as Context);
    });
    const listener = app.callback();
    return listen(serverOf(transport, (request, response) => void listener(request, response)));
  },
  async fastify(transport, handler) {
    const ichido = createIchido<never>({ store: memoryStore(), ...options });
    const app = fastify({ http2: true, ...(transport === "clear" ? {} : { https: tlsOf(transport) }) } as object);
    app.addContentTypeParser("*", (_request, payload, done) => {
      payload.resume();
      payload.on("end", () => done(null, undefined));
    });
    await app.register(onFastify, { ichido } as never);
    app.post("/", { config: { idempotency: { operation } } }, async (request, reply) => {
      reply.hijack();
      await handler(request.raw, reply.raw, (request as { idempotency?: Context }).idempotency);
      return reply;
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    open.push(() => app.close());
    return (app.server.address() as AddressInfo).port;
  },
};

function connect(port: number, transport: Transport, onSocket?: (socket: Socket) => void): http2.ClientHttp2Session {
  const socket =
    transport === "clear"
      ? netConnect(port, "127.0.0.1")
      : tlsConnect({ ...clientTls, port, host: "127.0.0.1", ALPNProtocols: ["h2"] });
  onSocket?.(socket);
  const session = http2.connect(`${transport === "clear" ? "http" : "https"}://127.0.0.1:${port}`, {
    createConnection: () => socket,
  });
  session.on("error", () => undefined);
  open.push(() => session.destroy());
  return session;
}

interface Reply {
  readonly status: number | undefined;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: string;
}

const headersFor = (key: string): http2.OutgoingHttpHeaders => ({
  ":method": "POST",
  ":path": "/",
  "idempotency-key": key,
  "content-type": "text/plain",
});

/** Without `Content-Length`, as HTTP/2 allows. */
async function ask(session: http2.ClientHttp2Session, key: string, content: string): Promise<Reply> {
  const stream = session.request(headersFor(key));
  stream.end(content);
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders & { ":status"?: number }];
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { status: headers[":status"], headers, body: Buffer.concat(chunks).toString() };
}

for (const [framework, start] of Object.entries(frameworks)) {
  describe.each(["clear", "tls", "tls with HTTP/1.1"] as const)(`${framework} over HTTP/2, %s`, (transport) => {
    it("K-02 a first answer, its replay, and a mismatch of bodies without a length", async () => {
      let runs = 0;
      const port = await start(transport, (_request, response) => {
        runs += 1;
        response.statusCode = 201;
        response.setHeader("location", `/things/${runs}`);
        response.end(`made ${runs}`);
      });
      const session = connect(port, transport);
      const first = await ask(session, "key-1", "one");
      expect(first).toMatchObject({ status: 201, body: "made 1", headers: { location: "/things/1" } });
      const again = await ask(session, "key-1", "one");
      expect(again).toMatchObject({ status: 201, body: "made 1", headers: { location: "/things/1" } });
      expect(again.headers["idempotency-replayed"]).toBe("true");
      expect(await ask(session, "key-1", "two")).toMatchObject({ status: 422 });
      expect(runs).toBe(1);
    });

    it("while an answer is held its head counts as sent, and no header can be changed", async () => {
      const seen: unknown[] = [];
      const port = await start(transport, (_request, response) => {
        response.setHeader("x-own", "1");
        response.setHeader("keep-alive", "timeout=5");
        response.write("part");
        seen.push(response.headersSent, response.writableEnded);
        try {
          response.setHeader("x-late", "1");
        } catch (error) {
          seen.push((error as NodeJS.ErrnoException).code);
        }
        response.end(", whole");
        seen.push(response.writableEnded);
      });
      const session = connect(port, transport);
      const first = await ask(session, "key-1", "one");
      expect(first).toMatchObject({ status: 200, body: "part, whole", headers: { "x-own": "1" } });
      expect(first.headers).not.toHaveProperty("x-late");
      expect(seen).toEqual([true, false, "ERR_HTTP2_HEADERS_SENT", true]);
      expect(await ask(session, "key-1", "one")).toMatchObject({ body: "part, whole" });
    });

    it("an answer past the cap goes live, and a retry is told so", async () => {
      let runs = 0;
      const port = await start(transport, async (_request, response) => {
        runs += 1;
        response.writeHead(200, { "content-type": "text/plain" });
        for (let index = 0; index < 20; index += 1) response.write("x".repeat(100));
        response.end("end");
      });
      const session = connect(port, transport);
      const first = await ask(session, "key-1", "one");
      expect(first.body).toBe(`${"x".repeat(2_000)}end`);
      expect(JSON.parse((await ask(session, "key-1", "one")).body)).toMatchObject({ code: "response-not-stored" });
      expect(runs).toBe(1);
    });

    it("a client that gives its stream up does not stop the recording, nor other streams", async () => {
      const gate = Promise.withResolvers<void>();
      const events: string[] = [];
      let runs = 0;
      const port = await start(transport, async (request, response) => {
        runs += 1;
        if (request.headers["idempotency-key"] === "key-1") {
          for (const event of ["close", "finish"]) response.on(event, () => events.push(event));
          response.write("half, ");
          await gate.promise;
          events.push("written");
        }
        response.end("whole");
      });
      const session = connect(port, transport);
      const stream = session.request(headersFor("key-1"));
      stream.on("error", () => undefined);
      stream.end("one");
      await until("the handler to run", () => runs === 1);
      stream.close(http2.constants.NGHTTP2_CANCEL);
      await once(stream, "close");
      expect(await ask(session, "key-2", "one")).toMatchObject({ body: "whole" });
      gate.resolve();
      let retry = await ask(session, "key-1", "one");
      await until("the answer to be recorded", async () => {
        retry = await ask(session, "key-1", "one");
        return retry.status === 200;
      });
      expect(retry).toMatchObject({ body: "half, whole", headers: { "idempotency-replayed": "true" } });
      expect(runs).toBe(2);
      expect(events[0]).toBe("written");
    });

    it("E-01 a body that was cut off claims nothing: the same key runs with what is sent next", async () => {
      let runs = 0;
      const port = await start(transport, (_request, response) => {
        runs += 1;
        response.end("whole");
      });
      const sockets: Socket[] = [];
      const gone = connect(port, transport, (socket) => sockets.push(socket));
      const cut = gone.request({ ...headersFor("key-1") });
      cut.on("error", () => undefined);
      cut.write("on");
      await ask(gone, "key-2", "beside it");
      // Closing the stream would end its body properly.
      sockets[0]?.destroy();
      await once(gone, "close");
      const session = connect(port, transport);
      await ask(session, "key-3", "behind it");
      expect(runs).toBe(2);
      expect(await ask(session, "key-1", "one")).toMatchObject({ status: 200, body: "whole" });
      expect(runs).toBe(3);
    });

    it("what the context answers is sent whole", async () => {
      const port = await start(transport, async (_request, _response, context) => {
        await context?.unknown({ status: 202, body: { state: "open" } });
      });
      const first = await ask(connect(port, transport), "key-1", "one");
      expect(first).toMatchObject({ status: 202, body: '{"state":"open"}' });
    });

    it.runIf(transport === "tls with HTTP/1.1")("HTTP/1.1 and HTTP/2 share their keys on one port", async () => {
      let runs = 0;
      const port = await start(transport, (_request, response) => {
        runs += 1;
        response.end(`made ${runs}`);
      });
      const request = https.request({
        ...clientTls,
        port,
        host: "127.0.0.1",
        method: "POST",
        agent: false,
        headers: { "idempotency-key": "key-1", "content-type": "text/plain" },
      });
      request.end("one");
      const [response] = (await once(request, "response")) as [IncomingMessage];
      expect([response.httpVersion, response.statusCode]).toEqual(["1.1", 200]);
      response.resume();
      const again = await ask(connect(port, transport), "key-1", "one");
      expect(again).toMatchObject({ body: "made 1", headers: { "idempotency-replayed": "true" } });
    });
  });
}

it("K-02 an empty body that ended while a layer in front was waiting is no body that is still on its way", async () => {
  const ichido = createIchido<http2.Http2ServerRequest>({ store: memoryStore(), ...options });
  const listener = idempotent<http2.Http2ServerRequest, http2.Http2ServerResponse>(
    ichido,
    { operation },
    (_request, response) => void response.end("made"),
  );
  const port = await listen(
    http2.createServer((request, response) => void setTimeout(() => void listener(request, response), 50)),
  );
  const session = connect(port, "clear");
  expect(await ask(session, "key-1", "")).toMatchObject({ status: 200, body: "made" });
  expect((await ask(session, "key-1", "")).headers["idempotency-replayed"]).toBe("true");
});

/** Gateways pass on the lines of a server that speaks HTTP/1.1. */
const hopByHop = { "transfer-encoding": "chunked", "keep-alive": "timeout=5" };
const passOn: Readonly<Record<string, () => Promise<number>>> = {
  async fastify() {
    const app = fastify({ http2: true });
    app.addContentTypeParser("text/plain", { parseAs: "string" }, (_request, body, done) => done(null, body));
    await app.register(onFastify, { ichido: createIchido({ store: memoryStore(), ...options }) } as never);
    app.post("/", { config: { idempotency: { operation } } }, (_request, reply) =>
      reply.headers(hopByHop).send(Readable.from([Buffer.from("passed on")])),
    );
    await app.listen({ port: 0, host: "127.0.0.1" });
    open.push(() => app.close());
    return (app.server.address() as AddressInfo).port;
  },
  koa() {
    const ichido = createIchido<Koa.Context>({ store: memoryStore(), ...options });
    const app = new Koa().use(onKoa(ichido, { operation })).use((ctx) => {
      ctx.set(hopByHop);
      ctx.body = Readable.from([Buffer.from("passed on")]);
    });
    const listener = app.callback();
    return listen(serverOf("clear", (request, response) => void listener(request, response)));
  },
};

it.each(Object.entries(passOn))("R-02 %s: lines of HTTP/1.1 connections are dropped", async (_, start) => {
  const session = connect(await start(), "clear");
  for (const replayed of [undefined, "true"]) {
    const { status, headers, body } = await ask(session, "k", "x");
    expect([status, headers["idempotency-replayed"], body]).toEqual([200, replayed, "passed on"]);
  }
});
