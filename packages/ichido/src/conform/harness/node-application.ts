import type { IncomingMessage } from "node:http";
import { idempotent } from "../../adapters/node.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import { nodeCall, writeAnswer, type BuildApplication } from "./application.ts";

/** Which route a path belongs to. */
export function routeNameOf(path: string): string {
  return new RegExp(`^${routePrefix}/([^/?]+)(?:/[^/?]+)?(?:\\?|$)`).exec(path)?.[1] ?? "";
}

export const buildNode: BuildApplication = async (options) => {
  const harness: Harness<IncomingMessage> = createHarness<IncomingMessage>(
    options,
    (request) => request.headers.authorization,
  );
  const routes = new Map(
    harness.routes.map(({ name, options: route }) => [
      name,
      idempotent(harness.ichido, route, async (request, response, idempotency) => {
        await writeAnswer(response, await harness.handle(nodeCall(request, idempotency)));
      }),
    ]),
  );
  return {
    harness: harness as unknown as Harness<never>,
    listener(request, response) {
      const route = routes.get(routeNameOf(request.url ?? "/"));
      if (route === undefined) response.writeHead(404).end();
      // When a handler throws, the adapter answers and throws the error on; a program would log it.
      else void route(request, response).catch(() => undefined);
    },
  };
};
