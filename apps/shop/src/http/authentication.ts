/** Whose request it is. Runs before anything that could look at a key. */
import type { Request, RequestHandler } from "express";
import { ShopError } from "./problems.ts";
import { callerOf, type Caller, type Tokens } from "./tokens.ts";

const callers = new WeakMap<object, Caller>();

/** RFC 6750: the challenge names an error only when a token was sent. */
export function authenticate(tokens: Tokens): RequestHandler {
  return (request, response, next) => {
    const header = request.headers.authorization;
    const token = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(header ?? "")?.[1];
    const found = token === undefined ? undefined : callerOf(tokens, token);
    if (found === undefined) {
      response.setHeader(
        "WWW-Authenticate",
        `Bearer realm="shop"${header === undefined ? "" : ', error="invalid_token"'}`,
      );
      throw new ShopError("unauthorized", "send Authorization: Bearer with a token this shop knows");
    }
    callers.set(request, found);
    next();
  };
}

export function caller(request: Request): Caller {
  const found = callers.get(request);
  if (found === undefined) throw new Error("caller() was asked on a route without authenticate()");
  return found;
}
