/** Who asks, as far as a server on loopback can tell: a page from elsewhere gives itself away by Origin, or by Host. */
import type { IncomingHttpHeaders } from "node:http";

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Name and port of a Host header; a name that somebody has pointed at this machine is not one of loopback's own. */
export function loopbackPort(named: string): number | undefined {
  const [, name = "", port = "80"] = /^(\[[0-9a-f:]+\]|[^:]+)(?::(\d+))?$/i.exec(named) ?? [];
  return isLoopback(name.replace(/^\[|\]$/g, "")) ? Number(port) : undefined;
}

/** A browser says where a request comes from; what says nothing is no page (curl, a script). */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const { origin, host: named = "" } = headers;
  const site = headers["sec-fetch-site"];
  if (origin !== undefined && origin !== `http://${named}` && origin !== `https://${named}`) return false;
  return site === undefined || site === "same-origin" || site === "none";
}
