/** Bodies that arrive in chunks of every size, over a connection: one fingerprint, that of the bytes as a whole. */
import { once } from "node:events";
import { Agent, createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { fingerprintOf } from "../../packages/ichido/src/core/request/fingerprint.ts";
import type { RequestBody } from "../../packages/ichido/src/core/contract/message.ts";
import { NodeNeutralRequest } from "../../packages/ichido/src/http/node-request.ts";
import { chunksOf, textOf } from "./draw.ts";
import { must, type Random, type Target } from "./target.ts";

const limits = { requestBytesMax: 1_048_576, uploadBytesMax: 1_048_576 };

function printOf(mediaType: string, body: RequestBody): string {
  const options = { fields: undefined, compare: "semantic" } as const;
  const { raw, canonical } = fingerprintOf({ method: "POST", target: "/", mediaType, body, options });
  return `${Buffer.from(raw).toString("hex")} ${Buffer.from(canonical).toString("hex")}`;
}

function drawBody(random: Random): { readonly mediaType: string; readonly bytes: Buffer } {
  const text = textOf(
    random,
    ["a", "b", "é", "=", "&", "\r\n", "--B", "--", "{", "}", '"', ":", "1"],
    random.pick([4, 40, 3_000]),
  );
  switch (random.int(0, 3)) {
    case 0:
      return { mediaType: "application/json", bytes: Buffer.from(JSON.stringify({ text, list: text.split("b") })) };
    case 1:
      return { mediaType: "application/x-www-form-urlencoded", bytes: Buffer.from(text) };
    case 2: {
      const part = `--B9\r\nContent-Disposition: form-data; name="a"\r\n\r\n${text}\r\n`;
      return { mediaType: "multipart/form-data; boundary=B9", bytes: Buffer.from(`${part}${part}--B9--\r\n`) };
    }
    default:
      return { mediaType: "application/octet-stream", bytes: Buffer.from(random.bytes(random.int(1, 3_000))) };
  }
}

const codings = {
  none: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gzipSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes),
};

export const chunkedRequests: Target = {
  name: "chunked-requests",
  promise: "F-08 F-13 A28 a body has one fingerprint, in whatever chunks and codings it arrives",
  inputs: 500,
  async open() {
    const server = createServer((request, response) => {
      const neutral = new NodeNeutralRequest(request, limits, request);
      void Promise.resolve(neutral.body()).then(
        (body) => response.end(printOf(request.headers["content-type"] ?? "", body)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });

    async function attempt(random: Random): Promise<void> {
      const { mediaType, bytes } = drawBody(random);
      const coding = random.pick(["none", "none", "gzip", "br"] as const);
      const headers = { "content-type": mediaType, ...(coding !== "none" && { "content-encoding": coding }) };
      const asking = ask({ port, host: "127.0.0.1", method: "POST", agent, headers });
      const answered = once(asking, "response");
      for (const chunk of chunksOf(random, codings[coding](bytes))) if (chunk.length > 0) asking.write(chunk);
      asking.end();
      const [response] = (await answered) as [AsyncIterable<Buffer>];
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece);
      const seen = Buffer.concat(pieces).toString();
      const expected = printOf(mediaType, bytes.length === 0 ? { kind: "none" } : { kind: "bytes", bytes });
      must(seen === expected, "another fingerprint in chunks", mediaType, coding, bytes, seen);
    }
    return {
      attempt,
      async close() {
        agent.destroy();
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    };
  },
};
