/** The console at `/console`: for whoever sits at this machine, or, where a password is set, for whoever knows it. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Request, RequestHandler } from "express";
import type { Ichido } from "ichido";
import { console as createConsole, loopbackOnly, type Authorized, type Console } from "ichido/console";
import type { ShopConfig } from "../config.ts";
import type { EventFlow } from "../events/flow.ts";

const everything = ["read", "reveal", "settle", "events", "erase"] as const;

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

/** HTTP Basic: browsers ask for it by themselves. Any name does; it is the one in the audit. */
function byPassword(password: string): (request: Request) => Authorized {
  return ({ headers }) => {
    const [, encoded = ""] = /^Basic ([\w+/=]+)$/i.exec(headers.authorization ?? "") ?? [];
    const text = Buffer.from(encoded, "base64").toString("utf8");
    const at = text.indexOf(":");
    if (at < 1 || !isSame(text.slice(at + 1), password)) return false;
    return { user: text.slice(0, at), can: everything };
  };
}

export interface ShopConsole {
  readonly handler: RequestHandler;
  close(): void;
}

export function shopConsole(
  ichido: Ichido<Request>,
  { consolePassword }: Pick<ShopConfig, "consolePassword">,
  { outbox, inbox }: Pick<EventFlow, "outbox" | "inbox">,
): ShopConsole {
  const authorize = consolePassword === undefined ? loopbackOnly() : byPassword(consolePassword);
  const mounted: Console = createConsole<Request>(ichido, { authorize, outbox, inbox, environmentName: "shop" });
  return {
    handler(request, response, next) {
      // Only then does a browser ask for name and password.
      if (consolePassword !== undefined && authorize(request) === false)
        response.status(401).set("WWW-Authenticate", 'Basic realm="console", charset="UTF-8"').end();
      else mounted(request, response, next);
    },
    close: () => mounted.close(),
  };
}
