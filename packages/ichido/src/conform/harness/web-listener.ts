/** `(Request) => Response` on `node:http`, for handlers whose own platform is not installed. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";

function requestOf(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  }
  const method = incoming.method ?? "GET";
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  return new Request(new URL(incoming.url ?? "/", "http://127.0.0.1"), {
    method,
    headers,
    body,
    duplex: "half",
  } as RequestInit);
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: (request: Request) => Response | Promise<Response>,
): Promise<void> {
  const response = await handle(requestOf(incoming));
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers as unknown as Iterable<[string, string]>) {
    outgoing.appendHeader(name, value);
  }
  if (response.body !== null && incoming.method !== "HEAD") {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) outgoing.write(chunk);
  }
  outgoing.end();
}

export function webListener(handle: (request: Request) => Response | Promise<Response>): RequestListener {
  return (incoming, outgoing) => {
    serve(incoming, outgoing, handle).catch(() => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    });
  };
}
