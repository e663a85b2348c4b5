/**
 * Who may come in to a console that a person started on their own machine: whoever has the address that was printed, once.
 * The token in it buys a cookie of this browser and is worth nothing afterwards, in a history or over a shoulder.
 *
 * Browsers send a cookie to every port of a host, and so to every other server of this machine: this one is for a path that
 * nobody else knows, below which the console is mounted.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { addressOf } from "../console/address.ts";
import { isLocal } from "../console/loopback.ts";

export interface Door {
  /** Where the console is mounted. */
  readonly at: string;
  /** The path that a person opens. */
  readonly path: string;
  /** True: it was answered here. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
  isIn(request: IncomingMessage): boolean;
}

const lines = {
  "cache-control": "no-store",
  "content-type": "text/plain; charset=utf-8",
  "x-content-type-options": "nosniff",
};

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function cookieOf({ headers }: IncomingMessage, name: string): string {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim().split("=", 2));
  return pairs.find(([given]) => given === name)?.[1] ?? "";
}

const cookieName = "ichido-console";

export function createDoor(): Door {
  const at = `/${randomBytes(18).toString("base64url")}`;
  const token = randomBytes(24).toString("base64url");
  const pass = randomBytes(32).toString("base64url");
  let isUsed = false;

  const isIn = (request: IncomingMessage): boolean => isLocal(request) && isSame(cookieOf(request, cookieName), pass);

  function refuse(response: ServerResponse, text: string): true {
    response.writeHead(403, lines).end(`${text}\n`);
    return true;
  }

  return {
    at,
    path: `${at}/?token=${token}`,
    isIn,
    answers(request, response) {
      // A page elsewhere whose name it lets point here asks for another host.
      if (!isLocal(request)) return refuse(response, "This console is for the machine it runs on.");
      const { path, search } = addressOf(request.url ?? "/");
      if (!path.startsWith(`${at}/`))
        return refuse(response, "There is nothing here: open the address that was printed.");
      const given = search.get("token");
      if (given === null || isIn(request)) return false;
      if (isUsed || !isSame(given, token))
        return refuse(response, "This address was used before, or is not of this console: start it again.");
      isUsed = true;
      const cookie = `${cookieName}=${pass}; HttpOnly; SameSite=Strict; Path=${at}/`;
      response.writeHead(303, { ...lines, location: "./", "set-cookie": cookie }).end();
      return true;
    },
  };
}
