/** Serves the route without Next.js, so that it can be tried from here. */
import { serve } from "@hono/node-server";
import { POST } from "./route.ts";

const notFound = new Response(null, { status: 404 });
const handle = (request: Request): Response | Promise<Response> =>
  request.method === "POST" && new URL(request.url).pathname === "/payments" ? POST(request) : notFound.clone();

serve({ fetch: handle, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
