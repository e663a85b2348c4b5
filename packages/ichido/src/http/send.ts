/**
 * How answers are written on a Node response: by its header lines (names in lower case, in order, repeated names
 * repeated) and by its methods, with the argument forms and the errors that their callers expect.
 */
import type { ServerResponse } from "node:http";
import { defaults } from "../core/contract/defaults.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import { problemOf, problemResponse } from "../core/contract/problem.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { isFinalStatus, isSendableHeader, layerHeaders } from "../core/engine/recorder.ts";
import { isHttp2 } from "./node-request.ts";

/** Node's response, or what a framework keeps of headers until it writes them. */
export type HeaderSource = Pick<ServerResponse, "getHeaderNames" | "getHeader">;

type HeaderValue = ReturnType<ServerResponse["getHeader"]>;

/** What outer layers had set before the handler ran: a few names with their values, in two lists. */
export interface HeaderSnapshot {
  readonly names: readonly string[];
  readonly values: readonly HeaderValue[];
}

function linesOf(value: HeaderValue): readonly string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

export function snapshotHeaders(response: HeaderSource): HeaderSnapshot {
  const names = response.getHeaderNames();
  const values = names.map((name) => {
    const value = response.getHeader(name);
    // Node adds lines to the very list that it was given.
    return Array.isArray(value) ? [...value] : value;
  });
  return { names, values };
}

function valueIn({ names, values }: HeaderSnapshot, name: string): HeaderValue {
  const index = names.indexOf(name);
  return index < 0 ? undefined : values[index];
}

function isSame(some: HeaderValue, other: HeaderValue): boolean {
  if (some === other || some === undefined) return some === other;
  const lines = linesOf(some);
  const others = linesOf(other);
  return lines.length === others.length && lines.every((line, index) => line === others[index]);
}

/**
 * The handler's own lines. One that an outer layer had set already, unchanged, is left out: a replay then carries the
 * value which that layer computes for the present request (CORS, request ids, security headers).
 */
export function headerLinesBeyond(response: HeaderSource, baseline: HeaderSnapshot): readonly HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (const name of response.getHeaderNames()) {
    const value = response.getHeader(name);
    if (isSame(valueIn(baseline, name), value)) continue;
    if (Array.isArray(value)) for (const each of value) lines.push([name, String(each)]);
    else lines.push([name, String(value)]);
  }
  return lines;
}

/** Not for `date`: removing it would also stop Node from sending its own. */
function removeHeader(response: ServerResponse, name: string): void {
  if (!response.hasHeader(name)) return;
  response.removeHeader(name);
  if (name === "date") response.sendDate = true;
}

export function restoreHeaders(response: ServerResponse, baseline: HeaderSnapshot): void {
  const { names, values } = baseline;
  for (const name of response.getHeaderNames()) if (!names.includes(name)) removeHeader(response, name);
  names.forEach((name, index) => response.setHeader(name, values[index] ?? ""));
}

/** A name that is given replaces all lines of that name which are there, and may be given several times. */
export function replaceHeaders(response: ServerResponse, lines: readonly HeaderLine[]): void {
  if (lines.length === 0) return;
  const grouped = new Map<string, string[]>();
  for (const [name, value] of lines) {
    const values = grouped.get(name);
    if (values === undefined) grouped.set(name, [value]);
    else values.push(value);
  }
  for (const [name, values] of grouped) {
    response.setHeader(name, values.length === 1 ? (values[0] ?? "") : values);
  }
}

/**
 * Sets the layer's own lines about a handler's answer. Lines that the handler set under the layer's names are removed.
 */
export function setLayerLines(response: ServerResponse, lines: readonly HeaderLine[]): void {
  for (const name of layerHeaders) removeHeader(response, name);
  replaceHeaders(response, lines);
}

/** Set last, so that Node writes it after the others and reads it for no other header. */
function setContentLength(response: ServerResponse, length: number): void {
  removeHeader(response, "content-length");
  response.setHeader("Content-Length", length);
}

type Method = (...values: unknown[]) => unknown;
type Methods = Record<"write" | "end" | "writeHead" | "flushHeaders" | "destroy", Method>;

/** The methods by which an answer leaves, as they were when this was made: a capture keeps those that it wraps. */
export class Outlet {
  readonly #response: Methods;
  readonly #write: Method;
  readonly #end: Method;
  readonly #writeHead: Method;
  readonly #flushHeaders: Method;
  readonly #destroy: Method;

  constructor(response: ServerResponse) {
    const methods = response as unknown as Methods;
    this.#response = methods;
    this.#write = methods.write;
    this.#end = methods.end;
    this.#writeHead = methods.writeHead;
    this.#flushHeaders = methods.flushHeaders;
    this.#destroy = methods.destroy;
  }

  write(...values: unknown[]): boolean {
    return this.#write.apply(this.#response, values) as boolean;
  }

