/** What a message is known by: handler and id. */
import { IchidoError } from "../core/contract/errors.ts";
import { hasLoneSurrogate, sha256Hex } from "../core/request/sha256.ts";

export const idBytesMax = 255;
const handlerForm = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;
/** No id that is kept as it is begins with it. */
const hashedMark = "\u0001";

export function checkHandlerName(name: unknown): string {
  if (typeof name === "string" && handlerForm.test(name)) return name;
  throw new IchidoError(
    "option-invalid",
    `handler: expected a name of 1 to 100 letters, digits and "_.:-" that stays the same for as long as messages live; got ${JSON.stringify(name)?.slice(0, 120)}`,
  );
}

/** Others are of no message. */
export function isMessageId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && !hasLoneSurrogate(id);
}

/** As it stands in the column: byte for byte, or as a hash where it is too long or not text that every database keeps. */
export function columnOfId(id: unknown): string {
  if (!isMessageId(id)) {
    throw new IchidoError(
      "message-invalid",
      `id: expected a well-formed text, got ${JSON.stringify(id)?.slice(0, 80)}`,
    );
  }
  const plain = Buffer.byteLength(id) <= idBytesMax && !id.includes("\0") && !id.startsWith(hashedMark);
  return plain ? id : hashedMark + sha256Hex(id);
}

/** The same id as a key of `ichido.run`, which takes printable ASCII alone. */
export function keyOfId(id: string): string {
  const column = columnOfId(id);
  return /^[\x21-\x7e]+$/.test(column) ? column : `sha256:${sha256Hex(id)}`;
}
