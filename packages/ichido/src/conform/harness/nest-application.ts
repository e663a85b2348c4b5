/** NestJS on either platform, with decorators called as the functions they are. */
import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import type { Context } from "../../core/contract/context.ts";
import {
  captureBody,
  Idempotency,
  IdempotencyModule,
  Idempotent,
  type NestApplicationLike,
} from "../../adapters/nest/index.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import { linesByName, pieces, type BuildApplication, type Load } from "./application.ts";
import { fastifySettings, prepareBodies, type FastifyLike } from "./fastify-application.ts";

interface NestRequest {
  readonly method: string;
  readonly originalUrl: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
}

interface NestReply {
  readonly raw?: unknown;
  status(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
}

interface NestCommon {
  All(paths: string[]): MethodDecorator;
  Controller(prefix: string): ClassDecorator;
  Module(parts: object): ClassDecorator;
  Req(): ParameterDecorator;
  Res(options: object): ParameterDecorator;
  readonly StreamableFile: new (content: Uint8Array | Readable, options?: object) => object;
}

type NestApplication = NestApplicationLike & {
  init(): Promise<unknown>;
  close(): Promise<void>;
  useBodyParser?(type: "json", options: object): unknown;
};
interface NestCore {
  readonly NestFactory: { create(module: unknown, adapter: unknown, options: object): Promise<NestApplication> };
}

function controllerOf(harness: Harness<NestRequest>, nest: NestCommon): new () => object {
  async function answer(request: NestRequest, reply: NestReply, idempotency?: Context): Promise<unknown> {
    const made = await harness.handle({
      method: request.method,
      target: request.originalUrl,
      header: (header) => request.headers[header],
      body: request.body,
      idempotency,
    });
    reply.status(made.status);
    for (const [name, value] of linesByName(made)) reply.header(name, value);
    if (made.way === "stream") return new nest.StreamableFile(Readable.from(pieces(made.body)));
    return made.body.length === 0 ? undefined : new nest.StreamableFile(made.body, { length: made.body.length });
  }

  class Things {}
  const prototype = Things.prototype as Record<string, unknown>;
  for (const { name, paths, options } of harness.routes) {
    const property = `handle ${name}`;
    prototype[property] = (request: NestRequest, reply: NestReply, idempotency?: Context) =>
      answer(request, reply, idempotency);
    const descriptor = Object.getOwnPropertyDescriptor(prototype, property) as PropertyDescriptor;
    nest.All([...paths])(prototype, property, descriptor);
    Idempotent(options)(prototype, property, descriptor);
    nest.Req()(prototype, property, 0);
    nest.Res({ passthrough: true })(prototype, property, 1);
    Idempotency()(prototype, property, 2);
  }
  nest.Controller(routePrefix)(Things);
  return Things;
}

async function create(
  harness: Harness<NestRequest>,
  platform: "express" | "fastify",
  load: Load,
): Promise<NestApplication> {
  await load("reflect-metadata");
  const nest = (await load("@nestjs/common")) as NestCommon;
  const { NestFactory } = (await load("@nestjs/core")) as NestCore;
  class Root {}
  nest.Module({
    imports: [IdempotencyModule.forRoot({ ichido: harness.ichido })],
    controllers: [controllerOf(harness, nest)],
  })(Root);
  type Adapters = Readonly<Record<string, new (settings?: object) => { getInstance(): unknown }>>;
  const adapters = (await load(`@nestjs/platform-${platform}`)) as Adapters;
  const Adapter = adapters[platform === "express" ? "ExpressAdapter" : "FastifyAdapter"] as NonNullable<
    Adapters[string]
  >;
  const settings = platform === "express" ? undefined : fastifySettings(harness.jsonBytesMax);
  const app = await NestFactory.create(Root, new Adapter(settings), { logger: false });
  captureBody(app);
  if (platform === "fastify") prepareBodies(app.getHttpAdapter().getInstance() as FastifyLike);
  else app.useBodyParser?.("json", { limit: harness.jsonBytesMax });
  await app.init();
  return app;
}

export function buildNest(platform: "express" | "fastify"): BuildApplication {
  return async (options, load) => {
    const harness = createHarness<NestRequest>(options, (request) => request.headers["authorization"]);
    const app = await create(harness, platform, load);
    const instance = app.getHttpAdapter().getInstance();
    if (platform === "fastify") await (instance as FastifyLike).ready();
    const listener: RequestListener =
      platform === "express"
        ? (instance as RequestListener)
        : (request, response) => (instance as FastifyLike).routing(request, response);
    return { harness: harness as unknown as Harness<never>, listener, close: () => app.close() };
  };
}
