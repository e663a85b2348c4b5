/** What the harness applications of several frameworks share. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Harness, RunningApp } from "ichido/testing";

export function pieces(body: Uint8Array): readonly Uint8Array[] {
  const size = Math.max(1, Math.ceil(body.length / 7));
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  );
}

export function streamOf(
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array | string>,
): ReadableStream<Uint8Array> {
  const iterator = (async function* () {
    for await (const piece of source) yield typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
  })();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** CORS lines for one request, for frameworks whose own layer is not at hand. Status 204 answers a preflight. */
export function corsLines(
  harness: Pick<Harness<never>, "cors">,
  request: { readonly method: string; readonly origin: string | undefined },
): { readonly preflight: boolean; readonly lines: readonly (readonly [string, string])[] } {
  const { origins, allow, expose } = harness.cors;
  const lines: (readonly [string, string])[] = [["Vary", "Origin"]];
  if (request.origin !== undefined && origins.includes(request.origin)) {
    lines.push(["Access-Control-Allow-Origin", request.origin], ["Access-Control-Expose-Headers", expose]);
  }
  const preflight = request.method === "OPTIONS";
  if (preflight) lines.push(["Access-Control-Allow-Headers", allow], ["Access-Control-Allow-Methods", "POST,PATCH"]);
  return { preflight, lines };
}

export async function listening<Native>(server: Server, harness: Harness<Native>): Promise<RunningApp> {
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  return {
    port: (server.address() as AddressInfo).port,
    harness: harness as unknown as Harness<never>,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** As the framework's JSON parser would: bodies of other types are left alone, broken JSON is a 400 of its own. */
export function parseJson(type: string | undefined, bytes: Uint8Array): unknown {
  if (bytes.length === 0 || !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type ?? "")) return undefined;
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
}

export async function collect(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
