import type { MiddlewareHandler } from "hono";
import type { Running, Settings } from "../contract.ts";
import { begin, keptNames } from "../minimum/minimum.ts";
import { openMinimum } from "../minimum/open.ts";
import { serveHono } from "./hono-app.ts";

export async function start(settings: Settings): Promise<Running> {
  const store = await openMinimum(settings);
  const protect: MiddlewareHandler = async (c, next) => {
    const headersIn = {
      "idempotency-key": c.req.header("idempotency-key"),
      authorization: c.req.header("authorization"),
    };
    const verdict = await begin(store, headersIn, Buffer.from(await c.req.arrayBuffer()));
    if ("answer" in verdict) {
      const { status, headers, body } = verdict.answer;
      return new Response(new Uint8Array(body), { status, headers: headers.map(([name, value]) => [name, value]) });
    }
    await next();
    const { status, headers } = c.res;
    const body = Buffer.from(await c.res.arrayBuffer());
    const kept = keptNames.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    await verdict.complete({ status, headers: kept, body });
    c.res = new Response(new Uint8Array(body), { status, headers });
    return undefined;
  };
  return serveHono([protect]);
}
