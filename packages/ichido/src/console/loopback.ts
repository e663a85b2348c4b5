/**
 * For development and for a console behind an SSH tunnel: whoever sits at this machine is let in. The host that was asked
 * for must be this machine's too, so that a page elsewhere cannot come in by a name that it lets point here, and a request
 * that a proxy passed on is not from here.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Permission } from "./contract.ts";
import { permissions, type Authorized } from "./options.ts";

interface NodeLike {
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Koa and Fastify have Node's request inside theirs. */
type RequestLike = NodeLike | { readonly req: NodeLike } | { readonly raw: NodeLike };

const localAddress = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
const forwardedBy = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

function nodeRequest(request: RequestLike): NodeLike {
  if ("raw" in request) return request.raw;
  return "req" in request ? request.req : request;
}

export function isLocal(request: RequestLike): boolean {
  const { socket, headers } = nodeRequest(request);
  if (!localAddress.test(socket?.remoteAddress ?? "") || !localHost.test(String(headers["host"] ?? ""))) return false;
  return forwardedBy.every((name) => headers[name] === undefined);
}

/** An `authorize` for Node's own frameworks. Default: everything. */
export function loopbackOnly(
  given: { readonly user?: string; readonly can?: readonly Permission[] } = {},
): (request: RequestLike) => Authorized {
  knownOptions("loopbackOnly", given, { user: true, can: true });
  const { user = "local", can = permissions } = given;
  return (request) => (isLocal(request) ? { user, can } : false);
}
