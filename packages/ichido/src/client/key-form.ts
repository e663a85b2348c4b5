/** What a key may look like, and how it is written into the header. */
import { ClientError } from "./errors.ts";
import type { ServerPolicy } from "./policy.ts";

const personal: readonly (readonly [RegExp, string])[] = [
  [/[^\s@](?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/i, "an e-mail address"],
  [/^(?:\d[ -]?){6,19}$/, "a card, account or customer number"],
  [/^(?:tel:)?\+[\d ()./-]{7,20}$/i, "a telephone number"],
];

export function checkKey(key: unknown, warn: ((message: string) => void) | undefined): string {
  if (typeof key !== "string" || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    const given = typeof key === "string" ? `${key.length} characters` : typeof key;
    throw new ClientError(
      "key-invalid",
      `a key source must give 1 to 255 printable ASCII characters; it gave ${given}. Use uuidV7()`,
    );
  }
  const looksLike = personal.find(([pattern]) => pattern.test(key))?.[1];
  if (looksLike !== undefined) {
    warn?.(
      `ichido: a key looks like ${looksLike}. Keys are stored and logged by others: use a random one, such as uuidV7()`,
    );
  }
  return key;
}

/** RFC 9651 string where the server wants one, or where the bare text would be ambiguous in a header. */
export function headerText(key: string, policy: ServerPolicy | undefined): string {
  const isPlain = /^[\w!#$%&*+\-./:=?@^`|~]+$/.test(key);
  if (policy?.quoted !== true && (isPlain || policy?.form === "bare")) return key;
  return `"${key.replace(/["\\]/g, "\\$&")}"`;
}
