/** Bearer tokens and whom they stand for. */
import { createHash } from "node:crypto";

export interface Caller {
  readonly tenant: string;
  readonly user: string;
}

/** Callers by the hash of their token, so that a look-up takes equally long however much of a guess is right. */
export type Tokens = ReadonlyMap<string, Caller>;

const FORM = "token=tenant/user pairs separated by commas, each token once";

/** The tokens, or what was expected. */
export function parseTokens(text: string): Tokens | string {
  const tokens = new Map<string, Caller>();
  for (const pair of text.split(",").map((each) => each.trim())) {
    // The last "=", because a base64 token may end in one.
    const match = /^([A-Za-z0-9._~+/=-]+)=([^/=\s]+)\/([^/=\s]+)$/.exec(pair);
    const [, token, tenant, user] = match ?? [];
    if (token === undefined || tenant === undefined || user === undefined) return FORM;
    if (tokens.has(hashOf(token))) return FORM;
    tokens.set(hashOf(token), { tenant, user });
  }
  return tokens;
}

export function callerOf(tokens: Tokens, token: string): Caller | undefined {
  return tokens.get(hashOf(token));
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
