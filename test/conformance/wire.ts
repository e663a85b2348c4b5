/** A plain HTTP server around one capture, and clients that show what went over the wire. */
import { once } from "node:events";
import * as http from "node:http";
import * as net from "node:net";
import type { AddressInfo } from "node:net";
import type { Execution, HandlerOutcome, NeutralResponse, Settled } from "ichido";
import { captureResponse } from "../../packages/ichido/src/http/node-response.ts";

export interface Recorded {
  readonly outcomes: HandlerOutcome[];
  readonly streams: { readonly status: number; readonly headers: readonly (readonly [string, string])[] }[];
}

export interface WireOptions {
  readonly bodyBytesMax?: number;
  readonly quietMs?: number;
  /** Before the capture is put on. */
  readonly outer?: (request: http.IncomingMessage, response: http.ServerResponse) => void;
  /** The answer that the context makes. */
  readonly provided?: Promise<NeutralResponse>;
  readonly settled?: () => Settled | Promise<Settled>;
}

export interface Wire {
  readonly port: number;
  readonly recorded: Recorded;
  close(): Promise<void>;
}

const sendAsIs: Settled = { kind: "send", addHeaders: [] };

export async function startWire(handler: http.RequestListener, options: WireOptions = {}): Promise<Wire> {
  const recorded: Recorded = { outcomes: [], streams: [] };
  const server = http.createServer((request, response) => {
    options.outer?.(request, response);
    const execution: Execution = {
      context: {} as Execution["context"],
      bodyBytesMax: options.bodyBytesMax ?? 1_048_576,
      onProvided: (listener) => void options.provided?.then(listener),
      async settle(outcome) {
        recorded.outcomes.push(outcome);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return (await options.settled?.()) ?? sendAsIs;
      },
      async beginStream(head) {
        recorded.streams.push(head);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return (await options.settled?.()) ?? sendAsIs;
      },
    };
    captureResponse(request, response, execution, { quietMs: options.quietMs ?? 30_000 });
    handler(request, response);
  });
  // A connection that is left open must not end by itself within a test.
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    recorded,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly trailers: NodeJS.Dict<string>;
  readonly informational: readonly number[];
}

export async function ask(
  port: number,
  options: http.RequestOptions & { readonly content?: string | Buffer } = {},
): Promise<Reply> {
  const { content, ...rest } = options;
  const request = http.request({ port, host: "127.0.0.1", method: "POST", path: "/", agent: false, ...rest });
  const informational: number[] = [];
  request.on("information", (info) => informational.push(info.statusCode));
  request.end(content);
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: Buffer.concat(chunks),
    trailers: response.trailers,
    informational,
  };
}

/** Sends text as it is and gives the socket, for clients that stop half way. */
export async function connect(port: number, text: string): Promise<net.Socket> {
  const socket = net.connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => undefined);
  socket.write(text, "latin1");
  return socket;
}

export async function until(what: string, test: () => boolean | Promise<boolean>, withinMs = 5_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await test())) {
    if (performance.now() > endMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
