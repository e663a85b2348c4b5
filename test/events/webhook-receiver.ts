/** A receiver on loopback that keeps what it was sent and answers as it is told. */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly path: string;
}

export type Respond = (response: ServerResponse, request: IncomingMessage) => void;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Replaces how it answers from now on. */
  respond: Respond;
  close(): Promise<void>;
}

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    void response.writeHead(code, headers).end("said");

export async function receiver(respond: Respond = status(204), port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks), path: request.url ?? "" });
      one.respond(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address() as AddressInfo;
  const one: Receiver = {
    url: `http://127.0.0.1:${address.port}/hooks?token=of-the-user`,
    received,
    respond,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  onTestFinished(() => one.close());
  return one;
}

/** By hand, from the text of the specification: nothing of the code under test. */
export function signatureByHand(secret: string, { headers, body }: Received): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = Buffer.concat([
    Buffer.from(`${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.`),
    body,
  ]);
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}
