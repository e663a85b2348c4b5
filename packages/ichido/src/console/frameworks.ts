/** What a console needs of each framework, so that none is imported. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** The handler itself: Express, Connect, Nest, `node:http`. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

export interface FastifyLike {
  readonly prefix: string;
  all(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<void>): unknown;
}

export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly url: string;
  readonly body?: unknown;
}

export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

export interface KoaContextLike {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: object;
  readonly url: string;
  readonly originalUrl: string;
  respond?: boolean | undefined;
}

export interface HonoContextLike {
  /** `routePath`: `/console/*`, as the route was given. */
  readonly req: { readonly raw: Request; readonly routePath?: string };
}
