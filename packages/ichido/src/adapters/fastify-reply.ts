/** Answers on Fastify's reply, as Fastify itself and Nest on Fastify need them. */
import type { ServerResponse } from "node:http";
import { linesOf as linesOfAnswer } from "../core/engine/answer.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import type { AnswerLike } from "../core/contract/options.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { headerOf, layerHeaders } from "../core/engine/recorder.ts";
import { contentOf } from "../http/handed-answer.ts";
import { dropConnectionLines } from "../http/http2.ts";
import { isHttp2 } from "../http/node-request.ts";
import { isPlain, payloadOf } from "../http/payload.ts";
import type { Run } from "../http/node-guard.ts";
import type { Capture } from "../http/node-response.ts";

/** What this file needs from a reply. */
export interface ReplyLike {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
  removeHeader(name: string): unknown;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  send(payload?: unknown): unknown;
  hijack(): unknown;
}

export type SendHook = (request: unknown, reply: ReplyLike, payload: unknown) => Promise<unknown>;

export interface HookedInstance {
  addHook(name: "onSend", hook: SendHook): unknown;
  after(done: () => void): unknown;
}

/**
 * What the next payload of a reply is: the handler's, which is recorded now, or one that is recorded already or never.
 */
type Awaited =
  | { readonly kind: "handler"; readonly capture: Capture }
  | ({ readonly kind: "answer" } & NeutralResponse);

const awaited = new WeakMap<ServerResponse, Awaited>();

function setHead(reply: ReplyLike, { status, headers }: NeutralResponse): void {
  const grouped = new Map<string, string[]>();
  for (const [name, value] of headers) grouped.set(name, [...(grouped.get(name) ?? []), value]);
  for (const [name, values] of grouped) reply.header(name, values.length === 1 ? (values[0] ?? "") : values);
  reply.code(status);
}

/** Lines that hooks set before the handler ran are on Node's response, too, and stay. */
function clearHead(reply: ReplyLike): void {
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
}

/** Through Fastify's own reply, so that hooks of all plugins see it like any answer. */
export function answerOnReply(reply: ReplyLike, answer: NeutralResponse): void {
  setHead(reply, answer);
  awaited.set(reply.raw, { kind: "answer", ...answer });
  const { buffer, byteOffset, length } = answer.body;
  reply.send(length === 0 ? undefined : Buffer.from(buffer, byteOffset, length));
}

/** As if the handler had sent it, so that schemas and hooks treat it like any value. */
export function presentOnReply(reply: ReplyLike, answer: AnswerLike): boolean {
  if (reply.sent) return false;
  setHead(reply, { status: answer.status, headers: linesOfAnswer(answer), body: Buffer.alloc(0) });
  const send = reply.send.bind(reply);
  (reply as { send: unknown }).send = () => reply;
  send(answer.body);
  return true;
}

/**
 * Lines that hooks set before the handler ran count as theirs: a replay carries what they set for the present request.
 */
function noteHooksLines(reply: ReplyLike): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
}

/** The handler answers on this reply. */
export function captureReply(reply: ReplyLike, { capture }: Run): void {
  noteHooksLines(reply);
  const captured = capture((answer) => {
    // Hijacked: what is sent goes past the reply.
    if (reply.sent) return "not-taken";
    captured.open();
    clearHead(reply);
    answerOnReply(reply, answer);
    // The answer is given: what the handler still sends is ignored.
    (reply as { send: unknown }).send = () => reply;
    return "taken";
  });
  awaited.set(reply.raw, { kind: "handler", capture: captured });
}

/** As Fastify itself does it when it sends a payload, which is after all hooks. */
function unfold(reply: ReplyLike, payload: unknown): unknown {
  if (!(payload instanceof Response)) return payload;
  reply.code(payload.status);
  for (const [name, value] of payload.headers) reply.header(name, value);
  return payload.body;
}

