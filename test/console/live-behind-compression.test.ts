/** Live arrives as it comes, also where the program compresses its answers. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import compression from "compression";
import express from "express";
import { expect, test } from "vitest";
import { console as consoleOf } from "ichido/console";
import { memoryStore } from "ichido/memory";

const withinMs = 3_000;

test("the first words of Live come through compression, and nobody on the way is to keep them back", async () => {
  const open = consoleOf({ store: memoryStore() }, { authorize: () => ({ user: "ann", can: ["read"] }) });
  const server = express().use(compression(), express.json()).use("/console", open).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/api/live`;
  try {
    const response = await fetch(url, {
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.timeout(withinMs),
    });
    expect(response.headers.get("cache-control")).toContain("no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toContain("event: hello");
    await reader?.cancel();
  } finally {
    open.close();
    server.closeAllConnections();
    server.close();
  }
});
