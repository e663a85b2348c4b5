/** What Koa writes for a value is what is stored: its own rules say what counts as bytes, as text and as JSON. */
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { createIchido } from "ichido";
import { idempotency } from "ichido/koa";
import { memoryStore } from "ichido/memory";
import { expect, onTestFinished, test } from "vitest";

const bytes = [65, 66];

test.each<[string, unknown]>([
  ["a buffer", Buffer.from(bytes)],
  ["a Uint8Array", new Uint8Array(bytes)],
  ["a Float64Array", new Float64Array(bytes)],
  ["an ArrayBuffer", new ArrayBuffer(2)],
  ["a Blob", new Blob(["AB"])],
  ["a Response", new Response("AB")],
  ["a list", bytes],
  ["a text", "AB"],
  ["a number", 0],
  ["nothing", null],
])("A24 a replay equals the first answer: %s", async (_, body) => {
  const ichido = createIchido<Koa.Context>({ store: memoryStore(), dangerouslyShareKeys: true, onUnknown: "rerun" });
  onTestFinished(() => ichido.close());
  const app = new Koa().use(idempotency(ichido, { operation: "card.create" })).use((ctx) => {
    ctx.body = body;
  });
  const server = app.listen(0, "127.0.0.1");
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  const ask = async () => {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: { "idempotency-key": "k-1" } });
    const content = [answer.status, answer.headers.get("content-type"), await answer.text()];
    return { content, isReplay: answer.headers.has("idempotency-replayed") };
  };
  const { content } = await ask();
  expect(await ask()).toEqual({ content, isReplay: true });
});
