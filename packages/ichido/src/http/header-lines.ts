/** Header lines of a Node response: names in lower case, in order, repeated names repeated. */
import type { ServerResponse } from "node:http";
import type { HeaderLine } from "../core/contract/record.ts";
import { layerHeaders } from "../core/engine/recorder.ts";

export type HeaderSnapshot = ReadonlyMap<string, readonly string[]>;

/** Node's response, or what a framework keeps of headers until it writes them. */
export type HeaderSource = Pick<ServerResponse, "getHeaderNames" | "getHeader">;

function linesOf(response: HeaderSource, name: string): readonly string[] {
  const value = response.getHeader(name);
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/** What outer layers had set before the handler ran. */
export function snapshotHeaders(response: ServerResponse): HeaderSnapshot {
  return new Map(response.getHeaderNames().map((name) => [name, linesOf(response, name)]));
}

function isSame(some: readonly string[] | undefined, other: readonly string[]): boolean {
  return some?.length === other.length && some.every((line, index) => line === other[index]);
}

/**
 * The handler's own lines. One that an outer layer had set already, unchanged, is left out: a replay then carries the
 * value which that layer computes for the present request (CORS, request ids, security headers).
 */
export function headerLinesBeyond(response: HeaderSource, baseline: HeaderSnapshot): readonly HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (const name of response.getHeaderNames()) {
    const values = linesOf(response, name);
    if (isSame(baseline.get(name), values)) continue;
    for (const value of values) lines.push([name, value]);
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
  for (const name of response.getHeaderNames()) if (!baseline.has(name)) removeHeader(response, name);
  for (const [name, values] of baseline) response.setHeader(name, values.length === 1 ? (values[0] ?? "") : values);
}

/** A name that is given replaces all lines of that name which are there, and may be given several times. */
export function replaceHeaders(response: ServerResponse, lines: readonly HeaderLine[]): void {
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

/** What the layer says of a handler's answer, and nothing that the handler says in its place. */
export function setLayerLines(response: ServerResponse, lines: readonly HeaderLine[]): void {
  for (const name of layerHeaders) removeHeader(response, name);
  replaceHeaders(response, lines);
}

/** Set last, so that Node writes it after the others and reads it for no other header. */
export function setContentLength(response: ServerResponse, length: number): void {
  removeHeader(response, "content-length");
  response.setHeader("Content-Length", length);
}

/** The header forms that `writeHead` takes: an object, a flat list, or a list of pairs. */
export function writeHeadLines(headers: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (headers === undefined || headers === null) return [];
  if (!Array.isArray(headers)) return Object.entries(headers).filter(([name]) => name !== "");
  if (Array.isArray(headers[0])) return headers as [string, unknown][];
  if (headers.length % 2 !== 0) {
    throw Object.assign(new TypeError("The argument 'headers' must hold names and values in turn"), {
      code: "ERR_INVALID_ARG_VALUE",
    });
  }
  const pairs: (readonly [string, unknown])[] = [];
  for (let index = 0; index < headers.length; index += 2) pairs.push([headers[index] as string, headers[index + 1]]);
  return pairs;
}
