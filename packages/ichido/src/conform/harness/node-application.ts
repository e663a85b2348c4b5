import type { IncomingMessage } from "node:http";
import { idempotent } from "../../adapters/node.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import { writeAnswer, type BuildApplication } from "./application.ts";

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
        const made = await harness.handle({
          method: request.method ?? "GET",
          target: request.url ?? "/",
          header: (header) => request.headers[header] as string | undefined,
          body: undefined,
          idempotency,
        });
        await writeAnswer(response, made);
      }),
    ]),
  );
  return {
    harness: harness as unknown as Harness<never>,
    listener(request, response) {
      const route = routes.get(routeNameOf(request.url ?? "/"));
      if (route === undefined) response.writeHead(404).end();
      // What a handler throws is answered by the adapter and thrown on; a program would log it.
      else void route(request, response).catch(() => undefined);
    },
  };
};
