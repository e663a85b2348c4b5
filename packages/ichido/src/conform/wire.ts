/**
 * The runner's own client: it shows every header line, follows no redirect, and can send what libraries refuse to send.
 */
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import * as net from "node:net";
import * as tls from "node:tls";

export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  /** In order; repeated names repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

export interface WireReply {
  readonly status: number;
  lines(name: string): readonly string[];
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** The body as JSON; undefined when it is not JSON. */
  json(): unknown;
}

export const replyMsMax = 30_000;
const replyBytesMax = 16 * 1_048_576;

export function replyOf(status: number, raw: readonly string[], body: Buffer): WireReply {
  const lines = (name: string): readonly string[] =>
    raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name.toLowerCase());
  return {
    status,
    lines,
    header: (name) => lines(name)[0],
    body,
    json() {
      try {
        return JSON.parse(body.toString()) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}

async function bodyOf(response: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > replyBytesMax) throw new Error(`the answer is longer than ${replyBytesMax} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

export async function exchange({ method, url, headers, body }: WireRequest): Promise<WireReply> {
  const grouped: Record<string, string[]> = {};
  for (const [name, value] of headers) (grouped[name.toLowerCase()] ??= []).push(value);
  if (body.length > 0) grouped["content-length"] = [String(body.length)];
  const request = (url.protocol === "https:" ? https : http).request(url, { method, headers: grouped, agent: false });
  const timer = setTimeout(() => request.destroy(new Error(`no answer within ${replyMsMax} ms`)), replyMsMax);
  try {
    request.end(body);
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    return replyOf(response.statusCode ?? 0, response.rawHeaders, await bodyOf(response));
  } finally {
    clearTimeout(timer);
  }
}

function requestText({ method, url, headers, body }: WireRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return (
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n${lines}` +
    `Content-Length: ${body.length}\r\n\r\n${Buffer.from(body).toString("latin1")}`
  );
}

/** A connection on which the whole request was written, byte for byte as given. */
export async function sendRaw(request: WireRequest): Promise<net.Socket> {
  const { protocol, hostname, port } = request.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  const secure = protocol === "https:";
  const at = { host, port: Number(port || (secure ? 443 : 80)) };
  const socket = secure ? tls.connect({ ...at, servername: host }) : net.connect(at);
  await once(socket, secure ? "secureConnect" : "connect");
  socket.on("error", () => undefined);
  socket.write(requestText(request), "latin1");
  return socket;
}

/** Only the head of the answer; status 0 when the connection is closed without one. */
export async function rawExchange(request: WireRequest): Promise<WireReply> {
  const socket = await sendRaw(request);
  const timer = setTimeout(() => socket.destroy(), replyMsMax);
  let seen = "";
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      seen += (chunk as Buffer).toString("latin1");
      if (seen.includes("\r\n\r\n") || seen.length > 65_536) break;
    }
  } catch {
    // A connection that the server resets after its answer counts as answered.
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
  const [head = ""] = seen.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const raw = lines.flatMap((line) => {
    const colon = line.indexOf(":");
    return colon < 0 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return replyOf(Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? 0), raw, Buffer.alloc(0));
}
