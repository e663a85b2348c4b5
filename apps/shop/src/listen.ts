/** Listening, and ending without cutting anybody off. */
import type { RequestListener, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "./errors.ts";

export interface Listening {
  readonly server: Server;
  readonly url: string;
  readonly port: number;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there; choose another port (0 picks a free one)",
  EACCES: "this user may not use that port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "that host name is not known",
};

export async function listen(handler: RequestListener, host: string, port: number): Promise<Listening> {
  const server = createServer(handler);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = REASONS[error.code ?? ""] ?? error.message;
      reject(new StartError(`cannot listen on ${authority(host, port)}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return { server, url: `http://${authority(host, bound)}`, port: bound };
}

/** Stops accepting, waits for the answers under way at most `withinMs`, then cuts what is left. */
export async function drain(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A kept-alive connection becomes idle only when its answer has gone out, so idleness is looked for again and again.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const limit = new AbortController();
  await Promise.race([closed, sleep(withinMs, undefined, { signal: limit.signal }).catch(() => undefined)]);
  limit.abort();
  clearInterval(idle);
  server.closeAllConnections();
}

function authority(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
