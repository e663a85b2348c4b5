/** Hono on Node: the body is read once, from the connection, and the handler finds it unread in whatever way it reads. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { createIchido } from "ichido";
import { idempotency } from "ichido/hono";
import { memoryStore } from "ichido/memory";
import { afterEach, expect, test } from "vitest";

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const body = JSON.stringify({ amount: 100, note: "一度" });

type Read = (c: Context) => Promise<unknown> | undefined;

const reads: Readonly<Record<string, Read>> = {
  "c.req.json()": (c) => c.req.json(),
  "c.req.text()": async (c) => JSON.parse(await c.req.text()),
  "c.req.arrayBuffer()": async (c) => JSON.parse(Buffer.from(await c.req.arrayBuffer()).toString()),
  "c.req.raw.json()": (c) => c.req.raw.json(),
  "c.req.raw.clone()": (c) => c.req.raw.clone().json(),
  "the stream c.req.raw.body": async (c) => JSON.parse(await new Response(c.req.raw.body).text()),
  "new Request(c.req.raw)": (c) => new Request(c.req.raw).json(),
  "new Request with its body": (c) =>
    new Request("http://elsewhere/", { method: "POST", body: c.req.raw.body, duplex: "half" } as RequestInit).json(),
};

const nothing: Read = () => undefined;

async function listen(read: Read, before = nothing, after = nothing) {
  const ichido = createIchido({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun" });
  const app = new Hono();
  app.use(async (c, next) => {
    const looking = before(c);
    // A moment later the stream would be read from already.
    if (looking !== undefined) await looking;
    await next();
    await after(c);
  });
  app.post("/payments", idempotency(ichido, { operation: "payment.create" }), async (c) =>
    c.json({ read: await read(c) }, 201),
  );
  const listener = getRequestListener(app.fetch);
  const server = createServer((req, res) => void listener(req, res)).listen(0, "127.0.0.1");
  closers.push(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  return (key: string, sent: BodyInit = body) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": `"${key}"` },
      body: sent,
      duplex: "half",
    } as RequestInit);
}

const inPieces = (): ReadableStream => new Blob([body]).stream();

test.each(Object.entries(reads))("%s finds the body, declared in length or not, and is replayed", async (_, read) => {
  const send = await listen(read);
  for (const [key, sent] of [
    ["declared", body],
    ["chunked", inPieces()],
  ] as const) {
    const first = await send(key, sent);
    expect(first.status).toBe(201);
    const text = await first.text();
    expect(JSON.parse(text)).toEqual({ read: JSON.parse(body) });
    const again = await send(key);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(await again.text()).toBe(text);
  }
});

test.each([
  ["has looked at the stream", (c: Context) => void c.req.raw.body],
  ["has read it by Hono", (c: Context) => c.req.json()],
  ["has read a copy", (c: Context) => c.req.raw.clone().text()],
])("the body is there where a layer in front %s", async (_, before) => {
  const send = await listen((c) => c.req.json(), before);
  const first = await send("layered");
  expect([first.status, await first.json()]).toEqual([201, { read: JSON.parse(body) }]);
  expect((await send("layered", body.replace("100", "200"))).status).toBe(422);
});

test("a header line beyond ASCII has the same bytes in the first answer and in its replay", async () => {
  const send = await listen(async (c) => c.header("x-name", "caf\u00e9"));
  const first = await send("beyond-ascii");
  const again = await send("beyond-ascii");
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect([first.headers.get("x-name"), again.headers.get("x-name")]).toEqual(["caf\u00e9", "caf\u00e9"]);
});

/** By names inside @hono/node-server, on which nothing but the cost rests. */
function isMaterialised(message: object): boolean {
  return Object.getOwnPropertySymbols(message).some(({ description = "" }) =>
    /^(request|response)Cache$/.test(description),
  );
}

test("neither the request nor the answer becomes one of the platform", async () => {
  const seen: boolean[] = [];
  const look: Read = async (c) => seen.push(isMaterialised(c.req.raw));
  const send = await listen(look, undefined, async (c) => seen.push(isMaterialised(c.res)));
  expect((await send("light")).status).toBe(201);
  expect(seen).toEqual([false, false]);
});
