import type { RequestListener, ServerResponse } from "node:http";
import { captureBody, idempotency, type ExpressNext, type ExpressRequest } from "../../adapters/express.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import { nodeCall, writeAnswer, type BuildApplication } from "./application.ts";

type Use = (...handlers: readonly unknown[]) => unknown;
type Framework = (() => RequestListener & {
  use: Use;
  all: (path: string, ...handlers: readonly unknown[]) => unknown;
}) & {
  json(options: { readonly limit: number }): unknown;
};

async function answer(
  harness: Harness<ExpressRequest>,
  request: ExpressRequest,
  response: ServerResponse,
): Promise<void> {
  await writeAnswer(response, await harness.handle(nodeCall(request, request.idempotency, request.body)));
}

export const buildExpress: BuildApplication = async (options, load) => {
  const { default: express } = (await load("express")) as { readonly default: Framework };
  const harness = createHarness<ExpressRequest>(options, (request) => request.headers.authorization);
  const app = express();
  app.use(captureBody(), express.json({ limit: harness.jsonBytesMax }));
  for (const { paths, options: route } of harness.routes) {
    // Express 4 ignores the promise of a handler.
    const handler = async (request: ExpressRequest, response: ServerResponse, next: ExpressNext): Promise<void> => {
      try {
        await answer(harness, request, response);
      } catch (error) {
        next(error);
      }
    };
    for (const path of paths) app.all(routePrefix + path, idempotency(harness.ichido, route), handler);
  }
  // Planned failures need no stack on the console. Express recognises an error handler by its four parameters.
  app.use((error: { readonly status?: number }, _request: unknown, response: ServerResponse, _next: unknown) => {
    if (!response.headersSent) response.writeHead(error.status ?? 500).end();
  });
  return { harness: harness as unknown as Harness<never>, listener: app };
};
