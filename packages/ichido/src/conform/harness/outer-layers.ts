/** What stands in front of an application: CORS, a number for every answer, authentication. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Harness } from "../../testing/adapter-suite/index.ts";

/** True when a layer has answered. */
export function outerLayers(
  { cors, serial, tokens }: Pick<Harness<never>, "cors" | "serial" | "tokens">,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { origin, authorization } = request.headers;
  response.setHeader("Vary", "Origin");
  if (origin !== undefined && cors.origins.includes(origin)) {
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Expose-Headers", cors.expose);
  }
  if (request.method === "OPTIONS") {
    response.setHeader("Access-Control-Allow-Headers", cors.allow);
    response.setHeader("Access-Control-Allow-Methods", "POST,PATCH");
    response.writeHead(204).end();
    return true;
  }
  response.setHeader("X-Request-Serial", serial());
  const status = tokens.admit(authorization);
  if (status === 200) return false;
  response.writeHead(status).end();
  return true;
}
