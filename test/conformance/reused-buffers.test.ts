/**
 * Handlers that fill one buffer again and again. Node says that a buffer is the program's again once the answer has gone
 * out, the fetch standard that a `Response` has copied it. What is kept of an answer lives longer than either.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { createServer, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { createIchido, type Store } from "ichido";
import { idempotency } from "ichido/express";
import { idempotency as onHono } from "ichido/hono";
import { memoryStore } from "ichido/memory";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";

interface Settings {
  readonly store?: Store;
  readonly replayCache?: boolean;
}

function engineOf({ store = memoryStore(), replayCache = false }: Settings) {
  const ichido = createIchido({
    store,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    ...(replayCache && { replayCache: {} }),
  });
  onTestFinished(() => ichido.close());
  return ichido;
}

async function ask(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  return async (key: string, card: string) => {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/cards`, {
      method: "POST",
      headers: { "idempotency-key": `"${key}"`, "content-type": "application/json" },
      body: JSON.stringify({ card }),
    });
    return `${answer.headers.get("idempotency-replayed") ?? "first"} ${await answer.text()}`;
  };
}

function onNode(settings: Settings) {
  const free: Buffer[] = [];
  const app = express().use(express.json());
  app.post("/cards", idempotency(engineOf(settings), { operation: "card" }), (req, res) => {
    const buffer = free.pop() ?? Buffer.alloc(1_024);
    const length = buffer.write((req.body as { card: string }).card);
    res
      .status(201)
      .type("text")
      .end(buffer.subarray(0, length), () => free.push(buffer));
  });
  return ask((req, res) => void app(req, res));
}

function onWeb(settings: Settings) {
  const scratch = new Uint8Array(1_024);
  const app = new Hono();
  app.post("/cards", onHono(engineOf(settings), { operation: "card" }), async (c) => {
    const { card } = await c.req.json<{ card: string }>();
    const { written } = new TextEncoder().encodeInto(card, scratch);
    return c.body(scratch.subarray(0, written), 201, { "content-type": "text/plain" });
  });
  const listener = getRequestListener(app.fetch);
  return ask((req, res) => void listener(req, res));
}

test("Hono: two callers at once, while the store takes its time: each gets its own answer", async () => {
  const memory = memoryStore();
  const store: Store = { ...memory, complete: async (...given) => (await sleep(50), memory.complete(...given)) };
  const send = await onWeb({ store });
  expect(await Promise.all([send("a", "Ann"), send("b", "Bob")])).toEqual(["first Ann", "first Bob"]);
  expect(await Promise.all([send("a", "Ann"), send("b", "Bob")])).toEqual(["true Ann", "true Bob"]);
});

test.each([
  ["Node", onNode],
  ["Hono", onWeb],
])("%s: the replay cache has the answer as it went out", async (_, open) => {
  const send = await open({ replayCache: true });
  await send("a", "Ann");
  await send("b", "Bob");
  expect(await send("a", "Ann")).toBe("true Ann");
});

test.each([
  ["Node", onNode],
  ["Hono", onWeb],
])("%s: an answer that the store took late is the one that went out", async (_, open) => {
  const memory = memoryStore();
  let isAway = true;
  const store: Store = {
    ...memory,
    complete: (...given) => (isAway ? Promise.reject(new Error("the store is away")) : memory.complete(...given)),
  };
  const send = await open({ store });
  expect(await send("a", "Ann")).toBe("first Ann");
  await send("b", "Bob");
  isAway = false;
  await eventually(async () => expect(await send("a", "Ann")).toMatch(/^true /), 10_000);
  expect(await send("a", "Ann")).toBe("true Ann");
});
