/** The answer that a person adopts for a record, from flags. */
import { readFileSync } from "node:fs";
import type { AnswerLike } from "../core/contract/options.ts";
import type { Flags } from "./command.ts";
import { UsageError } from "./exit-codes.ts";
import { wholeNumberOf } from "./times.ts";

export const answerFlags = {
  status: { type: "string", value: "n", says: "adopt: the status of its answer" },
  body: { type: "string", value: "text|@file", says: "adopt: the body of its answer" },
  header: { type: "string", multiple: true, value: '"Name: value"', says: "adopt: a header of its answer" },
} as const satisfies Flags;

export interface AnswerFlags {
  readonly status?: string;
  readonly body?: string;
  readonly header?: readonly string[];
}

function fileBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`--body: ${(error as Error).message}`);
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

export function adoptedAnswer({ status, body, header = [] }: AnswerFlags): AnswerLike {
  if (status === undefined)
    throw new UsageError("--status: adopt needs the status that callers are to get from now on");
  const headers: Record<string, string> = {};
  for (const line of header) {
    const at = line.indexOf(":");
    if (at < 1) throw new UsageError('--header: expected "Name: value"');
    headers[line.slice(0, at).trim().toLowerCase()] = line.slice(at + 1).trim();
  }
  const given = { status: wholeNumberOf("--status", status, 200, 599), headers };
  if (body === undefined) return given;
  const bytes = body.startsWith("@") ? fileBytes(body.slice(1)) : Buffer.from(body);
  headers["content-type"] ??= isJson(bytes) ? "application/json" : "text/plain; charset=utf-8";
  return { ...given, body: new Uint8Array(bytes) };
}
