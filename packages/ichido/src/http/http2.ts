/** Where requests and responses of `node:http2`, through Node's compatibility layer, differ from those of `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

export function isHttp2(message: Pick<IncomingMessage, "httpVersionMajor">): boolean {
  return message.httpVersionMajor >= 2;
}

/** HTTP/2 frames bodies by itself: neither `Content-Length` nor `Transfer-Encoding` need tell of one. */
export function endsWithHead(request: IncomingMessage): boolean {
  return (request as unknown as Http2ServerRequest).stream.endAfterHeaders;
}

/** A body that was cut off ends like a complete one, and `complete` is true for both: only this tells. */
export function isAborted(request: IncomingMessage): boolean {
  return isHttp2(request) && (request as unknown as Http2ServerRequest).aborted;
}

/** `closed` is HTTP/1.1's alone. */
export function isClosed(response: ServerResponse): boolean {
  if (!isHttp2(response.req)) return response.closed;
  const { stream } = response as unknown as Http2ServerResponse;
  return stream.closed || stream.destroyed;
}

const connectionLines = ["keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings"];

/**
 * RFC 9113 section 8.2.2: these have no place in HTTP/2, and Node throws over them when the head is sent. That would be
 * after the effect, and they say nothing of the answer.
 */
export function dropConnectionLines(response: ServerResponse): void {
  for (const name of connectionLines) response.removeHeader(name);
}

function refuse(): never {
  throw Object.assign(new Error("Response has already been initiated."), { code: "ERR_HTTP2_HEADERS_SENT" });
}

/**
 * Makes the head look sent: on HTTP/2 that is told by the stream and cannot be set. Returns what undoes it, with the
 * methods that outer layers may have put there.
 */
export function closeHttp2Head(response: ServerResponse): () => void {
  const told = { configurable: true, get: () => true };
  const refused = { configurable: true, writable: true, value: refuse };
  const standIns: PropertyDescriptorMap = {
    headersSent: told,
    _header: told,
    setHeader: refused,
    appendHeader: refused,
    removeHeader: refused,
  };
  const former = Object.getOwnPropertyDescriptors(response) as PropertyDescriptorMap;
  Object.defineProperties(response, standIns);
  return () => {
    for (const name of Object.keys(standIns)) {
      Reflect.deleteProperty(response, name);
      const before = former[name];
      if (before !== undefined) Object.defineProperty(response, name, before);
    }
  };
}
