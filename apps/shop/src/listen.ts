/** Listening, and ending without cutting anybody off. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "./errors.ts";

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, waits at most `withinMs` for the answers under way, then cuts what is left. */
  drain(withinMs: number): Promise<void>;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there; choose another port (0 picks a free one)",
  EACCES: "this user may not use that port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "that host name is not known",
};

export async function listen(handler: RequestListener, host: string, port: number): Promise<Listening> {
  const server = createServer(handler);
  const connections = watchConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = REASONS[error.code ?? ""] ?? error.message;
      reject(new StartError(`cannot listen on ${authority(host, port)}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${authority(host, bound)}`,
    port: bound,
    async drain(withinMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.endWhenQuiet();
      const limit = new AbortController();
      await Promise.race([closed, sleep(withinMs, undefined, { signal: limit.signal }).catch(() => undefined)]);
      limit.abort();
      server.closeAllConnections();
    },
  };
}

/**
 * Node's own `closeIdleConnections` spares a connection that has not sent anything yet, and clients open such ones ahead
 * of need: one of them would hold up every shutdown.
 */
function watchConnections(server: Server): { endWhenQuiet(): void } {
  const running = new Map<Socket, number>();
  let ending = false;

  function count(socket: Socket, change: 1 | -1): void {
    const requests = (running.get(socket) ?? 0) + change;
    running.set(socket, requests);
    if (ending && requests === 0) socket.end();
  }

  server.on("connection", (socket: Socket) => {
    running.set(socket, 0);
    socket.once("close", () => running.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    count(socket, 1);
    response.once("close", () => {
      if (running.has(socket)) count(socket, -1);
    });
  });
  return {
    endWhenQuiet() {
      ending = true;
      for (const [socket, requests] of running) if (requests === 0) socket.end();
    },
  };
}

function authority(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
