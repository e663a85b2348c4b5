/** One request on either platform, as the guard needs it. */
import type { ServerResponse } from "node:http";
import type { Exchange } from "../../http/node-guard.ts";
import type { NodeRequest } from "../../http/node-request.ts";
import { noteBytes } from "../../http/request-bytes.ts";
import { sendAnswer } from "../../http/send.ts";
import { noteHooksLines, replyExchange, type ReplyLike } from "../fastify-reply.ts";
import type { FastifyRequestShape, RequestExtras } from "./shapes.ts";

export interface NestExchange {
  readonly exchange: Exchange<never>;
  /** From now on Nest may answer as it likes; nothing of it arrives. */
  silence(this: void): void;
  setLine(this: void, name: string, value: string | readonly string[]): void;
}

/** Nest answers with whatever an interceptor gives; there is no way to tell it that the answer has been sent. */
function silenceResponse(response: ServerResponse): void {
  const quiet = response as unknown as Record<string, unknown>;
  for (const name of ["setHeader", "setHeaders", "appendHeader", "removeHeader", "writeHead", "end"]) {
    quiet[name] = () => response;
  }
  quiet["flushHeaders"] = () => undefined;
  quiet["write"] = () => true;
}

/** What Nest's `rawBody` option keeps is decoded already, so that it stands for the bytes only where nothing was coded. */
function noteRawBody(request: NodeRequest, { rawBody }: RequestExtras): void {
  if (rawBody instanceof Uint8Array && request.headers["content-encoding"] === undefined) noteBytes(request, rawBody);
}

function onExpress(request: NodeRequest & RequestExtras, response: ServerResponse): NestExchange {
  noteRawBody(request, request);
  return {
    exchange: {
      request,
      response,
      native: request as never,
      answer: (answer) => sendAnswer(response, answer),
      prepare: ({ context }) => {
        request.idempotency = context;
      },
    },
    silence: () => silenceResponse(response),
    setLine: (name, value) => void response.setHeader(name, value),
  };
}

function onFastify(request: FastifyRequestShape & RequestExtras, reply: ReplyLike): NestExchange {
  const { raw } = request;
  noteRawBody(raw, request);
  if (request.body !== undefined) raw.body ??= request.body;
  return {
    exchange: {
      request: raw,
      response: reply.raw,
      native: request as never,
      ...replyExchange(reply),
      prepare: ({ context }) => {
        request.idempotency = context;
        // Also those of `@Header()`.
        noteHooksLines(reply);
      },
    },
    setLine: (name, value) => void reply.header(name, typeof value === "string" ? value : [...value]),
    silence: () => {
      (reply as { send: unknown }).send = () => reply;
    },
  };
}

export function nestExchange(request: unknown, response: unknown): NestExchange {
  const isFastify = (response as Partial<ReplyLike>).raw !== undefined;
  return isFastify
    ? onFastify(request as FastifyRequestShape, response as ReplyLike)
    : onExpress(request as NodeRequest, response as ServerResponse);
}
