/** A server whose memory is watched: prints its port, then answers GET /memory with what is in use after a collection. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { createIchido } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { idempotent } from "ichido/fetch";
import { memoryStore } from "ichido/memory";

const mebibyte = 1_048_576;
const ichido = createIchido<express.Request>({
  store: memoryStore({ recordsMax: 1_000, scopeShareMax: 1 }),
  scope: () => ({ tenant: "t" }),
  onUnknown: "rerun",
  sweepMs: "off",
});
const app = express();
let peak = 0;
setInterval(() => {
  const { heapUsed, external } = process.memoryUsage();
  peak = Math.max(peak, heapUsed + external);
}, 5).unref();
/** Held when an upload has arrived and its handler has not read a byte: the worst moment for whoever keeps it in memory. */
let held = 0;
/** What a finished request leaves is let go over a few turns of the event loop. */
async function inUse(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
app.get("/memory", async (_req, res) => {
  const used = await inUse();
  res.json({ used, peak, held });
  [peak, held] = [0, 0];
});
const requestBytesMax = 32 * mebibyte;
const uploadBytesMax = requestBytesMax;
const web = getRequestListener(
  idempotent(
    createIchido<Request>({
      store: memoryStore({ recordsMax: 1_000, scopeShareMax: 1 }),
      scope: () => ({ tenant: "t" }),
      onUnknown: "rerun",
      sweepMs: "off",
    }),
    { operation: "upload" },
    async (request) => Response.json(await received(request.body as ReadableStream<Uint8Array>), { status: 201 }),
    { uploadBytesMax },
  ),
);
app.post("/web", (req, res) => void web(req, res));
// The limit of what is kept in memory stays low: nothing of an upload may count against it.
app.use("/multipart", captureBody({ requestBytesMax: mebibyte, uploadBytesMax }));
app.post("/multipart", idempotency(ichido, { operation: "multipart" }), async (req, res) => {
  res.status(201).json(await received(req));
});

async function received(body: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  held = Math.max(held, await inUse());
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.digest("hex") };
}

app.use(captureBody({ requestBytesMax }), express.json());
app.post("/upload", idempotency(ichido, { operation: "upload" }, { requestBytesMax }), async (req, res) => {
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) bytes += chunk.length;
  res.status(201).json({ bytes });
});
app.post("/download", idempotency(ichido, { operation: "download" }), async (_req, res) => {
  const chunk = Buffer.alloc(mebibyte, 7);
  for (let sent = 0; sent < 100; sent += 1) {
    if (!res.write(chunk)) await once(res, "drain");
  }
  res.end();
});
app.post(
  "/small",
  idempotency(ichido, { operation: "small", retentionMs: 400 }),
  (_req, res) => void res.status(201).json({ ok: true }),
);
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`listening on ${(server.address() as AddressInfo).port}`);
