/** Layers that Express applications put around a protected handler, before and after it. */
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import compression from "compression";
import express from "express";
import { createIchido, IchidoError, type Ichido, type IchidoOptions } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { frameworks } from "./express-app.ts";
import { ask, connect, until, type Reply } from "./wire.ts";

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function engine(options: Partial<IchidoOptions<express.Request>> = {}): Ichido<express.Request> {
  const ichido = createIchido<express.Request>({
    store: memoryStore(),
    scope: () => ({ principal: "alice" }),
    onUnknown: "rerun",
    ...options,
  } as IchidoOptions<express.Request>);
  open.push(() => ichido.close());
  return ichido;
}

async function listen(app: express.Express): Promise<number> {
  const server = http.createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return (server.address() as AddressInfo).port;
}

let serial = 0;
function freshKey(): string {
  serial += 1;
  return `layer-${serial}-${Math.random()}`;
}

interface Request {
  readonly key?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly path?: string;
  readonly content?: string;
  /** Default: a connection of its own, closed after the answer. */
  readonly agent?: http.Agent;
}

function post(port: number, { key = freshKey(), headers = {}, ...rest }: Request = {}): Promise<Reply> {
  return ask(port, {
    content: "{}",
    ...rest,
    headers: { "idempotency-key": key, "content-type": "application/json", ...headers },
  });
}

const isReplay = (reply: Reply): boolean => reply.headers["idempotency-replayed"] === "true";

