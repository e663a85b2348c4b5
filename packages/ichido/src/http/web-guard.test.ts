/** What Hono and fetch-style servers share, with the engine behind it. */
import { expect, test } from "vitest";
import { createIchido, type Ichido } from "../index.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { bodyLimitsOf } from "./body-limits.ts";
import { createWebGuard, type WebExchange } from "./web-guard.ts";
import { neutralWebRequest } from "./web-request.ts";

const ichido: Ichido<Request> = createIchido<Request>({
  store: memoryStore(),
  scope: () => ({ principal: "p" }),
  onUnknown: "hold",
});
const { guard } = createWebGuard(ichido, { operation: "pay", required: false });

function ask(key: string | undefined, run: WebExchange<Request>["run"]): Promise<Response | undefined> {
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": `"${key}"` };
  const request = new Request("http://a.test/pay", { method: "POST", headers });
  const neutral = () => neutralWebRequest({ request, native: request, limits: bodyLimitsOf({}) });
  return guard({ request, neutral, run });
}

test("an answer that the context made outlives what the handler throws, and that it gives nothing", async () => {
  const pending = { status: 202, body: "not yet" };
  const thrown = await ask("thrown", async (context) => {
    await context?.unknown(pending);
    // Hono lets whatever is no Error through.
    // oxlint-disable-next-line no-throw-literal, only-throw-error
    throw "no error";
  });
  expect(thrown?.status).toBe(202);
  const silent = await ask("silent", async (context) => {
    await context?.unknown(pending);
    return undefined;
  });
  expect(await silent?.text()).toBe("not yet");
});

test("without an answer of the context, what the handler throws is thrown on, and nothing is nothing", async () => {
  const failure = new Error("broken");
  await expect(ask("broken", () => Promise.reject(failure))).rejects.toBe(failure);
  expect(await ask("nothing", async () => undefined)).toBeUndefined();
});

test("a request without a key runs without a context", async () => {
  const answer = await ask(undefined, async (context) => new Response(typeof context));
  expect(await answer?.text()).toBe("undefined");
});
