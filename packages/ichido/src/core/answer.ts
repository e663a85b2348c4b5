/** Answers made by code: serialised once, so that what is stored is what is sent. */
import { IchidoError } from "./errors.ts";
import type { NeutralResponse } from "./message.ts";
import type { AnswerLike } from "./options.ts";
import type { HeaderLine } from "./record.ts";

const encoder = new TextEncoder();

function contentOf(body: unknown): { readonly bytes: Uint8Array; readonly contentType?: string } {
  if (body === undefined) return { bytes: new Uint8Array(0) };
  if (body instanceof Uint8Array) return { bytes: body, contentType: "application/octet-stream" };
  if (typeof body === "string") return { bytes: encoder.encode(body), contentType: "text/plain; charset=utf-8" };
  return { bytes: encoder.encode(JSON.stringify(body)), contentType: "application/json; charset=utf-8" };
}

export function answerOf(answer: AnswerLike): NeutralResponse {
  if (!Number.isInteger(answer.status) || answer.status < 200 || answer.status > 599) {
    throw new IchidoError(
      "option-invalid",
      `an answer needs a final HTTP status from 200 to 599, got ${String(answer.status)}`,
    );
  }
  const headers: HeaderLine[] = [];
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    for (const line of typeof value === "string" ? [value] : value) headers.push([name.toLowerCase(), line]);
  }
  const { bytes, contentType } = contentOf(answer.body);
  if (contentType !== undefined && !headers.some(([name]) => name === "content-type")) {
    headers.push(["content-type", contentType]);
  }
  return { status: answer.status, headers, body: bytes };
}