/** After all hooks, Fastify removes the content type from an answer that can have no content. */
function linesOf(reply: ReplyLike, capture: Capture): readonly HeaderLine[] {
  const all = reply.getHeaders();
  const lines = capture.linesOf({ getHeaderNames: () => Object.keys(all), getHeader: (name) => all[name] });
  return reply.raw.statusCode === 204 ? lines.filter(([name]) => name !== "content-type") : lines;
}

/** An error of another hook is being made into an answer, which may be one without content. */
function isHandlingError(reply: object): boolean {
  const symbol = Object.getOwnPropertySymbols(reply).find(
    ({ description }) => description === "fastify.reply.nextErrorHandler",
  );
  return symbol !== undefined && Boolean((reply as Record<symbol, unknown>)[symbol]);
}

/**
 * Where the promise of a handler that has answered by `reply.send` resolves to nothing, and nothing has left yet, Fastify
 * sends nothing as the answer. The true one is on its way: being recorded, or between this hook and the connection.
 */
function sendSomething(this: ReplyLike, payload?: unknown): unknown {
  if (payload === undefined && !isHandlingError(this)) return this;
  return (Object.getPrototypeOf(this) as ReplyLike).send.call(this, payload);
}

async function recordAnswer(reply: ReplyLike, capture: Capture, given: unknown): Promise<unknown> {
  const payload = unfold(reply, given);
  const content = contentOf(payload);
  if (content === undefined) return payload;
  if (isHttp2(reply.raw.req)) dropConnectionLines(reply);
  if (!Object.hasOwn(reply, "send")) (reply as { send: unknown }).send = sendSomething;
  const headers = linesOf(reply, capture);
  const taken = await capture.hand({ status: reply.raw.statusCode, headers, content });
  if (taken === undefined) return payload;
  if (taken.kind === "replace") {
    clearHead(reply);
    setHead(reply, taken.response);
    // Not undefined: by that a hook says that it changes nothing.
    return taken.response.body.length === 0 ? null : payloadOf(taken.response);
  }
  for (const name of layerHeaders) reply.removeHeader(name);
  for (const [name, value] of taken.addHeaders) reply.header(name, value);
  if (typeof payload === "string") return isPlain(headers) ? payload : content;
  // Undefined and null say something else to Fastify than an empty buffer.
  return typeof payload === "object" && payload !== null ? taken.content : payload;
}

const passAnswer: SendHook = async (_request, reply, payload) => {
  const next = awaited.get(reply.raw);
  awaited.delete(reply.raw);
  if (next === undefined) return payload;
  if (next.kind === "handler") return recordAnswer(reply, next.capture, payload);
  // Fastify adds a content type to bytes that have none.
  if (headerOf(next.headers, "content-type") === undefined) reply.removeHeader("content-type");
  return next.body.length === 0 ? payload : payloadOf(next);
};

interface Internals {
  readonly hooks?: { readonly onSend: SendHook[] } | undefined;
  readonly children?: readonly object[] | undefined;
}

function internalsOf(app: object): Internals {
  const symbols = Object.getOwnPropertySymbols(app);
  const named = (name: string): unknown => {
    const found = symbols.find(({ description }) => description === `fastify.${name}`);
    return found === undefined ? undefined : (app as Record<symbol, unknown>)[found];
  };
  return { hooks: named("hooks"), children: named("children") } as Internals;
}

function moveFirst(app: object): void {
  const { hooks, children = [] } = internalsOf(app);
  const index = hooks?.onSend.indexOf(passAnswer) ?? -1;
  if (index > 0) hooks?.onSend.unshift(...hooks.onSend.splice(index, 1));
  for (const child of children) moveFirst(child);
}

/**
 * Adds the hook that runs before all other `onSend` hooks, whichever plugin was registered first. So changes by other
 * hooks are never stored, and each hook sees the first answer and every replay once. Fastify has no option for "first",
 * so this uses its internals; should these change, the order of registration decides.
 */
export function addSendHook(app: HookedInstance): void {
  app.addHook("onSend", passAnswer);
  app.after(() => moveFirst(app));
}
