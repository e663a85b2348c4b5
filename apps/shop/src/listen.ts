/** Listening, and ending without cutting anybody off. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { fromServer, type ServerPart } from "ichido/node";
import { StartError } from "./errors.ts";

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, waits for the answers under way, then cuts what is left. */
  readonly part: ServerPart;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there; choose another port (0 picks a free one)",
  EACCES: "this user may not use that port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "that host name is not known",
};

export async function listen(handler: RequestListener, host: string, port: number): Promise<Listening> {
  const server = createServer(handler);
  const part = fromServer(server);
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
    part,
  };
}

function authority(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
