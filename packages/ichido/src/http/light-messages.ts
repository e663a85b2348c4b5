/**
 * The light `Request` and `Response` of @hono/node-server. It makes the platform's own, which cost many times as much as
 * all else it does for a request, only for whoever asks for a stream. What is behind them is found by the names it gives
 * its symbols; where those are not found, or are not what they were, the messages are taken as any others.
 */
import type { IncomingMessage } from "node:http";
import { notInFull } from "./body-limits.ts";

function behind(message: object, name: string): unknown {
  for (const symbol of Object.getOwnPropertySymbols(message)) {
    if (symbol.description === name) return Reflect.get(message, symbol);
  }
  return undefined;
}

type Incoming = IncomingMessage & { rawBody?: Buffer };

/** The request as Node has it, while nobody has begun to read it. HTTP/2 tells less of how a body ended. */
function unreadIncoming(request: Request): Incoming | undefined {
  const found = behind(request, "incomingKey") as Partial<Incoming> | undefined;
  if (found === undefined || request.bodyUsed || behind(request, "requestCache") !== undefined) return undefined;
  const isUnread = found.readableFlowing === null && found.destroyed === false && found.rawBody === undefined;
  return isUnread && found.httpVersionMajor === 1 ? (found as Incoming) : undefined;
}

/**
 * Reads the body once, where it says that it is no longer than that. @hono/node-server takes a body that is at hand as
 * `rawBody`: the handler finds the request unread, in whatever way it reads it.
 */
export function lightBytesOf(request: Request, bytesMax: number): (() => Promise<Uint8Array>) | undefined {
  const incoming = unreadIncoming(request);
  const declared = incoming?.headers["content-length"];
  if (incoming === undefined || declared === undefined || !(Number(declared) <= bytesMax)) return undefined;
  return () => readWhole(incoming);
}

function readWhole(incoming: Incoming): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const isWhole = (): boolean => incoming.complete && incoming.readableEnded;
    incoming.on("data", (chunk: Buffer) => void chunks.push(chunk));
    incoming.once("error", (error) => reject(notInFull(error)));
    // After the end as well: an error is made only where there is one.
    incoming.once("close", () => isWhole() || reject(notInFull()));
    incoming.once("end", () => {
      if (!incoming.complete) return reject(notInFull());
      incoming.rawBody = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
      return resolve(incoming.rawBody);
    });
  });
}

/**
 * The bytes of an answer that is text or bytes, which stays unread; undefined where it is not known without reading. Bytes
 * are copied, as the platform's own `Response` does when it is made: the handler may fill its buffer with the next answer
 * while this one waits for the store.
 */
export function lightContentOf(
  response: Response,
): { readonly bytes: Uint8Array; readonly isText: boolean } | undefined {
  const cache = behind(response, "cache");
  if (!Array.isArray(cache) || cache.length !== 3) return undefined;
  const content: unknown = cache[1];
  if (typeof content === "string") return { bytes: Buffer.from(content), isText: true };
  return content instanceof Uint8Array ? { bytes: Buffer.from(content), isText: false } : undefined;
}
