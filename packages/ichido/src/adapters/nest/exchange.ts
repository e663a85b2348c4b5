/** One request on either platform, as the guard needs it. */
import type { ServerResponse } from "node:http";
import type { NeutralResponse } from "../../core/contract/message.ts";
import type { Run } from "../../http/node-guard.ts";
import { noteBytes, type NodeRequest } from "../../http/node-request.ts";
import { sendAnswer } from "../../http/send.ts";
import { answerOnReply, captureReply, type ReplyLike } from "../fastify-reply.ts";
import type { FastifyRequestShape, RequestExtras } from "./shapes.ts";

export interface NestExchange {
  readonly request: NodeRequest;
  readonly response: ServerResponse;
  answer(this: void, answer: NeutralResponse): void;
  /** Lets the handler run, with its context. */
  run(this: void, run: Run): void;
  /** From now on nothing that Nest answers reaches the client. */
  silence(this: void): void;
  setLine(this: void, name: string, value: string | readonly string[]): void;
}

/** Nest answers with whatever an interceptor gives; an adapter cannot say that the answer has been sent. */
function silenceResponse(response: ServerResponse): void {
  const quiet = response as unknown as Record<string, unknown>;
  for (const name of ["setHeader", "setHeaders", "appendHeader", "removeHeader", "writeHead", "end"]) {
    quiet[name] = () => response;
  }
  quiet["flushHeaders"] = () => undefined;
  quiet["write"] = () => true;
}

/** Nest's `rawBody` option keeps decoded bytes. They equal the bytes sent only where there was no content coding. */
function noteRawBody(request: NodeRequest, { rawBody }: RequestExtras): void {
  if (rawBody instanceof Uint8Array && request.headers["content-encoding"] === undefined) noteBytes(request, rawBody);
}

function onExpress(request: NodeRequest & RequestExtras, response: ServerResponse): NestExchange {
  noteRawBody(request, request);
  return {
    request,
    response,
    answer: (answer) => sendAnswer(response, answer),
    run({ execution, capture }) {
      request.idempotency = execution.context;
      capture();
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
    request: raw,
    response: reply.raw,
    answer: (answer) => answerOnReply(reply, answer),
    run(run) {
      request.idempotency = run.execution.context;
      // Lines of `@Header()` count as lines of hooks.
      captureReply(reply, run);
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
