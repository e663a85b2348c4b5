/**
 * From the page to the fault proxy: the page asks its own origin, and what happens to the proxy's socket happens to the
 * browser's, and the other way round. Nothing is decided here.
 */
import { request as send } from "node:http";
import type { Request, Response } from "express";

export function passThrough(request: Request, response: Response, proxyUrl: string, path: string): void {
  const lost = (): void => {
    request.socket.resetAndDestroy();
  };
  const { connection: _connection, ...headers } = request.headers;
  const outgoing = send(new URL(path, proxyUrl), { method: request.method, headers, agent: false }, (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, { ...incoming.headers, "cache-control": "no-store" });
    incoming.on("error", lost).pipe(response);
  });
  outgoing.on("error", lost);
  // A buyer who leaves, as by a reload, leaves the proxy too.
  response.once("close", () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  request.pipe(outgoing);
}
