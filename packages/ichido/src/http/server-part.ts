/**
 * A Node server as a part of `ichido.drain`: stops accepting and lets the answers under way go out. Node's own
 * `closeIdleConnections` spares a connection that has not sent anything yet, and clients open such ones ahead of need: one
 * of them would hold up every shutdown.
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { withDeadline } from "../core/contract/deadline.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import type { DrainPart } from "../core/engine/drain.ts";

/** What of `node:http` and `node:https` is needed; Express, Koa and Fastify have one behind them. */
export type ServerLike = Pick<Server, "on" | "prependListener" | "close" | "closeAllConnections">;

export interface ServerPart extends DrainPart {
  health(): { readonly inFlight: number };
}

/** Before the server listens: connections are counted from then on. */
export function fromServer(server: ServerLike): ServerPart {
  const connections = new Map<Socket, number>();
  const answers = new Set<ServerResponse>();
  let isEnding = false;

  /** Tells the client that this is the last answer on its connection, so that it sends nothing more on it. */
  function sayLast(response: ServerResponse): void {
    if (!response.headersSent) response.shouldKeepAlive = false;
  }

  function count(socket: Socket, change: 1 | -1): void {
    const requests = (connections.get(socket) ?? 0) + change;
    connections.set(socket, requests);
    if (isEnding && requests === 0) socket.end();
  }

  // Requests over TLS come on its own socket, not on the one beneath it.
  server.on("setSecureContext" in server ? "secureConnection" : "connection", (socket: Socket) => {
    connections.set(socket, 0);
    socket.once("close", () => connections.delete(socket));
  });
  server.prependListener("request", ({ socket }, response) => {
    answers.add(response);
    count(socket, 1);
    if (isEnding) sayLast(response);
    response.once("close", () => {
      answers.delete(response);
      if (connections.has(socket)) count(socket, -1);
    });
  });

  return {
    async stop({ drainMs }) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      isEnding = true;
      answers.forEach(sayLast);
      for (const [socket, requests] of connections) if (requests === 0) socket.end();
      await withDeadline(systemEnvironment, drainMs, () => closed).catch(() => server.closeAllConnections());
    },
    health: () => ({ inFlight: answers.size }),
  };
}
