/** NestJS's own layers around a protected handler: what they see on the first run, and that a replay is the first bytes. */
import "reflect-metadata";
import { createHash, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  BadRequestException,
  Body,
  Catch,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Header,
  HttpCode,
  Inject,
  Module,
  Post,
  Redirect,
  RequestMethod,
  Res,
  Sse,
  StreamableFile,
  UseFilters,
  UploadedFile,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type ExecutionContext,
} from "@nestjs/common";
import { APP_INTERCEPTOR, NestFactory, Reflector } from "@nestjs/core";
import { ExpressAdapter, FileInterceptor } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Exclude } from "class-transformer";
import compression from "compression";
import { createIchido, type Context, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";
import { captureBody, engineToken, Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";
import { map, of, tap, timer } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";

type Handler = (this: unknown, ...values: never[]) => unknown;
type Parameter = (target: object, property: string, index: number) => void;

interface Route {
  readonly handler: Handler;
  readonly decorators?: readonly ((MethodDecorator & ClassDecorator) | MethodDecorator)[];
  readonly parameters?: readonly Parameter[];
}

/** What `class Things { @Post("name") @… name(@… value) {} }` would be compiled to. */
function controllerOf(
  routes: Readonly<Record<string, Route>>,
  decorators: readonly ClassDecorator[] = [],
): new () => object {
  class Things {}
  const prototype = Things.prototype as Record<string, unknown>;
  for (const [name, { handler, decorators: own = [], parameters = [] }] of Object.entries(routes)) {
    Object.defineProperty(prototype, name, { value: handler, configurable: true, writable: true });
    Object.defineProperty(handler, "name", { value: name });
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    for (const decorate of own) decorate(prototype, name, descriptor);
    const isMounted = Reflect.hasMetadata("path", descriptor.value as object);
    if (!isMounted) Post(name)(prototype, name, descriptor);
    parameters.forEach((decorate, index) => decorate(prototype, name, index));
  }
  for (const decorate of [...decorators, Controller()]) decorate(Things);
  return Things;
}

const platforms = {
  express: () => new ExpressAdapter(),
  fastify: (log: (line: string) => void) =>
    new FastifyAdapter({ forceCloseConnections: true, logger: { level: "warn", stream: { write: log } } }),
} as const;
type Platform = keyof typeof platforms;

interface Running {
  readonly url: string;
  post(
    path: string,
    options?: { readonly key?: string | null; readonly body?: unknown; readonly headers?: Record<string, string> },
  ): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

interface StartOptions {
  readonly providers?: readonly object[];
  /** An interceptor that runs before that of the module. */
  readonly outer?: object;
  /** Gets Fastify's warnings. */
  readonly log?: (line: string) => void;
  readonly rawBody?: boolean;
  readonly capture?: boolean;
  readonly setup?: (app: Awaited<ReturnType<typeof NestFactory.create>>) => void;
  readonly engine?: (ichido: Ichido<{ readonly user?: string }>) => void;
}

async function start(platform: Platform, controller: new () => object, options: StartOptions = {}): Promise<Running> {
  const ichido = createIchido<{ readonly user?: string }>({
    store: memoryStore(),
    scope: ({ user }) => ({ principal: user ?? "somebody" }),
    onUnknown: "rerun",
  });
  options.engine?.(ichido);
  class App {}
  // Asynchronously, with something injected, as an application with a configuration would.
  class Settings {}
  class Earlier {}
  const outer = options.outer === undefined ? [] : [{ provide: APP_INTERCEPTOR, useValue: options.outer }];
  Module({ providers: outer })(Earlier);
  Module({ providers: [{ provide: "pool", useValue: ichido }], exports: ["pool"] })(Settings);
  const idempotency = IdempotencyModule.forRootAsync<{ readonly user?: string }>({
    imports: [Settings],
    inject: ["pool"],
    useFactory: (engine: typeof ichido) => engine,
  });
  Module({
    imports: [Earlier, idempotency],
    controllers: [controller],
    providers: [...(options.providers ?? [])] as never[],
  })(App);
  const app = await NestFactory.create(App, platforms[platform](options.log ?? (() => undefined)), {
    logger: false,
    ...(options.rawBody === true && { rawBody: true }),
  });
  if (options.capture !== false && options.rawBody !== true) captureBody(app);
  options.setup?.(app);
  await app.listen(0, "127.0.0.1");
  opened.push(async () => {
    await app.close();
    await ichido.close();
  });
  const url = await app.getUrl();
  return {
    url,
    async post(path, { key = `"${path}"`, body = { amount: 1 }, headers = {} } = {}) {
      const response = await fetch(`${url}/${path}`, {
        method: "POST",
        redirect: "manual",
        headers: {
          "content-type": "application/json",
          ...(key === null ? {} : { "idempotency-key": key }),
          ...headers,
        },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
  };
}

const compared = ["content-type", "location", "x-own", "etag", "content-disposition", "content-encoding"];

/** The second request gets what the first got, and the handler ran once. */
async function replays(app: Running, path: string, runs: () => number): Promise<Answer> {
  const first = await app.post(path);
  expect(first.headers.get("idempotency-replayed"), first.text).toBeNull();
  const second = await app.post(path);
  expect(second.headers.get("idempotency-replayed"), second.text).toBe("true");
  expect([second.status, second.text]).toEqual([first.status, first.text]);
  for (const name of compared) expect(second.headers.get(name), name).toBe(first.headers.get(name));
  expect(runs()).toBe(1);
  return first;
}

describe.each(Object.keys(platforms) as Platform[])("nest on %s", (platform) => {
  const operation = (name: string) => Idempotent({ operation: name });

  it("A26 interceptors see values, around it and inside; a replay passes the inner ones no more", async () => {
    let runs = 0;
    const seen: unknown[] = [];
    const around = (name: string) => ({
      intercept: (_context: ExecutionContext, next: CallHandler) =>
        next.handle().pipe(
          tap((value: object) => seen.push([name, value])),
          map((value: object) => ({ ...value, [name]: true })),
        ),
    });
    const controller = controllerOf({
      pay: {
        handler: () => {
          runs += 1;
          return { id: runs };
        },
        decorators: [operation("pay"), UseInterceptors(around("inner"))],
      },
    });
    const app = await start(platform, controller, {
      outer: around("outer"),
    });
    const first = await replays(app, "pay", () => runs);
    expect(JSON.parse(first.text)).toEqual({ id: 1, inner: true, outer: true });
    expect(seen).toEqual([
      ["inner", { id: 1 }],
      ["outer", { id: 1, inner: true }],
      ["outer", { id: 1, inner: true, outer: true }],
    ]);
  });

  it("A26 an outer interceptor that fails on a replay changes nothing of it", async () => {
    let runs = 0;
    const controller = controllerOf({
      pay: { handler: () => ({ id: (runs += 1) }), decorators: [operation("pay")] },
    });
    let calls = 0;
    const failing = {
      intercept: (_context: ExecutionContext, next: CallHandler) =>
        next.handle().pipe(
          map((value: unknown) => {
            calls += 1;
            if (calls > 1) throw new Error("cannot map this");
            return value;
          }),
        ),
    };
    const app = await start(platform, controller, {
      outer: failing,
    });
    await replays(app, "pay", () => runs);
    expect(calls).toBe(2);
  });

  it("A24 a replay equals the first bytes under a class serializer", async () => {
    let runs = 0;
    class Payment {
      id = (runs += 1);
      secret = "s";
    }
    Exclude()(Payment.prototype, "secret");
    const controller = controllerOf({ pay: { handler: () => new Payment(), decorators: [operation("pay")] } });
    const serializer = {
      provide: APP_INTERCEPTOR,
      useFactory: (reflector: Reflector) => new ClassSerializerInterceptor(reflector),
      inject: [Reflector],
    };
    const app = await start(platform, controller, { providers: [serializer] });
    const first = await replays(app, "pay", () => runs);
    expect(JSON.parse(first.text)).toEqual({ id: 1 });
  });

  it("R-11 what a filter makes of an exception is kept by its status", async () => {
    let runs = 0;
    class Declined extends Error {}
    class DeclinedFilter {
      catch(_error: Declined, host: ArgumentsHost): void {
        const reply = host.switchToHttp().getResponse<{ status(code: number): { send(body: object): void } }>();
        reply.status(402).send({ declined: runs });
      }
    }
    Catch(Declined)(DeclinedFilter);
    const controller = controllerOf({
      pay: {
        handler: () => {
          runs += 1;
          throw new Declined();
        },
        decorators: [operation("pay"), UseFilters(new DeclinedFilter() as never)],
      },
      refuse: {
        handler: () => {
          throw new BadRequestException({ why: "no" });
        },
        decorators: [operation("refuse")],
      },
    });
    const app = await start(platform, controller);
    expect((await replays(app, "pay", () => runs)).status).toBe(402);
    expect(await app.post("refuse")).toMatchObject({ status: 400, text: '{"why":"no"}' });
    expect((await app.post("refuse")).headers.get("idempotency-replayed")).toBe("true");
  });

  it("A21 captures @Res, StreamableFile, observables, redirects, codes and headers", async () => {
    const runs = new Map<string, number>();
    const run = (name: string): number => {
      runs.set(name, (runs.get(name) ?? 0) + 1);
      return runs.get(name) ?? 0;
    };
    const controller = controllerOf({
      raw: {
        handler: (
          reply: { readonly raw?: ServerResponse } & { status(code: number): { send(body: object): void } },
        ) => {
          reply.status(202).send({ raw: run("raw") });
        },
        decorators: [operation("raw")],
        parameters: [Res()],
      },
      file: {
        handler: () => {
          run("file");
          return new StreamableFile(Buffer.from("content"), {
            type: "text/csv",
            disposition: 'attachment; filename="a, b.csv"',
          });
        },
        decorators: [operation("file")],
      },
      later: { handler: () => timer(20).pipe(map(() => ({ later: run("later") }))), decorators: [operation("later")] },
      many: { handler: () => of({ first: 1 }, { last: run("many") }), decorators: [operation("many")] },
      elsewhere: {
        handler: () => void run("elsewhere"),
        decorators: [operation("elsewhere"), Redirect("/there", 303)],
      },
      nothing: {
        handler: () => void run("nothing"),
        decorators: [operation("nothing"), HttpCode(204), Header("X-Own", "1")],
      },
      text: { handler: () => `text ${run("text")}`, decorators: [operation("text")] },
    });
    const app = await start(platform, controller);
    const statuses: Record<string, number> = {};
    for (const name of ["raw", "file", "later", "many", "elsewhere", "nothing", "text"]) {
      statuses[name] = (await replays(app, name, () => runs.get(name) ?? 0)).status;
    }
    expect(statuses).toEqual({ raw: 202, file: 201, later: 201, many: 201, elsewhere: 303, nothing: 204, text: 201 });
    expect((await app.post("many")).text).toBe('{"last":1}');
    expect((await app.post("nothing")).headers.get("x-own")).toBe("1");
  });

  it("A25 refuses @Sse() by another method than GET, whose head leaves before the handler has run", async () => {
    let runs = 0;
    const handler = () => of({ data: `${(runs += 1)}` });
    // Above, so that it is seen at the first request; below, at the start.
    const controller = controllerOf({
      pay: { handler, decorators: [operation("pay"), Sse("pay", { method: RequestMethod.POST })] },
      look: { handler: () => handler(), decorators: [operation("look"), Sse("look")] },
    });
    const messages: unknown[] = [];
    class Told {
      catch(error: Error, host: ArgumentsHost): void {
        messages.push(error.message);
        host.switchToHttp().getResponse<{ status(code: number): { send(): void } }>().status(500).send();
      }
    }
    Catch()(Told);
    const app = await start(platform, controller, { setup: (nest) => void nest.useGlobalFilters(new Told()) });
    for (let round = 0; round < 2; round += 1) expect((await app.post("pay")).status).toBe(500);
    expect([runs, ...messages]).toEqual([0, expect.stringMatching(/@Sse\(\).*@Res\(\)/), expect.anything()]);
    expect(await (await fetch(`${app.url}/look`)).text()).toContain("data: 1");
    const below = [Sse("pay", { method: RequestMethod.POST }), operation("pay")];
    expect(() => controllerOf({ pay: { handler: () => handler(), decorators: below } })).toThrow(/@Sse\(\)/);
  });

  it("gives the handler its context, and its transaction's answer is the one that is sent", async () => {
    const attempts: unknown[] = [];
    const controller = controllerOf({
      pay: {
        handler: (body: object, idempotency: Context) => {
          attempts.push([body, idempotency.attempt, idempotency.key]);
          return { reference: idempotency.reference("bank") };
        },
        decorators: [operation("pay")],
        parameters: [Body(), Idempotency()],
      },
      open: {
        handler: async (idempotency: Context) => {
          await idempotency.unknown({ status: 202, body: { state: "open" }, headers: { "x-own": "1" } });
          return { ignored: true };
        },
        decorators: [Idempotent({ operation: "open", profile: "adr-007", onUnknown: "hold" })],
        parameters: [Idempotency()],
      },
      plain: {
        handler: (idempotency?: Context) => ({ isThere: idempotency !== undefined }),
        parameters: [Idempotency()],
      },
    });
    const app = await start(platform, controller, {
      setup: (nest) => void nest.useGlobalPipes({ transform: (value: unknown) => value } as never),
    });
    await replays(app, "pay", () => attempts.length);
    expect(attempts).toEqual([[{ amount: 1 }, 1, "pay"]]);
    const key = "0f9619ff-8b86-4d01-b42d-00cf4fc964ff";
    for (let round = 0; round < 2; round += 1) {
      const answer = await app.post("open", { key });
      expect([answer.status, answer.text]).toEqual([202, '{"state":"open"}']);
      expect(answer.headers.get("idempotency-replayed")).toBeNull();
    }
    expect((await app.post("plain", { key: null })).text).toBe('{"isThere":false}');
  });

  it("on a controller protects every handler under an operation of its own; a handler's own options win", async () => {
    const runs = { create: 0, change: 0, free: 0 };
    const controller = controllerOf(
      {
        create: { handler: () => ({ number: (runs.create += 1) }) },
        change: { handler: () => ({ number: (runs.change += 1) }) },
        free: {
          handler: () => ({ number: (runs.free += 1) }),
          decorators: [Idempotent({ operation: "payment.free", required: false })],
        },
      },
      [Idempotent({ operation: "payment" })],
    );
    const operations = new Set<string>();
    const app = await start(platform, controller, {
      engine: (ichido) => void ichido.on((event) => event.type === "request" && operations.add(event.operation)),
    });
    const key = '"same"';
    for (const name of ["create", "change"]) {
      expect((await app.post(name, { key })).headers.get("idempotency-replayed")).toBeNull();
      expect((await app.post(name, { key })).headers.get("idempotency-replayed")).toBe("true");
      expect((await app.post(name, { key: null })).status).toBe(400);
    }
    expect((await app.post("free", { key: null })).status).toBe(201);
    expect(runs).toEqual({ create: 1, change: 1, free: 1 });
    expect([...operations]).toEqual(["payment.create", "payment.change", "payment.free"]);
  });

  it("S-01 runs after guards: the scope is whom they let in, and whom they do not gets no replay", async () => {
    let runs = 0;
    const guard = {
      canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest<{ user?: string; headers: Record<string, string> }>();
        if (request.headers["x-user"] === undefined) return false;
        request.user = request.headers["x-user"];
        return true;
      },
    };
    const controller = controllerOf({
      pay: { handler: () => ({ id: (runs += 1) }), decorators: [operation("pay"), UseGuards(guard as never)] },
    });
    const app = await start(platform, controller);
    const as = (user: string) => app.post("pay", { headers: { "x-user": user } });
    expect((await as("a")).text).toBe('{"id":1}');
    expect((await as("b")).text).toBe('{"id":2}');
    expect((await as("a")).text).toBe('{"id":1}');
    expect((await app.post("pay")).status).toBe(403);
    expect(runs).toBe(2);
  });

  it.each(["bytes captured", "rawBody", "parsed alone"])("compares content by meaning: %s", async (how) => {
    let runs = 0;
    const controller = controllerOf({ pay: { handler: () => ({ id: (runs += 1) }), decorators: [operation("pay")] } });
    const app = await start(platform, controller, { rawBody: how === "rawBody", capture: how === "bytes captured" });
    const post = async (content: string) => {
      const headers = { "content-type": "application/json", "idempotency-key": '"k"' };
      return (await fetch(`${app.url}/pay`, { method: "POST", headers, body: content })).status;
    };
    expect(await post('{"a":9007199254740992,"b":1}')).toBe(201);
    expect(await post('{ "b": 1.0, "a": 9007199254740992 }')).toBe(201);
    expect(await post('{"a":1,"b":1}')).toBe(422);
    // Beyond doubles the parsed value is all that the handler can see either.
    expect(await post('{"a":9007199254740993,"b":1}')).toBe(how === "parsed alone" ? 201 : 422);
    expect(runs).toBe(1);
  });

  it("leaves unmarked handlers and other methods alone, and refuses in its own form", async () => {
    let reads = 0;
    class Reader {
      read(): object {
        reads += 1;
        return { reads };
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Reader.prototype, "read") as PropertyDescriptor;
    Get("read")(Reader.prototype, "read", descriptor);
    Idempotent({ operation: "read" })(Reader.prototype, "read", descriptor);
    Controller()(Reader);
    const app = await start(platform, Reader);
    const read = async () => (await fetch(`${app.url}/read`, { headers: { "idempotency-key": '"k"' } })).json();
    expect([await read(), await read()]).toEqual([{ reads: 1 }, { reads: 2 }]);
  });

  it("neither a replay nor an answer of the context is an error to filters or to the platform's log", async () => {
    const errors: unknown[] = [];
    class EveryFilter {
      catch(error: unknown): void {
        errors.push(error);
      }
    }
    Catch()(EveryFilter);
    const controller = controllerOf({
      pay: { handler: () => ({ id: 1 }), decorators: [operation("pay")] },
      open: {
        handler: async (idempotency: Context) => {
          await idempotency.unknown({ status: 202, body: { state: "open" } });
          return { ignored: true };
        },
        decorators: [Idempotent({ operation: "open", onUnknown: "hold" })],
        parameters: [Idempotency()],
      },
    });
    const lines: string[] = [];
    const app = await start(platform, controller, {
      log: (line) => void lines.push(line),
      setup: (nest) => void nest.useGlobalFilters(new EveryFilter() as never),
    });
    expect((await app.post("pay")).status).toBe(201);
    expect((await app.post("pay")).headers.get("idempotency-replayed")).toBe("true");
    expect((await app.post("pay", { body: { amount: 2 } })).status).toBe(422);
    expect((await app.post("open")).status).toBe(202);
    expect([errors, lines]).toEqual([[], []]);
  });

  it("lets the engine be injected", async () => {
    let injected: unknown;
    class Service {
      constructor(engine: unknown) {
        injected = engine;
      }
    }
    Inject(engineToken as never)(Service, undefined as never, 0);
    let made: unknown;
    const controller = controllerOf({ pay: { handler: () => ({}) } });
    await start(platform, controller, { providers: [Service], engine: (ichido) => (made = ichido) });
    expect(injected).toBe(made);
  });
});

describe("nest on express", () => {
  it("A28 an upload waits for FileInterceptor: the handler gets the file, a retry replays, other content is refused", async () => {
    const got: string[] = [];
    const controller = controllerOf({
      upload: {
        handler: ({ buffer, originalname }: { buffer: Buffer; originalname: string }) => {
          got.push(createHash("sha256").update(buffer).digest("hex"));
          return { name: originalname, bytes: buffer.length };
        },
        decorators: [UseInterceptors(FileInterceptor("scan")), Idempotent({ operation: "upload" })],
        parameters: [UploadedFile() as Parameter],
      },
    });
    const { url } = await start("express", controller);
    const send = (file: Buffer): Promise<Response> => {
      const form = new FormData();
      form.append("scan", new Blob([new Uint8Array(file)]), "a.bin");
      return fetch(`${url}/upload`, { method: "POST", headers: { "idempotency-key": '"upload"' }, body: form });
    };
    const file = randomBytes(3 * 1_048_576);
    const first = await send(file);
    expect([first.status, await first.json()]).toEqual([201, { name: "a.bin", bytes: file.length }]);
    const second = await send(file);
    expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    file[file.length - 1] = (file.at(-1) ?? 0) ^ 1;
    expect((await send(file)).status).toBe(422);
    file[file.length - 1] = (file.at(-1) ?? 0) ^ 1;
    expect(got).toEqual([createHash("sha256").update(file).digest("hex")]);
  });

  it("R-11 what a pipe refuses is the handler's own answer, and is replayed", async () => {
    let looked = 0;
    const pipe = {
      transform(): never {
        looked += 1;
        throw new BadRequestException("no such amount");
      },
    };
    const controller = controllerOf({
      pay: {
        handler: () => ({}),
        decorators: [Idempotent({ operation: "pay" })],
        parameters: [Body(pipe) as Parameter],
      },
    });
    const refused = await replays(await start("express", controller), "pay", () => looked);
    expect(refused.status).toBe(400);
  });

  it("A26 replays once encoded under compression", async () => {
    let runs = 0;
    const controller = controllerOf({
      pay: {
        handler: () => ({ text: "x".repeat(5_000), id: (runs += 1) }),
        decorators: [Idempotent({ operation: "pay" })],
      },
    });
    const app = await start("express", controller, { setup: (nest) => void nest.use(compression()) });
    const first = await replays(app, "pay", () => runs);
    expect(first.headers.get("content-encoding")).not.toBeNull();
    expect(JSON.parse(first.text)).toMatchObject({ id: 1 });
  });
});

describe("the module", () => {
  it("stops the start where the engine is missing", async () => {
    class App {}
    Module({ imports: [IdempotencyModule.forRoot({} as never)] })(App);
    const starting = NestFactory.create(App, new ExpressAdapter(), { logger: false, abortOnError: false });
    await expect(starting).rejects.toMatchObject({ code: "option-invalid" });
  });
});

describe("@Idempotent()", () => {
  it.each([
    [{ operation: "" }, /option operation: /],
    [{ operation: "pay", leaseMs: 0 }, /option leaseMs: /],
    [{ operation: "pay", methods: ["GET"] }, /option methods: /],
    [{ operation: "pay", profile: "mine" as never }, /option profile: /],
  ])("stops the start with an option that is not sound: %j", (options, message) => {
    expect(() => Idempotent(options)).toThrow(message);
  });

  it("leaves to the engine what the engine may add", () => {
    expect(() => Idempotent({ operation: "pay", profile: "polling" })).not.toThrow();
    expect(() => Idempotent({ operation: "pay", mode: "transaction" })).not.toThrow();
  });
});
