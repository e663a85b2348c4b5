/** One request on either platform, as the guard needs it. */
import type { ServerResponse } from "node:http";
import type { Execution } from "../../core/decision.ts";
import type { NeutralResponse } from "../../core/message.ts";
import type { Exchange } from "../../http/node-guard.ts";
import type { NodeRequest } from "../../http/node-request.ts";
import { noteBytes } from "../../http/request-bytes.ts";
import { sendAnswer } from "../../http/send.ts";
import type { FastifyReplyShape, FastifyRequestShape, RequestExtras } from "./shapes.ts";

export interface NestExchange {
  readonly exchange: Exchange<never>;
  /** From now on Nest may answer as it likes; nothing of it arrives. */
  silence(this: void): void;
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
  };
}

/** Through Fastify's own reply, so that hooks of its plugins see it like any answer. */
function answerOnReply(reply: FastifyReplyShape, answer: NeutralResponse): void {
  const grouped = new Map<string, string[]>();
  for (const [name, value] of answer.headers) grouped.set(name, [...(grouped.get(name) ?? []), value]);
  for (const [name, values] of grouped) reply.header(name, values.length === 1 ? (values[0] ?? "") : values);
  reply.code(answer.status);
  const { buffer, byteOffset, length } = answer.body;
  reply.send(length === 0 ? undefined : Buffer.from(buffer, byteOffset, length));
}

function onFastify(request: FastifyRequestShape & RequestExtras, reply: FastifyReplyShape): NestExchange {
  const { raw } = request;
  noteRawBody(raw, request);
  if (request.body !== undefined) raw.body ??= request.body;
  return {
    exchange: {
      request: raw,
      response: reply.raw,
      native: request as never,
      answer: (answer) => answerOnReply(reply, answer),
      prepare: ({ context, provided }: Execution) => {
        request.idempotency = context;
        // What hooks and `@Header()` have set counts as theirs, so that a replay carries their present values.
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
        void provided.then(() => reply.hijack());
      },
    },
    silence: () => {
      (reply as { send: unknown }).send = () => reply;
    },
  };
}

export function nestExchange(request: unknown, response: unknown): NestExchange {
  const isFastify = (response as Partial<FastifyReplyShape>).raw !== undefined;
  return isFastify
    ? onFastify(request as FastifyRequestShape, response as FastifyReplyShape)
    : onExpress(request as NodeRequest, response as ServerResponse);
}
