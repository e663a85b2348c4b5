/** Places at Live are few: who leaves gives theirs back, however early. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { console as consoleOf, type Console } from "ichido/console";
import { memoryStore } from "ichido/memory";
import { eventually } from "../support/eventually.ts";

const slowMs = 150;

const options = {
  authorize: async () => {
    await sleep(slowMs);
    return { user: "ann", can: ["read"] as const };
  },
  listenersMax: 2,
  at: "/console",
};

async function onNode(open: Console): Promise<Server> {
  const server = createServer(open).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function onHono(open: Console): Promise<Server> {
  const app = new Hono();
  app.all("/console/*", open.hono);
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await once(server, "listening");
  return server;
}

/** Before the console knows who they are, and after the stream has begun. */
const leavesAfterMs = [slowMs / 5, 2 * slowMs];

describe.each(Object.entries({ node: onNode, hono: onHono }))("on %s", (_name, serving) => {
  test.each(leavesAfterMs)("a listener that leaves after %d ms keeps no place", async (afterMs) => {
    const open = consoleOf({ store: memoryStore() }, options);
    const server = await serving(open);
    const { port } = server.address() as AddressInfo;
    try {
      for (let left = 0; left < 4; left += 1) {
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        socket.write("GET /console/api/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        await sleep(afterMs);
        socket.destroy();
      }
      await sleep(2 * slowMs);
      await eventually(async () => {
        const abort = new AbortController();
        const { status } = await fetch(`http://127.0.0.1:${port}/console/api/live`, { signal: abort.signal });
        abort.abort();
        expect(status).toBe(200);
      });
    } finally {
      open.close();
      server.closeAllConnections();
      server.close();
    }
  });
});
