/** An answer as a value, so that the handler that sends it and the recovery that finds it later make the same one. */
import type { Response } from "express";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Bytes, because Express would append a charset to a media type that has none. */
export function sendAnswer(response: Response, { status, headers, body }: Answer): void {
  response
    .status(status)
    .set(headers)
    .send(Buffer.from(JSON.stringify(body)));
}
