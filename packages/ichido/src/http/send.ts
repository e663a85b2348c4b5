/** Writes an answer on a Node response. */
import type { ServerResponse } from "node:http";
import { defaults } from "../core/defaults.ts";
import type { NeutralResponse } from "../core/message.ts";
import { problemOf, problemResponse } from "../core/problem.ts";
import { isSendableHeader } from "../core/recorder.ts";
import { replaceHeaders, setContentLength } from "./header-lines.ts";
import { isHttp2 } from "./http2.ts";

/** The methods by which an answer leaves, as they were when this was made: a capture keeps those that it wraps. */
export interface Outlet {
  write(...values: unknown[]): boolean;
  end(...values: unknown[]): ServerResponse;
  writeHead(...values: unknown[]): ServerResponse;
  flushHeaders(): void;
  destroy(error?: Error): ServerResponse;
}

export function outletOf(response: ServerResponse): Outlet {
  const write = response.write.bind(response) as Outlet["write"];
  const end = response.end.bind(response) as Outlet["end"];
  return {
    write,
    end: isHttp2(response.req) ? endByWrite(write, end) : end,
    writeHead: response.writeHead.bind(response) as Outlet["writeHead"],
    flushHeaders: response.flushHeaders.bind(response),
    destroy: response.destroy.bind(response) as Outlet["destroy"],
  };
}

/** Node's `end` of HTTP/2 calls the response's `write`, which may be a capture's by then. */
function endByWrite(write: Outlet["write"], end: Outlet["end"]): Outlet["end"] {
  return (...values) => {
    const [chunk] = values;
    if (chunk === undefined || chunk === null || typeof chunk === "function") return end(...values);
    const [encoding] = values.slice(1).filter((value) => typeof value === "string");
    const callbacks = values.filter((value) => typeof value === "function");
    write(chunk, ...(encoding === undefined ? [] : [encoding]));
    return end(...callbacks);
  };
}

/** RFC 9110 sections 6.4.1 and 9.3.2: no content in 1xx, 204 and 304, nor in answers to HEAD. */
export function hasContent(response: ServerResponse, status: number): boolean {
  return status >= 200 && status !== 204 && status !== 304 && response.req.method !== "HEAD";
}

function isSendable(answer: NeutralResponse): boolean {
  const { status } = answer;
  return Number.isInteger(status) && status >= 200 && status <= 599 && answer.headers.every(isSendableHeader);
}

/** A row that somebody edited by hand must not take the process down, nor hang its caller. */
function unsendable(answer: NeutralResponse): NeutralResponse {
  const detail = `The stored answer (status ${String(answer.status).slice(0, 20)}) cannot be sent over HTTP.`;
  const problem = problemOf("value-not-serialisable", { detail }, defaults.problemBase);
  return problemResponse(problem, { problemBase: defaults.problemBase, docsUrl: undefined, formatProblem: undefined });
}

/** Headers that outer layers have set stay, unless the answer names them. `Date` is Node's own. */
export function sendAnswer(response: ServerResponse, answer: NeutralResponse, outlet = outletOf(response)): void {
  // Someone else has answered already, such as a timeout of an outer layer: a second answer would be an error.
  if (response.headersSent || response.writableEnded) return;
  const { status, headers, body } = isSendable(answer) ? answer : unsendable(answer);
  replaceHeaders(response, headers);
  const content = hasContent(response, status);
  if (content) setContentLength(response, body.length);
  if (!isHttp2(response.req)) response.statusMessage = "";
  outlet.writeHead(status);
  outlet.end(content ? body : undefined);
}
