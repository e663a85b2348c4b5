/** A client that shows what went over the wire, and that can break the rules of HTTP. */
import assert from "node:assert/strict";
import { once } from "node:events";
import * as http from "node:http";
import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { planHeader, writePlan, type Plan } from "./plan.ts";
import { routePrefix, type RouteName } from "./routes.ts";

export interface Ask {
  /** Under the prefix: `create`, `create/7?x=1`. */
  readonly to?: RouteName | (string & {});
  readonly method?: string;
  /** As the header value, quotes included; several lines as an array; null for no header. */
  readonly key?: string | readonly string[] | null;
  readonly token?: string;
  readonly plan?: Plan;
  readonly json?: unknown;
  /** In place of `json`; an empty string sends no body. */
  readonly content?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly chunked?: boolean;
  /** Default: a connection for each request. */
  readonly agent?: http.Agent;
}

export interface Reply {
  readonly status: number;
  /** Every line of a header. */
  lines(name: string): readonly string[];
  header(name: string): string | undefined;
  readonly body: Buffer;
  json(): Readonly<Record<string, unknown>>;
  /** Informational answers that came before. */
  readonly informational: readonly number[];
}

const replyMs = 25_000;
export const usualBody = { amount: 100, currency: "EUR" };

function headersOf(ask: Ask): Record<string, string | readonly string[]> {
  const { key, plan, token = "alice-1" } = ask;
  return {
    authorization: `Bearer ${token}`,
    ...(key === null || key === undefined ? {} : { "idempotency-key": key }),
    ...(plan === undefined ? {} : { [planHeader]: writePlan(plan) }),
    ...(ask.content === "" ? {} : { "content-type": "application/json" }),
    ...ask.headers,
  };
}

export function targetOf(ask: Ask): string {
  return `${routePrefix}/${ask.to ?? "create"}`;
}

function bodyOf(ask: Ask): Uint8Array {
  if (ask.content !== undefined) return Buffer.from(ask.content as string);
  return Buffer.from(JSON.stringify(ask.json ?? usualBody));
}

export async function ask(port: number, options: Ask): Promise<Reply> {
  const body = bodyOf(options);
  const method = options.method ?? "POST";
  const framing = options.chunked === true ? { "transfer-encoding": "chunked" } : { "content-length": body.length };
  const isEmpty = body.length === 0 && options.chunked !== true;
  const headers = { ...(isEmpty ? {} : framing), ...headersOf(options) } as http.OutgoingHttpHeaders;
  const request = http.request({
    host: "127.0.0.1",
    port,
    method,
    path: targetOf(options),
    headers,
    agent: options.agent ?? false,
  });
  const informational: number[] = [];
  request.on("information", ({ statusCode }) => informational.push(statusCode));
  request.setTimeout(replyMs, () => request.destroy(new Error(`no answer within ${replyMs} ms`)));
  // In two pieces, so that a body is never in one chunk with the head.
  if (!isEmpty) request.write(body.subarray(0, body.length >> 1));
  request.end(isEmpty ? undefined : body.subarray(body.length >> 1));
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return replyOf(response.statusCode ?? 0, response.rawHeaders, Buffer.concat(chunks), informational);
}

function replyOf(status: number, raw: readonly string[], body: Buffer, informational: readonly number[]): Reply {
  const lines = (name: string): readonly string[] =>
    raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name.toLowerCase());
  return {
    status,
    lines,
    header: (name) => lines(name)[0],
    body,
    json: () => JSON.parse(body.toString()) as Record<string, unknown>,
    informational,
  };
}

/** The request as text, so that any byte can be put into it. */
export function requestText(options: Ask, cutBody = 0): string {
  const body = Buffer.from(bodyOf(options)).toString("latin1");
  const lines = Object.entries(headersOf(options)).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((line) => `${name}: ${line}\r\n`),
  );
  const head = `${options.method ?? "POST"} ${targetOf(options)} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join("")}`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, body.length - cutBody)}`;
}

/** A connection on which the request was sent; the test decides how it goes on. */
export async function sendRaw(port: number, text: string): Promise<net.Socket> {
  const socket = net.connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text, "latin1");
  return socket;
}

/** The status line that comes back for raw text; 0 when the connection is closed without one. */
export async function rawStatus(port: number, text: string): Promise<number> {
  const socket = await sendRaw(port, text);
  let seen = "";
  const timer = setTimeout(() => socket.destroy(), replyMs);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    seen += (chunk as Buffer).toString("latin1");
    if (seen.includes("\r\n\r\n")) break;
  }
  clearTimeout(timer);
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(seen)?.[1] ?? 0);
}

/** Polls: a slow machine makes a case slower, never wrong. */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await check())) {
    assert.ok(performance.now() < untilMs, `not within ${withinMs} ms: ${what}`);
    await sleep(15);
  }
}
