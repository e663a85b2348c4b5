/**
 * Who may use the controls: pages of this very address. The controls kill processes, and a page from elsewhere must reach
 * them neither by a request of its own (Origin) nor by a name that it points at this machine (Host).
 */
import type { RequestHandler } from "express";
import { isLoopback, isSameOrigin, loopbackPort } from "../callers.ts";
import { ShopError } from "../http/problems.ts";

export interface GuardOptions {
  /** Where the shop listens. */
  readonly host: string;
  /** Host headers that are accepted beside those of loopback; where the shop does not listen on loopback, these alone. */
  readonly allowedHosts: readonly string[];
}

export function guardControls({ host, allowedHosts }: GuardOptions): RequestHandler {
  const listensOnLoopback = isLoopback(host);
  return (request, _response, next) => {
    const named = request.headers.host ?? "";
    const isOwn = listensOnLoopback && loopbackPort(named) === request.socket.localPort;
    if (!isOwn && !allowedHosts.includes(named)) {
      throw new ShopError(
        "playground-refused",
        "the playground works on loopback, at this machine's own name; PLAYGROUND_HOSTS names others",
      );
    }
    if (!isSameOrigin(request.headers)) {
      throw new ShopError("playground-refused", "the playground's controls take requests of its own page alone");
    }
    if (request.method === "POST" && request.is("application/json") === false) {
      throw new ShopError("unsupported-media-type", "send Content-Type: application/json");
    }
    next();
  };
}
