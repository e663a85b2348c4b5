/**
 * The network between buyer and lane: a server of its own that passes requests on, counts them, and on demand destroys the
 * buyer's socket before the lane has seen the request, or after the lane has answered it.
 */
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { LaneName, Raw } from "./contract.ts";
import type { EventLog } from "./event-log.ts";

export type Cut = "before-arrival" | "after-answer";

export interface FaultProxy {
  readonly url: string;
  /** Requests that were passed on and are not answered. */
  readonly inFlight: number;
  /** Of the next payment; once. */
  cut(how: Cut): void;
  /** Back to a good network. */
  heal(): void;
  close(): Promise<void>;
}

/** Names the run in a request, so that the log can tell payments apart; the lanes do not decide by it. */
export const RUN_HEADER = "playground-run";

interface Parts {
  readonly lane: LaneName;
  readonly log: EventLog;
  readonly target: () => number;
}

export async function startFaultProxy(parts: Parts): Promise<FaultProxy> {
  const armed: { cut: Cut | undefined } = { cut: undefined };
  let inFlight = 0;
  const server = createServer((request, response) => {
    inFlight += 1;
    void pass(parts, armed, request, response).finally(() => {
      inFlight -= 1;
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get inFlight() {
      return inFlight;
    },
    cut: (how) => {
      armed.cut = how;
    },
    heal: () => {
      armed.cut = undefined;
    },
    close: () => close(server),
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

async function pass(
  { lane, log, target }: Parts,
  armed: { cut: Cut | undefined },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const run = String(request.headers[RUN_HEADER] ?? "");
  const known = { who: "proxy", lane, pid: process.pid, ...(run === "" ? {} : { run }) } as const;
  const body = await buffer(request).catch(() => undefined);
  if (body === undefined) return;
  let hasLeft = false;
  const destroy = (): void => {
    response.off("close", leaves);
    request.socket.resetAndDestroy();
  };
  const leaves = (): void => {
    hasLeft = !response.writableFinished;
    if (hasLeft) log.note({ ...known, what: "left", detail: "the buyer's socket was closed from its end" });
  };
  log.note({ ...known, what: "arrived", detail: `${request.method} ${request.url}`, raw: requestText(request, body) });
  response.once("close", leaves);
  const takesEffect = request.method === "POST";
  if (takesEffect && armed.cut === "before-arrival") {
    armed.cut = undefined;
    log.note({ ...known, what: "cut", detail: "socket destroyed, the lane saw nothing" });
    destroy();
    return;
  }
  const answer = await forward(target(), request, body);
  if ("failed" in answer) {
    const { code: errno } = answer.failed;
    const detail = hasLeft ? "the buyer had left" : "so the buyer's is destroyed";
    log.note({ ...known, what: "lost", ...(errno === undefined ? {} : { errno }), detail });
    destroy();
    return;
  }
  const { status, headers, content } = answer;
  const raw = wire(answer.head, content);
  const replayed = headers["idempotency-replayed"] === "true" ? { detail: "replayed" } : {};
  if (hasLeft) {
    log.note({ ...known, what: "unheard", status, ...replayed, raw });
    return;
  }
  if (takesEffect && armed.cut === "after-answer") {
    armed.cut = undefined;
    const detail = "the lane answered; socket destroyed";
    log.note({ ...known, what: "cut", status, detail, raw });
    destroy();
    return;
  }
  log.note({ ...known, what: "answered", status, ...replayed, raw });
  response.writeHead(status, { ...headers, connection: "close" }).end(content);
}

type Answer =
  | {
      readonly status: number;
      readonly headers: IncomingMessage["headers"];
      readonly content: Buffer;
      /** Its line and header lines, as they came. */
      readonly head: string;
    }
  | { readonly failed: NodeJS.ErrnoException };

function headText(line: string, { rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1] ?? ""}`] : []));
  return [line, ...lines].join("\r\n");
}

function wire(head: string, content: Buffer): Raw {
  return { kind: "wire", text: `${head}\r\n\r\n${content.toString("utf8")}` };
}

function requestText(request: IncomingMessage, body: Buffer): Raw {
  return wire(headText(`${request.method} ${request.url} HTTP/${request.httpVersion}`, request), body);
}

/** A connection for each request: one that is reused may be dead without anybody's fault. */
function forward(port: number, request: IncomingMessage, body: Buffer): Promise<Answer> {
  const { "transfer-encoding": _encoding, connection: _connection, ...headers } = request.headers;
  return new Promise((resolve) => {
    const fail = (failed: NodeJS.ErrnoException): void => resolve({ failed });
    const outgoing = send(
      {
        host: "127.0.0.1",
        port,
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: { ...headers, "content-length": String(body.length) },
        agent: false,
      },
      (incoming) => {
        buffer(incoming).then((content) => {
          const { "transfer-encoding": _chunked, connection: _kept, ...told } = incoming.headers;
          const { statusCode = 502, statusMessage = "" } = incoming;
          const head = headText(`HTTP/${incoming.httpVersion} ${statusCode} ${statusMessage}`, incoming);
          resolve({ status: statusCode, headers: told, content, head });
        }, fail);
      },
    );
    outgoing.on("error", fail).end(body);
  });
}
