/**
 * The name under which a caller asks for the outcome of its operation. It is part of addresses, and so of access logs
 * and `Referer` lines: the key, which may be personal data, must not be readable from it.
 *
 * Scope hash and key are encrypted in the name, so that no store needs a second index to find a record by it. The same
 * operation always has the same name: the initialisation vector is a MAC of the content (as in RFC 5297), which also
 * proves, on decryption, that the name was made for this caller. The cipher's key comes from the caller's tenant and
 * principal and from `operationIdSecret`; without a secret, a person who knows tenant and principal and has the name
 * can decrypt it.
 */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { lengthPrefixed } from "./sha256.ts";
import type { Identity, Key } from "../contract/record.ts";

const operationIdLengthMax = 4096;
const scopeHashBytes = 32;
const markBytes = 16;
const cipher = "aes-256-ctr";

interface Whose {
  readonly tenant?: string | number | bigint | undefined;
  readonly principal?: string | number | bigint | undefined;
}

export interface OperationIds {
  of(identity: Pick<Identity, "key" | "scopeHash" | "tenant" | "principal">): string;
  /** Undefined for an id that was not made for this caller: ids come back from outside and may be forged. */
  open(id: string, whose: Whose): Pick<Identity, "key" | "scopeHash"> | undefined;
}

export function createOperationIds(secret = ""): OperationIds {
  const hmac = (key: string | Uint8Array, data: string | Uint8Array): Buffer =>
    createHmac("sha256", key).update(data).digest();

  function keysOf({ tenant, principal }: Whose): { readonly forMark: Buffer; readonly forCipher: Buffer } {
    const caller = [tenant, principal].map((part) => (part === undefined ? undefined : String(part)));
    const ofCaller = hmac(secret, lengthPrefixed(["ichido-operation-id-1", ...caller]));
    return { forMark: hmac(ofCaller, "mark"), forCipher: hmac(ofCaller, "cipher") };
  }
  const markOf = (key: Buffer, content: Uint8Array): Buffer => hmac(key, content).subarray(0, markBytes);

  return {
    of({ key, scopeHash, ...whose }) {
      const { forMark, forCipher } = keysOf(whose);
      const content = Buffer.concat([scopeHash, Buffer.from(key)]);
      const mark = markOf(forMark, content);
      const sealed = createCipheriv(cipher, forCipher, mark).update(content);
      return Buffer.concat([mark, sealed]).toString("base64url");
    },
    open(id, whose) {
      if (typeof id !== "string" || id.length > operationIdLengthMax) return undefined;
      const bytes = Buffer.from(id, "base64url");
      // Decoding ignores characters that are not base64url; encoding the bytes again shows them.
      if (bytes.length <= markBytes + scopeHashBytes || bytes.toString("base64url") !== id) return undefined;
      const { forMark, forCipher } = keysOf(whose);
      const mark = bytes.subarray(0, markBytes);
      const content = createDecipheriv(cipher, forCipher, mark).update(bytes.subarray(markBytes));
      if (!timingSafeEqual(mark, markOf(forMark, content))) return undefined;
      const scopeHash = new Uint8Array(content.subarray(0, scopeHashBytes));
      return { key: content.toString("utf8", scopeHashBytes) as Key, scopeHash };
    },
  };
}
