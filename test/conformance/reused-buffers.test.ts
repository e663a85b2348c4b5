/**
 * Handlers that fill one buffer again and again. Node says that a buffer is the program's again once the answer has gone
 * out, which mostly is at once, and the fetch standard that a `Response` has copied it. Answers wait for the store, and
 * what is kept of them lives longer still.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { createServer, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { createIchido, type Store } from "ichido";
import { idempotency } from "ichido/express";
import { idempotency as fastifyPlugin } from "ichido/fastify";
import { idempotency as onHono } from "ichido/hono";
import { idempotency as koaMiddleware } from "ichido/koa";
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

/** Fills one buffer for all answers, and waits for nobody. */
const shared = Buffer.alloc(1_024);
const fill = (text: string): Buffer => shared.subarray(0, shared.write(text));
const cardOf = (body: unknown): string => (body as { card: string }).card;

function onExpress(answer: (res: express.Response, card: string) => void) {
  return (settings: Settings) => {
    const app = express().use(express.json());
    app.post("/cards", idempotency(engineOf(settings), { operation: "card" }), (req, res) =>
      answer(res, cardOf(req.body)),
    );
    return ask((req, res) => void app(req, res));
  };
}

async function onFastify(settings: Settings) {
  const app = fastify();
  await app.register(fastifyPlugin, { ichido: engineOf(settings) });
  app.post("/cards", { config: { idempotency: { operation: "card" } } }, async ({ body }) => fill(cardOf(body)));
  await app.ready();
  return ask((req, res) => app.routing(req, res));
}

async function onKoa(settings: Settings) {
  const app = new Koa().use(koaMiddleware(engineOf(settings), { operation: "card" })).use(async (ctx) => {
    const chunks: Buffer[] = [];
    for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
    ctx.body = fill(cardOf(JSON.parse(Buffer.concat(chunks).toString())));
  });
  const listener = app.callback();
  return ask((req, res) => void listener(req, res));
}

async function onWebStream(settings: Settings) {
  const app = new Hono();
  app.post("/cards", onHono(engineOf(settings), { operation: "card" }), async (c) => {
    const chunk = fill(cardOf(await c.req.json()));
    return c.body(
      new ReadableStream({
        start(controller) {
          controller.enqueue(chunk);
          controller.close();
        },
      }),
    );
  });
  const listener = getRequestListener(app.fetch);
  return ask((req, res) => void listener(req, res));
}

const inPieces = (res: express.Response, card: string): void => {
  res.write(fill(card));
  setTimeout(() => res.end(), 10);
};
const byContext = async (res: express.Response, card: string): Promise<void> => {
  await res.req.idempotency?.unknown({ status: 202, body: fill(card) });
};

test.each([
  ["Express, by end", onExpress((res, card) => void res.end(fill(card)))],
  ["Express, by write", onExpress(inPieces)],
  ["Fastify", onFastify],
  ["Koa", onKoa],
  ["Hono", onWeb],
  ["Hono, by a stream", onWebStream],
])("%s: two callers at once, while the store takes its time: each gets its own answer", async (_, open) => {
  const memory = memoryStore();
  const store: Store = { ...memory, complete: async (...given) => (await sleep(50), memory.complete(...given)) };
  const send = await open({ store });
  expect(await Promise.all([send("a", "Ann"), send("b", "Bob")])).toEqual(["first Ann", "first Bob"]);
  expect(await Promise.all([send("a", "Ann"), send("b", "Bob")])).toEqual(["true Ann", "true Bob"]);
});

test("an answer that the context makes is as it was made, while the store takes its time", async () => {
  const memory = memoryStore();
  const store: Store = { ...memory, suspend: async (...given) => (await sleep(50), memory.suspend(...given)) };
  const send = await onExpress((res, card) => void byContext(res, card))({ store });
  expect(await Promise.all([send("a", "Ann"), send("b", "Bob")])).toEqual(["first Ann", "first Bob"]);
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
