/** Serves the routes without Next.js, so that they can be tried from here. */
import { serve } from "@hono/node-server";
import * as consoleRoute from "./console-route.ts";
import * as payments from "./route.ts";

interface Route {
  readonly GET?: (request: Request) => Response | Promise<Response>;
  readonly POST: (request: Request) => Response | Promise<Response>;
}

function routeOf(path: string): Route | undefined {
  if (path === "/payments") return payments;
  return path === "/console" || path.startsWith("/console/") ? consoleRoute : undefined;
}

function handle(request: Request): Response | Promise<Response> {
  const { GET, POST } = routeOf(new URL(request.url).pathname) ?? {};
  const answer = request.method === "POST" ? POST : request.method === "GET" ? GET : undefined;
  return answer?.(request) ?? new Response(null, { status: 404 });
}

serve({ fetch: handle, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
