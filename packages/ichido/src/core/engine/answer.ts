/** Answers made by code: serialised once, so that what is stored is what is sent. */
import { IchidoError } from "../contract/errors.ts";
import type { NeutralResponse } from "../contract/message.ts";
import type { AnswerLike } from "../contract/options.ts";
import type { HeaderLine } from "../contract/record.ts";
import { layerHeaders } from "./recorder.ts";

const encoder = new TextEncoder();

function contentOf(body: unknown): { readonly bytes: Uint8Array; readonly contentType?: string } {
  if (body === undefined) return { bytes: new Uint8Array(0) };
  if (body instanceof Uint8Array) return { bytes: new Uint8Array(body), contentType: "application/octet-stream" };
  if (typeof body === "string") return { bytes: encoder.encode(body), contentType: "text/plain; charset=utf-8" };
  return { bytes: encoder.encode(JSON.stringify(body)), contentType: "application/json; charset=utf-8" };
}

export function checkAnswer(answer: AnswerLike): void {
  if (typeof answer !== "object" || answer === null) {
    throw new IchidoError(
      "usage-invalid",
      `an answer is { status, headers, body }, got ${String(answer)}; return it from the function of ctx.transaction`,
    );
  }
  const { status } = answer;
  if (Number.isInteger(status) && status >= 200 && status <= 599) return;
  throw new IchidoError("usage-invalid", `an answer needs a final HTTP status from 200 to 599, got ${String(status)}`);
}

export function linesOf(answer: AnswerLike): HeaderLine[] {
  const headers: HeaderLine[] = [];
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    const lowerCase = name.toLowerCase();
    if (layerHeaders.includes(lowerCase)) continue;
    for (const line of typeof value === "string" ? [value] : value) headers.push([lowerCase, line]);
  }
  return headers;
}

export function answerOf(answer: AnswerLike): NeutralResponse {
  checkAnswer(answer);
  const headers = linesOf(answer);
  const { bytes, contentType } = contentOf(answer.body);
  if (contentType !== undefined && !headers.some(([name]) => name === "content-type")) {
    headers.push(["content-type", contentType]);
  }
  return { status: answer.status, headers, body: bytes };
}
