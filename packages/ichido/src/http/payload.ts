/** The content of a stored answer, as text where it is text and nothing is lost by it. */
import type { NeutralResponse } from "../core/contract/message.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { headerOf } from "../core/engine/recorder.ts";

// oxlint-disable-next-line no-control-regex -- controls are ASCII too
const asciiForm = /^[\x00-\x7f]*$/;

/** Node writes the head in UTF-8 when text follows and in Latin-1 when bytes follow: both are equal only in ASCII. */
export function isPlain(headers: readonly HeaderLine[]): boolean {
  return headers.every(([, value]) => asciiForm.test(value));
}

/** A stored answer as frameworks take it: layers get text as text, as they got it the first time. */
export function payloadOf({ headers, body }: NeutralResponse): Buffer | string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (!/^(?:text\/|application\/(?:[\w.+-]+\+)?json\b)/i.test(headerOf(headers, "content-type") ?? "")) return bytes;
  if (!isPlain(headers)) return bytes;
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}
