import { captureLimitsOf, type BodyOptions } from "../../http/body-limits.ts";
import { captureBytes, type NodeRequest } from "../../http/node-request.ts";
import type { NestApplicationLike } from "./shapes.ts";

interface FastifyInstance {
  addHook(name: "preParsing", hook: (request: { readonly raw: NodeRequest }) => Promise<void>): unknown;
}

/**
 * Notes the bytes of requests as they pass to the body parser, so that requests are compared by what was sent. Call it
 * between `NestFactory.create` and `listen`. Without it Nest's `rawBody: true` serves for JSON and forms, and without
 * that the parsed body is compared.
 */
export function captureBody(app: NestApplicationLike, options: BodyOptions = {}): void {
  const limits = captureLimitsOf(options);
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === "fastify") {
    (adapter.getInstance() as FastifyInstance).addHook("preParsing", async ({ raw }) => {
      captureBytes(raw, limits);
    });
  } else {
    app.use((request, _response, next) => {
      captureBytes(request, limits);
      next();
    });
  }
}
