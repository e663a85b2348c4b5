/** What a key may look like, and how it is written into the header. */
import { ClientError } from "./errors.ts";
import type { ServerPolicy } from "./policy.ts";

const personal: readonly (readonly [RegExp, string])[] = [
  [/[^\s@](?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/i, "an e-mail address"],
  [/^(?:tel:)?\+?(?:\d[ ()./-]*){6,19}$/i, "a card or telephone number"],
];

export function checkKey(key: unknown, warn: ((message: string) => void) | undefined): string {
  if (typeof key !== "string" || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    const given = typeof key === "string" ? key.length : typeof key;
    throw new ClientError(
      "key-invalid",
      `a key must be 1 to 255 printable ASCII characters; it is ${given}. Use uuidV7()`,
    );
  }
  const looksLike = personal.find(([pattern]) => pattern.test(key))?.[1];
  if (looksLike !== undefined) {
    warn?.(`ichido: a key looks like ${looksLike}. Keys are logged: use uuidV7()`);
  }
  return key;
}

/** RFC 9651 string where the server wants one, or where the bare text would be ambiguous in a header. */
export function headerText(key: string, policy: ServerPolicy | undefined): string {
  const isPlain = /^[\w!#$%&*+\-./:=?@^`|~]+$/.test(key);
  if (policy?.bare || (isPlain && !policy?.quoted)) return key;
  return `"${key.replace(/["\\]/g, "\\$&")}"`;
}
