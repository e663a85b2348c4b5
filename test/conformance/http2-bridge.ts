/** The adapter suite speaks HTTP/1.1: this leads its requests over HTTP/2, one stream each, to an application that knows no other. */
import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { RunningApp } from "ichido/testing";

/** RFC 9113 section 8.2.2: lines that have no place in HTTP/2. */
const connectionLines = new Set(["connection", "host", "keep-alive", "transfer-encoding", "upgrade", "expect"]);

/** An HTTP/2 server, in clear text, under the name of an HTTP/1.1 one. */
export function http2Server(listener: http.RequestListener): http.Server {
  const server = http2.createServer(listener as never);
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const closeAllConnections = (): void => sessions.forEach((session) => session.destroy());
  return Object.assign(server, { closeAllConnections }) as unknown as http.Server;
}

function headersOf(request: http.IncomingMessage): http2.OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = (request.rawHeaders[index] ?? "").toLowerCase();
    const value = request.rawHeaders[index + 1] ?? "";
    if (connectionLines.has(name)) continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return { ":method": request.method, ":path": request.url, ":authority": "127.0.0.1", ...headers };
}

function linesOf(raw: readonly string[]): string[] {
  return raw.flatMap((name, index) => (index % 2 === 0 && !name.startsWith(":") ? [name, raw[index + 1] ?? ""] : []));
}

function lead(session: http2.ClientHttp2Session, request: http.IncomingMessage, response: http.ServerResponse): void {
  const hasBody =
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  const stream = session.request(headersOf(request), { endStream: !hasBody });
  const cut = (): void => void response.destroy();
  stream.on("error", cut);
  stream.on("aborted", cut);
  stream.on("headers", (headers) => {
    if (headers[":status"] === 103) response.writeEarlyHints({ link: headers["link"] as string });
  });
  stream.on("response", (headers, _flags, raw: string[]) => {
    response.writeHead(headers[":status"] ?? 0, linesOf(raw));
  });
  stream.pipe(response);
  stream.on("close", () => {
    if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) cut();
  });
  const leave = (): void => {
    if (!response.writableFinished) stream.close(http2.constants.NGHTTP2_CANCEL);
  };
  response.on("close", leave);
  if (hasBody) request.pipe(stream);
  request.on("error", leave);
}

export async function overHttp2(app: RunningApp): Promise<RunningApp> {
  const session = http2.connect(`http://127.0.0.1:${app.port}`);
  session.on("error", () => undefined);
  const server = http.createServer((request, response) => lead(session, request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    harness: app.harness,
    async close() {
      server.closeAllConnections();
      server.close();
      session.destroy();
      await app.close();
    },
  };
}
