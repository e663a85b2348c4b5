/**
 * The token of every write: for one user, for an hour. A page of another origin cannot read it, and a request that brings
 * none, another user's or an old one is refused, whatever cookies the browser adds.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export const tokenMs = 3_600_000;
const form = /^([0-9a-z]{1,12})\.([\w-]{43})$/;

export interface Tokens {
  of(user: string): { readonly token: string; readonly expiresAtMs: number };
  accepts(token: string | undefined, user: string): boolean;
}

/** Without a secret, tokens are this process's alone. */
export function createTokens(secret: string | undefined, now: () => number = Date.now): Tokens {
  const key = secret === undefined ? randomBytes(32) : `ichido-console-token-1 ${secret}`;
  const markOf = (user: string, expires: string): Buffer =>
    createHmac("sha256", key).update(`${expires} ${user}`).digest();
  return {
    of(user) {
      const expiresAtMs = now() + tokenMs;
      const expires = expiresAtMs.toString(36);
      return { token: `${expires}.${markOf(user, expires).toString("base64url")}`, expiresAtMs };
    },
    accepts(token, user) {
      const [, expires = "", mark = ""] = form.exec(token ?? "") ?? [];
      if (expires === "" || Number.parseInt(expires, 36) <= now()) return false;
      const given = Buffer.from(mark, "base64url");
      const wanted = markOf(user, expires);
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
}
