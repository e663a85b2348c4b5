/** A place in a listing ordered by key, then by scope hash: `base64url(scope hash).base64url(key)`. */
import { IchidoError } from "../../core/contract/errors.ts";

export interface Position {
  readonly key: string;
  readonly scopeHash: Uint8Array;
}

const scopeHashBytes = 32;

export function encodeCursor({ key, scopeHash }: Position): string {
  return `${Buffer.from(scopeHash).toString("base64url")}.${Buffer.from(key, "utf8").toString("base64url")}`;
}

export function decodeCursor(cursor: string): Position {
  const [hash, key, ...rest] = cursor.split(".");
  const scopeHash = Buffer.from(hash ?? "", "base64url");
  if (key === undefined || rest.length > 0 || scopeHash.length !== scopeHashBytes) {
    throw new IchidoError("option-invalid", "cursor: expected the value a former page gave; start again without one");
  }
  return { key: Buffer.from(key, "base64url").toString("utf8"), scopeHash: new Uint8Array(scopeHash) };
}
