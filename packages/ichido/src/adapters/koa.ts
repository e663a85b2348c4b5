/** Koa 3. `captureBody()` before the body parser, `idempotency(ichido, options)` before the handler. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Context } from "../core/contract/context.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import type { Decider, RouteOptions } from "../core/contract/options.ts";
import { headerOf } from "../core/engine/recorder.ts";
import { captureLimitsOf, type BodyOptions } from "../http/body-limits.ts";
import { contentOf, type Content } from "../http/handed-answer.ts";
import { dropConnectionLines } from "../http/http2.ts";
import { payloadOf } from "../http/payload.ts";
import { createNodeGuard, wireNames, type WireOptions } from "../http/node-guard.ts";
import { captureBytes, isHttp2, type NodeRequest } from "../http/node-request.ts";
import type { Capture } from "../http/node-response.ts";
import { replaceHeaders, sendableOf, setLayerLines } from "../http/send.ts";

/** What the middleware needs from Koa's context. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: ServerResponse;
  readonly request: object;
  respond?: boolean | undefined;
  readonly state: object;
  status: number;
  body?: unknown;
  set(name: string, value: string | string[]): unknown;
  remove(name: string): unknown;
}

/** The answer on the context, as the value that Koa would serialise; undefined where Koa makes the answer itself. */
function contentOfBody({ status, body, response }: KoaContext & { readonly response?: object }): Content | undefined {
  if (status === 204 || status === 205 || status === 304) return contentOf(undefined);
  if (body === undefined) return undefined;
  if (body === null) {
    const { _explicitNullBody: isEmpty } = response as { readonly _explicitNullBody?: boolean };
    return isEmpty === true ? contentOf(null) : undefined;
  }
  // Koa takes buffers alone for bytes, and writes any other list of them as JSON.
  if (body instanceof Uint8Array && !Buffer.isBuffer(body)) return Buffer.from(JSON.stringify(body));
  // Koa has taken status and lines from it already.
  if (body instanceof Response) return contentOf(body.body);
  return contentOf(body) ?? Buffer.from(JSON.stringify(body));
}

function valueOf(answer: NeutralResponse): unknown {
  const payload = payloadOf(answer);
  const isJson = /json\b/i.test(headerOf(answer.headers, "content-type") ?? "");
  if (!isJson || typeof payload !== "string") return payload;
  try {
    // Layers in front get the value, as they got it the first time, where it serialises to the same bytes.
    const value = JSON.parse(payload) as unknown;
    return typeof value === "object" && value !== null && JSON.stringify(value) === payload ? value : payload;
  } catch {
    return payload;
  }
}

/** As if the handler had answered it, so that layers in front see it like any answer. */
function answerOn(ctx: KoaContext, answer: NeutralResponse): void {
  // Another layer has answered already, such as a timeout.
  if (ctx.res.headersSent || ctx.res.writableEnded) return;
  const { status, headers } = sendableOf(answer);
  replaceHeaders(ctx.res, headers);
  ctx.status = status;
  ctx.body = valueOf(sendableOf(answer));
  if (headerOf(headers, "content-type") === undefined) ctx.remove("content-type");
  ctx.status = status;
}

async function recordAnswer(ctx: KoaContext, capture: Capture): Promise<void> {
  if (ctx.respond === false || ctx.res.headersSent) return;
  const content = contentOfBody(ctx);
  if (content === undefined) return;
  if (isHttp2(ctx.req)) dropConnectionLines(ctx.res);
  const { status } = ctx;
  const taken = await capture.hand({ status, headers: capture.linesOf(ctx.res), content });
  if (taken === undefined) return;
  if (taken.kind === "replace") return answerOn(ctx, taken.response);
  setLayerLines(ctx.res, taken.addHeaders);
  if (content instanceof Readable || Buffer.isBuffer(ctx.body)) setContent(ctx, taken.content);
}

/** Koa gives content a type where there is none. */
function setContent(ctx: KoaContext, content: Content): void {
  const isTyped = ctx.res.hasHeader("content-type");
  ctx.body = content;
  if (!isTyped) ctx.remove("content-type");
}

/** For `new Koa<IdempotencyState>()`. Present in the handler of a request that is protected. */
export interface IdempotencyState<Tx = unknown> {
  idempotency?: Context<Tx>;
}

export type { BodyOptions, WireOptions };
export type KoaNext = () => Promise<unknown>;
export type KoaMiddleware<Ctx> = (ctx: Ctx, next: KoaNext) => Promise<void>;

/** Notes the bytes of the request as they pass to the body parser, so that requests are compared by what was sent. */
export function captureBody(options: BodyOptions = {}): KoaMiddleware<Pick<KoaContext, "req">> {
  const limits = captureLimitsOf(options);
  return async function captureBody(ctx, next) {
    captureBytes(ctx.req, limits);
    await next();
  };
}

/** Protects what comes after it; the handler finds `ctx.state.idempotency`. */
export function idempotency<Ctx extends KoaContext>(
  ichido: Decider<Ctx>,
  options: RouteOptions<Ctx>,
  wire: WireOptions = {},
): KoaMiddleware<Ctx> {
  knownOptions("idempotency", wire, wireNames);
  const { guard } = createNodeGuard(ichido, options, wire);
  return async function idempotency(ctx, next) {
    const { body } = ctx.request as { readonly body?: unknown };
    if (body !== undefined) ctx.req.body ??= body;
    const verdict = await guard(ctx.req, ctx.res, ctx);
    if (verdict.kind === "answer") {
      if (verdict.response === undefined) ctx.respond = false;
      else answerOn(ctx, verdict.response);
      return;
    }
    let captured: Capture | undefined;
    let provided: NeutralResponse | undefined;
    if (verdict.kind === "run") {
      (ctx.state as IdempotencyState).idempotency = verdict.execution.context;
      captured = verdict.capture((answer) => {
        provided = answer;
        return "taken";
      });
    }
    try {
      await next();
    } catch (error) {
      // An answer that the context made stays the answer, whatever is thrown afterwards.
      if (provided === undefined) throw error;
    }
    if (captured === undefined) return;
    if (provided === undefined) return recordAnswer(ctx, captured);
    captured.open();
    ctx.respond = true;
    answerOn(ctx, provided);
  };
}
