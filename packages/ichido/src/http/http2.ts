/** Where responses of `node:http2`, through Node's compatibility layer, differ from those of `node:http`. */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { isHttp2 } from "./node-request.ts";

/** `closed` is HTTP/1.1's alone. */
export function isClosed(response: ServerResponse): boolean {
  if (!isHttp2(response.req)) return response.closed;
  const { stream } = response as unknown as Http2ServerResponse;
  return stream.closed || stream.destroyed;
}

const connectionLines = ["keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings"];

/**
 * RFC 9113 section 8.2.2: these have no place in HTTP/2, and Node throws over them when the head is sent. That would be
 * after the effect. The lines say nothing about the answer, so they are dropped.
 */
export function dropConnectionLines(response: { removeHeader(name: string): unknown }): void {
  for (const name of connectionLines) response.removeHeader(name);
}

function refuse(): never {
  throw Object.assign(new Error("Response has already been initiated."), { code: "ERR_HTTP2_HEADERS_SENT" });
}

/**
 * Makes the head look sent. On HTTP/2 the stream decides that, and it cannot be set. Returns the function that undoes
 * it and restores the methods that outer layers may have put there.
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
