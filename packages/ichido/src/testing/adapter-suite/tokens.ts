/** Authentication of the harness: bearer tokens that name a principal, and can be rotated, revoked and limited. */
import type { Scope } from "../../core/contract/record.ts";

export interface Tokens {
  /** 200, or how the outer layers refuse: 401 unknown, 403 forbidden, 429 over the limit. */
  admit(authorization: string | undefined): 200 | 401 | 403 | 429;
  scopeOf(authorization: string | undefined): Scope;
  grant(token: string, scope: Scope): void;
  /** What `admit` says about this token from now on. */
  set(token: string, status: 200 | 401 | 403 | 429): void;
}

export function createTokens(): Tokens {
  const acme = "acme";
  const scopes = new Map<string, Scope>([
    ["alice-1", { tenant: acme, principal: "alice" }],
    // The same principal after a rotation.
    ["alice-2", { tenant: acme, principal: "alice" }],
    ["bob-1", { tenant: acme, principal: "bob" }],
    ["carol-1", { tenant: "globex", principal: "carol" }],
  ]);
  const statuses = new Map<string, 200 | 401 | 403 | 429>();
  const tokenOf = (authorization: string | undefined): string => authorization?.replace(/^Bearer /, "") ?? "";
  return {
    admit(authorization) {
      const token = tokenOf(authorization);
      return scopes.has(token) ? (statuses.get(token) ?? 200) : 401;
    },
    scopeOf(authorization) {
      const scope = scopes.get(tokenOf(authorization));
      if (scope === undefined) throw new Error("the application must refuse an unknown token before the adapter");
      return scope;
    },
    grant: (token, scope) => void scopes.set(token, scope),
    set: (token, status) => void statuses.set(token, status),
  };
}