for (const [name, framework] of Object.entries(frameworks)) {
  describe(name, () => {
    describe("A26 compression", () => {
      const text = JSON.stringify({ text: "x".repeat(5_000) });
      const gzip = { "accept-encoding": "gzip" };

      it("A26 mounted before works on first answers and on replays, by what each caller accepts", async () => {
        const app = framework();
        let runs = 0;
        app.use(compression());
        app.post("/", idempotency(engine(), { operation: "a" }), (_request, response) => {
          runs += 1;
          response.type("json").send(text);
        });
        const port = await listen(app);
        const key = freshKey();
        const first = await post(port, { key, headers: gzip });
        const replay = await post(port, { key, headers: gzip });
        const plain = await post(port, { key, headers: { "accept-encoding": "identity" } });
        for (const reply of [first, replay]) {
          expect(reply.headers["content-encoding"]).toBe("gzip");
          expect(gunzipSync(reply.body).toString()).toBe(text);
        }
        expect([plain.headers["content-encoding"], plain.body.toString()]).toEqual([undefined, text]);
        expect([isReplay(first), isReplay(replay), isReplay(plain), runs]).toEqual([false, true, true, 1]);
      });

      it("A26 mounted after is captured encoded, and the replay is the same bytes, encoded once", async () => {
        const app = framework();
        let runs = 0;
        app.post("/", compression(), idempotency(engine(), { operation: "a" }), compression(), (_request, response) => {
          runs += 1;
          response.type("json");
          for (let index = 0; index < text.length; index += 500) response.write(text.slice(index, index + 500));
          response.end();
        });
        const port = await listen(app);
        const key = freshKey();
        const first = await post(port, { key, headers: gzip });
        const replay = await post(port, { key, headers: gzip });
        expect(gunzipSync(first.body).toString()).toBe(text);
        expect(replay.body.equals(first.body)).toBe(true);
        expect([first.headers["content-encoding"], replay.headers["content-encoding"], runs]).toEqual([
          "gzip",
          "gzip",
          1,
        ]);
      });

      it("A26 around a stream past the cap passes everything on", async () => {
        const app = framework();
        app.use(compression());
        app.post("/", idempotency(engine({ bodyBytesMax: 1_000 }), { operation: "a" }), (_request, response) => {
          let left = 200;
          const more = (): void => {
            while (left > 0) {
              left -= 1;
              if (!response.write("y".repeat(5_000))) return;
            }
            response.end();
          };
          response.on("drain", more);
          response.type("text");
          more();
        });
        const port = await listen(app);
        const key = freshKey();
        const first = await post(port, { key, headers: gzip });
        expect(gunzipSync(first.body).length).toBe(1_000_000);
        const retry = await post(port, { key, headers: gzip });
        expect([retry.status, (JSON.parse(retry.body.toString()) as { code: string }).code]).toEqual([
          409,
          "response-not-stored",
        ]);
      });
    });

    describe("E-03 errors", () => {
      function failing(handler: express.RequestHandler, ...more: express.ErrorRequestHandler[]): express.Express {
        const app = framework();
        app.use(captureBody(), framework.json());
        app.post("/", idempotency(engine(), { operation: "a" }), handler);
        for (const each of more) app.use(each);
        return app;
      }

      it("E-03 the answer of an error middleware is what is recorded", async () => {
        let runs = 0;
        const handler: express.RequestHandler = () => {
          runs += 1;
          throw Object.assign(new Error("no funds"), { status: 402 });
        };
        const middleware: express.ErrorRequestHandler = (
          error: { status: number; message: string },
          _request,
          response,
          _next,
        ) => {
          response.status(error.status).json({ error: error.message });
        };
        const port = await listen(failing(handler, middleware));
        const key = freshKey();
        const [first, replay] = [await post(port, { key }), await post(port, { key })];
        expect([first.status, first.body.toString(), isReplay(first)]).toEqual([402, '{"error":"no funds"}', false]);
        expect([replay.status, replay.body.toString(), isReplay(replay), runs]).toEqual([
          402,
          '{"error":"no funds"}',
          true,
          1,
        ]);
      });

      it("A16 a throw after the answer was given changes neither the answer nor the record", async () => {
        let runs = 0;
        const port = await listen(
          failing((_request, response) => {
            runs += 1;
            response.status(201).json({ runs });
            throw new Error("too late");
          }),
        );
        const key = freshKey();
        const [first, replay] = [await post(port, { key }), await post(port, { key })];
        expect([first.status, first.body.toString()]).toEqual([201, '{"runs":1}']);
        expect([replay.status, replay.body.toString(), isReplay(replay), runs]).toEqual([201, '{"runs":1}', true, 1]);
      });

      it("A16 a second answer after the first is an error for the handler alone", async () => {
        const caught: unknown[] = [];
        const port = await listen(
          failing((_request, response) => {
            response.status(201).json({ first: true });
            try {
              response.status(500).json({ second: true });
            } catch (error) {
              caught.push((error as { code: string }).code);
            }
          }),
        );
        const reply = await post(port);
        expect([reply.status, reply.body.toString(), caught]).toEqual([
          201,
          '{"first":true}',
          ["ERR_HTTP_HEADERS_SENT"],
        ]);
      });

      it("A16 an error handler that cuts the connection lets the next attempt run", async () => {
        let runs = 0;
        const handler: express.RequestHandler = (_request, response) => {
          runs += 1;
          if (runs > 1) return void response.status(201).json({ runs });
          throw new Error("broken");
        };
        const cut: express.ErrorRequestHandler = (_error, _request, response, _next) => void response.destroy();
        const port = await listen(failing(handler, cut));
        const key = freshKey();
        await expect(post(port, { key })).rejects.toThrow(/socket hang up|ECONNRESET/);
        expect((await post(port, { key })).status).toBe(201);
      });

      it("S-01 a scope that cannot be told is an error of the application, not an unhandled rejection", async () => {
        const app = framework();
        const scope = (): never => {
          throw new Error("no session");
        };
        app.post(
          "/",
          idempotency(engine({ scope }), { operation: "a" }),
          (_request, response) => void response.send("ran"),
        );
        const seen: string[] = [];
        const middleware: express.ErrorRequestHandler = (error: Error, _request, response, _next) => {
          seen.push(error.message);
          response.sendStatus(500);
        };
        app.use(middleware);
        expect((await post(await listen(app))).status).toBe(500);
        expect(seen).toEqual([expect.stringContaining("it threw Error: no session")]);
      });

      it("A28 a body that was read too early is an error that says what to mount", async () => {
        const app = framework();
        const consume: express.RequestHandler = (request, _response, next) => {
          request.on("end", next);
          request.resume();
        };
        app.post(
          "/",
          consume,
          idempotency(engine(), { operation: "a" }),
          (_request, response) => void response.send("ran"),
        );
        const errors: unknown[] = [];
        const middleware: express.ErrorRequestHandler = (error, _request, response, _next) => {
          errors.push(error);
          response.sendStatus(500);
        };
        app.use(middleware);
        expect((await post(await listen(app))).status).toBe(500);
        expect(errors).toEqual([expect.any(IchidoError)]);
        expect((errors[0] as IchidoError).code).toBe("body-unavailable");
      });
    });

    it("A13 the target is the one that the client sent, also below a mounted router", async () => {
      const app = framework();
      const router = framework.Router();
      router.post("/thing", idempotency(engine(), { operation: "a" }), (request, response) => {
        response.json({ url: request.originalUrl });
      });
      app.use("/one", router);
      app.use("/two", router);
      const port = await listen(app);
      const key = freshKey();
      expect((await post(port, { key, path: "/one/thing" })).status).toBe(200);
      expect((await post(port, { key, path: "/two/thing" })).status).toBe(422);
      expect(isReplay(await post(port, { key, path: "/one/thing" }))).toBe(true);
    });

    it("F-02 a handler that changes the parsed body changes nothing of what is compared", async () => {
      for (const capture of [true, false]) {
        const app = framework();
        if (capture) app.use(captureBody());
        app.use(framework.json());
        app.post("/", idempotency(engine(), { operation: "a" }), (request, response) => {
          (request.body as { amount: number }).amount = 7;
          response.json(request.body);
        });
        const port = await listen(app);
        const key = freshKey();
        const content = '{"amount":1}';
        expect(isReplay(await post(port, { key, content }))).toBe(false);
        expect(isReplay(await post(port, { key, content }))).toBe(true);
        expect((await post(port, { key, content: '{"amount":7}' })).status).toBe(422);
      }
    });

    it("F-12 a parser after the middleware reads the body as if nobody had", async () => {
      const app = framework();
      app.post(
        "/",
        idempotency(engine(), { operation: "a" }),
        framework.json({ limit: "1mb" }),
        (request, response) => {
          response.json({ length: (request.body as { text: string }).text.length });
        },
      );
      const port = await listen(app);
      const content = JSON.stringify({ text: "z".repeat(300_000) });
      expect((await post(port, { content })).body.toString()).toBe('{"length":300000}');
    });

    it("E-01 a body above the bound is refused with 413 and claims nothing", async () => {
      const app = framework();
      let runs = 0;
      app.use(captureBody({ requestBytesMax: 1_000 }), framework.json());
      app.post("/", idempotency(engine(), { operation: "a" }), (_request, response) => {
        runs += 1;
        response.sendStatus(201);
      });
      const port = await listen(app);
      const key = freshKey();
      const reply = await post(port, { key, content: JSON.stringify({ text: "x".repeat(2_000) }) });
      expect([reply.status, (JSON.parse(reply.body.toString()) as { code: string }).code]).toEqual([
        413,
        "request-too-large",
      ]);
      expect((await post(port, { key })).status).toBe(201);
      expect(runs).toBe(1);
    });

    it("A02 an answer given by an outer timeout is not answered again, and the key stays usable", async () => {
      const app = framework();
      let runs = 0;
      let slow = true;
      app.use((_request, response, next) => {
        if (slow) setTimeout(() => response.status(503).send("timeout"), 30);
        next();
      });
      const store = memoryStore();
      const slowStore = {
        ...store,
        claim: async (request: Parameters<typeof store.claim>[0]) => {
          const result = await store.claim(request);
          if (slow) await new Promise((resolve) => setTimeout(resolve, 120));
          return result;
        },
      };
      app.post("/", idempotency(engine({ store: slowStore }), { operation: "a" }), (_request, response) => {
        runs += 1;
        response.sendStatus(201);
      });
      const port = await listen(app);
      const key = freshKey();
      const agent = new http.Agent({ keepAlive: true });
      expect((await post(port, { key, agent })).status).toBe(503);
      await until("the claim to be given back", async () => (await store.stats()).failed === 1);
      slow = false;
      expect((await post(port, { key })).status).toBe(201);
      expect(runs).toBe(1);
      agent.destroy();
    });

    it("E-05 a client that leaves before a later parser reads the body does not leave a false answer behind", async () => {
      const app = framework();
      const bodies: unknown[] = [];
      let claimed = (): void => undefined;
      const store = memoryStore();
      const slowStore = {
        ...store,
        claim: async (request: Parameters<typeof store.claim>[0]) => {
          const result = await store.claim(request);
          claimed();
          await new Promise((resolve) => setTimeout(resolve, 60));
          return result;
        },
      };
      app.post(
        "/",
        idempotency(engine({ store: slowStore }), { operation: "a" }),
        framework.json(),
        (request, response) => {
          bodies.push(request.body);
          response.status(request.body === undefined ? 400 : 201).json({});
        },
      );
      const port = await listen(app);
      const key = freshKey();
      const head = `POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ${key}\r\nContent-Type: application/json\r\n`;
      const reached = new Promise<void>((resolve) => {
        claimed = resolve;
      });
      const socket = await connect(port, `${head}Content-Length: 7\r\n\r\n{"a":1}`);
      await reached;
      socket.destroy();
      await until("the claim to be given back", async () => (await store.stats()).failed === 1);
      const reply = await post(port, { key, content: '{"a":1}' });
      expect([reply.status, isReplay(reply), bodies]).toEqual([201, false, [{ a: 1 }]]);
    });

    it("C-02 the same operation mounted twice is an error that says so, not a conflict with itself", async () => {
      const app = framework();
      const ichido = engine();
      const errors: string[] = [];
      app.use(idempotency(ichido, { operation: "a" }));
      app.post("/twice", idempotency(ichido, { operation: "a" }), (_request, response) => void response.send("ran"));
      app.post("/both", idempotency(ichido, { operation: "b" }), (_request, response) => void response.send("ran"));
      const middleware: express.ErrorRequestHandler = (error: Error, _request, response, _next) => {
        errors.push(error.message);
        response.sendStatus(500);
      };
      app.use(middleware);
      const port = await listen(app);
      expect((await post(port, { path: "/twice" })).status).toBe(500);
      expect(errors).toEqual([expect.stringContaining("mounted twice")]);
      const key = freshKey();
      expect((await post(port, { key, path: "/both" })).body.toString()).toBe("ran");
      expect(isReplay(await post(port, { key, path: "/both" }))).toBe(true);
    });

    it("M-01 other methods go through untouched", async () => {
      const app = framework();
      app.all("/", idempotency(engine(), { operation: "a" }), (request, response) => {
        response.json({
          method: request.method,
          context: request.idempotency !== undefined,
          locals: { ...response.locals },
        });
      });
      const port = await listen(app);
      const reply = await ask(port, { method: "GET", headers: { "idempotency-key": '"bad' } });
      expect(JSON.parse(reply.body.toString())).toEqual({ method: "GET", context: false, locals: {} });
      const protectedReply = await post(port);
      expect(JSON.parse(protectedReply.body.toString())).toEqual({ method: "POST", context: true, locals: {} });
    });

    it("R-02 hooks of outer layers on the headers run once, on the real answer", async () => {
      const app = framework();
      let hooks = 0;
      app.use((_request, response, next) => {
        const writeHead = response.writeHead.bind(response) as (...values: unknown[]) => express.Response;
        (response as { writeHead: unknown }).writeHead = (...values: unknown[]) => {
          hooks += 1;
          response.setHeader("X-Hook", String(hooks));
          return writeHead(...values);
        };
        next();
      });
      app.post("/", idempotency(engine(), { operation: "a" }), (_request, response) => void response.json({}));
      const port = await listen(app);
      const key = freshKey();
      expect((await post(port, { key })).headers["x-hook"]).toBe("1");
      expect((await post(port, { key })).headers["x-hook"]).toBe("2");
      expect(hooks).toBe(2);
    });

    it("A37 a server that is closed while an answer is recorded still sends it", async () => {
      const app = framework();
      const store = memoryStore();
      const completing = Promise.withResolvers<void>();
      const slowStore = {
        ...store,
        complete: async (request: Parameters<typeof store.complete>[0]) => {
          completing.resolve();
          await new Promise((resolve) => setTimeout(resolve, 80));
          return store.complete(request);
        },
      };
      app.post("/", idempotency(engine({ store: slowStore }), { operation: "a" }), (_request, response) => {
        response.status(201).json({ made: true });
      });
      const server = http.createServer(app).listen(0, "127.0.0.1");
      await once(server, "listening");
      const reply = post((server.address() as AddressInfo).port);
      await completing.promise;
      server.close();
      expect((await reply).body.toString()).toBe('{"made":true}');
    });
  });
}

it("the middleware is an Express request handler, and the context is typed", () => {
  expectTypeOf(captureBody()).toExtend<express.RequestHandler>();
  expectTypeOf(idempotency(engine(), { operation: "a" })).toExtend<express.RequestHandler>();
  const app = express();
  app.post("/things/:id", idempotency(engine(), { operation: "a" }), (request, response) => {
    expectTypeOf(request.params.id).toEqualTypeOf<string>();
    expectTypeOf(request.idempotency?.attempt).toEqualTypeOf<number | undefined>();
    response.end();
  });
});