  end(...values: unknown[]): ServerResponse {
    return this.#end.apply(this.#response, values) as ServerResponse;
  }

  writeHead(...values: unknown[]): ServerResponse {
    return this.#writeHead.apply(this.#response, values) as ServerResponse;
  }

  flushHeaders(): void {
    this.#flushHeaders.call(this.#response);
  }

  destroy(error?: Error): ServerResponse {
    return this.#destroy.call(this.#response, error) as ServerResponse;
  }

  /** For what Node's own `end` calls on the response. */
  putBack(): void {
    this.#response.write = this.#write;
    this.#response.writeHead = this.#writeHead;
  }
}

/** RFC 9110 sections 6.4.1 and 9.3.2: no content in 1xx, 204 and 304, nor in answers to HEAD. */
export function hasContent(response: ServerResponse, status: number): boolean {
  return status >= 200 && status !== 204 && status !== 304 && response.req.method !== "HEAD";
}

/**
 * Where neither handler nor layers set a length, Node sets it from the bytes that it gets in the end; not on HTTP/2.
 */
export function tellLength(response: ServerResponse, length: number): void {
  if (isHttp2(response.req) || response.hasHeader("content-length")) setContentLength(response, length);
}

function isSendable(answer: NeutralResponse): boolean {
  const { status } = answer;
  return isFinalStatus(status) && answer.headers.every(isSendableHeader);
}

/** A row that a person edited by hand must not end the process, nor leave the caller without an answer. */
function unsendable(answer: NeutralResponse): NeutralResponse {
  const detail = `The stored answer (status ${String(answer.status).slice(0, 20)}) cannot be sent over HTTP.`;
  const problem = problemOf("value-not-serialisable", { detail }, defaults.problemBase);
  return problemResponse(problem, { problemBase: defaults.problemBase, docsUrl: undefined, formatProblem: undefined });
}

/** The answer itself where it can be sent, else a problem; the same for every adapter. */
export function sendableOf(answer: NeutralResponse): NeutralResponse {
  return isSendable(answer) ? answer : unsendable(answer);
}

/** Headers that outer layers have set stay, unless the answer names them. `Date` is Node's own. */
export function sendAnswer(
  response: ServerResponse,
  answer: NeutralResponse,
  outlet: Pick<Outlet, "end"> = response as unknown as Pick<Outlet, "end">,
): void {
  // Another layer has answered already, such as a timeout: a second answer would be an error.
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

export type Callback = (error?: Error | null) => void;

export function callbackOf(values: readonly unknown[]): Callback | undefined {
  const found = values.find((value) => typeof value === "function");
  return found as Callback | undefined;
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

/**
 * With bytes of their own: where nothing is held, Node has mostly sent them when its method returns, and a program that
 * fills one buffer again and again works. Here that buffer may hold another caller's answer by then.
 */
export function chunkBytes(chunk: unknown, encoding: unknown): Uint8Array {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  if (chunk instanceof Uint8Array) return Buffer.from(chunk);
  if (chunk === null) throw coded(new TypeError("May not write null values to stream"), "ERR_STREAM_NULL_VALUES");
  const message = `The "chunk" argument must be a string, Buffer or Uint8Array, got ${typeof chunk}`;
  throw coded(new TypeError(message), "ERR_INVALID_ARG_TYPE");
}

export function headersSent(): Error {
  return coded(new Error("Cannot write headers after they are sent to the client"), "ERR_HTTP_HEADERS_SENT");
}

export function checkStatus(given: unknown): number {
  const status = Number(given) | 0;
  if (status >= 100 && status <= 999) return status;
  throw coded(new RangeError(`Invalid status code: ${String(given)}`), "ERR_HTTP_INVALID_STATUS_CODE");
}

// oxlint-disable-next-line no-control-regex -- controls are exactly what is excluded
const reasonForm = /^[\t\x20-\x7e\x80-\xff]*$/;

export function checkReason(reason: string | undefined): void {
  if (reason === undefined || reasonForm.test(reason)) return;
  throw coded(new TypeError("Invalid character in statusMessage"), "ERR_INVALID_CHAR");
}

export function writeAfterEnd(): Error {
  return coded(new Error("write after end"), "ERR_STREAM_WRITE_AFTER_END");
}

/** The header forms that `writeHead` takes: an object, a flat list, or a list of pairs. */
export function writeHeadLines(headers: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (headers === undefined || headers === null) return [];
  if (!Array.isArray(headers)) return Object.entries(headers).filter(([name]) => name !== "");
  if (Array.isArray(headers[0])) return headers as [string, unknown][];
  if (headers.length % 2 !== 0) {
    throw coded(new TypeError("The argument 'headers' must hold names and values in turn"), "ERR_INVALID_ARG_VALUE");
  }
  const pairs: (readonly [string, unknown])[] = [];
  for (let index = 0; index < headers.length; index += 2) pairs.push([headers[index] as string, headers[index + 1]]);
  return pairs;
}
