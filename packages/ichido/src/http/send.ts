/** Writes an answer on a Node response. */
import type { ServerResponse } from "node:http";
import { defaults } from "../core/contract/defaults.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import { problemOf, problemResponse } from "../core/contract/problem.ts";
import { isFinalStatus, isSendableHeader } from "../core/engine/recorder.ts";
import { replaceHeaders, setContentLength } from "./header-lines.ts";
import { isHttp2 } from "./http2.ts";

/** The methods by which an answer leaves, as they were when this was made: a capture keeps those that it wraps. */
export interface Outlet {
  write(this: void, ...values: unknown[]): boolean;
  end(this: void, ...values: unknown[]): ServerResponse;
  writeHead(this: void, ...values: unknown[]): ServerResponse;
  flushHeaders(this: void): void;
  destroy(this: void, error?: Error): ServerResponse;
}

export function outletOf(response: ServerResponse): Outlet {
  return {
    write: response.write.bind(response) as Outlet["write"],
    end: response.end.bind(response) as Outlet["end"],
    writeHead: response.writeHead.bind(response) as Outlet["writeHead"],
    flushHeaders: response.flushHeaders.bind(response),
    destroy: response.destroy.bind(response) as Outlet["destroy"],
  };
}

/** RFC 9110 sections 6.4.1 and 9.3.2: no content in 1xx, 204 and 304, nor in answers to HEAD. */
export function hasContent(response: ServerResponse, status: number): boolean {
  return status >= 200 && status !== 204 && status !== 304 && response.req.method !== "HEAD";
}

/** Where nobody has set a length, Node does by what it gets in the end; not on HTTP/2. */
export function tellLength(response: ServerResponse, length: number): void {
  if (isHttp2(response.req) || response.hasHeader("content-length")) setContentLength(response, length);
}

function isSendable(answer: NeutralResponse): boolean {
  const { status } = answer;
  return isFinalStatus(status) && answer.headers.every(isSendableHeader);
}

/** A row that somebody edited by hand must not take the process down, nor hang its caller. */
function unsendable(answer: NeutralResponse): NeutralResponse {
  const detail = `The stored answer (status ${String(answer.status).slice(0, 20)}) cannot be sent over HTTP.`;
  const problem = problemOf("value-not-serialisable", { detail }, defaults.problemBase);
  return problemResponse(problem, { problemBase: defaults.problemBase, docsUrl: undefined, formatProblem: undefined });
}

/** What can be sent, for every adapter alike. */
export function sendableOf(answer: NeutralResponse): NeutralResponse {
  return isSendable(answer) ? answer : unsendable(answer);
}

/** Headers that outer layers have set stay, unless the answer names them. `Date` is Node's own. */
export function sendAnswer(response: ServerResponse, answer: NeutralResponse, outlet = outletOf(response)): void {
  // Someone else has answered already, such as a timeout of an outer layer: a second answer would be an error.
  if (response.headersSent || response.writableEnded) return;
  const { status, headers, body } = sendableOf(answer);
  replaceHeaders(response, headers);
  const content = hasContent(response, status);
  if (content) tellLength(response, body.length);
  if (!isHttp2(response.req)) response.statusMessage = "";
  // Head and length are left to Node: a layer in front may set headers in its own `end`, or change the bytes.
  response.statusCode = status;
  outlet.end(content ? body : undefined);
}
