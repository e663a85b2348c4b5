/** Tracers and stack traces call a layer by its function's name. */
import { expect, test } from "vitest";
import { createIchido, type Ichido } from "../index.ts";
import { memoryStore } from "../stores/memory/index.ts";
import * as express from "./express.ts";
import * as hono from "./hono.ts";
import * as koa from "./koa.ts";

const ichido: Ichido<never> = createIchido({
  store: memoryStore(),
  scope: () => ({ principal: "p" }),
  onUnknown: "rerun",
});

test.each([
  [express.idempotency(ichido, { operation: "a" }), "idempotency"],
  [koa.idempotency(ichido, { operation: "a" }), "idempotency"],
  [hono.idempotency(ichido, { operation: "a" }), "idempotency"],
  [express.captureBody(), "captureBody"],
  [koa.captureBody(), "captureBody"],
])("%o is called %s", (middleware, name) => {
  expect(middleware.name).toBe(name);
});
