/**
 * `ichido conform` against ichido itself and three published libraries, each mounted as its readme says, on the same Express
 * application:
 *
 *     npm run bench -- conform-peers.ts
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Idempotency } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import express from "express";
import * as expressIdempotency from "express-idempotency";
import { createIchido } from "ichido";
import { conform, readDescription, type ConformReport } from "ichido/conform";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import idempotencyBackend from "idempotency-backend/express";

interface Peer {
  readonly name: string;
  /** Mounts what the library needs before the handler; `run` makes the effect and answers. */
  mount(app: express.Express, run: express.RequestHandler): void;
}

const slowMs = 700;

const peers: readonly Peer[] = [
  {
    name: "ichido",
    mount(app, run) {
      const ichido = createIchido<express.Request>({
        store: memoryStore(),
        scope: (req) => ({ principal: req.get("authorization") ?? "nobody" }),
        onUnknown: "rerun",
        sweepMs: "off",
      });
      app.use(captureBody(), express.json());
      for (const path of ["/things", "/others"]) app.post(path, idempotency(ichido, { operation: path }), run);
    },
  },
  {
    name: "express-idempotency 1.0.6",
    mount(app, run) {
      app.use(express.json());
      const protect = expressIdempotency.idempotency() as unknown as express.RequestHandler;
      for (const path of ["/things", "/others"]) {
        app.post(path, protect, async (req, res, next) => {
          if (!expressIdempotency.getSharedIdempotencyService().isHit(req as never)) await run(req, res, next);
        });
      }
    },
  },
  {
    name: "@node-idempotency/core 1.0.11",
    mount(app, run) {
      const engine = new Idempotency(new MemoryStorageAdapter());
      app.use(express.json());
      for (const path of ["/things", "/others"]) {
        app.post(path, async (req, res, next) => {
          const { headers, method } = req;
          const asked = { headers, path, method, body: req.body as Record<string, unknown> };
          let stored: Awaited<ReturnType<typeof engine.onRequest>>;
          try {
            stored = await engine.onRequest(asked);
          } catch (error) {
            // The statuses of the library's own framework wrappers.
            const status = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 }[
              (error as { code: string }).code
            ];
            return void res.status(status ?? 400).json({ error: String(error) });
          }
          if (stored !== undefined)
            return void res.status(Number(stored.additional?.["status"] ?? 200)).json(stored.body);
          const send = res.json.bind(res);
          res.json = (body: unknown) => {
            void engine.onResponse(asked, { body, additional: { status: res.statusCode } }).then(() => send(body));
            return res;
          };
          return run(req, res, next);
        });
      }
    },
  },
  {
    name: "idempotency-backend 1.0.4",
    mount(app, run) {
      app.use(express.json());
      app.use(idempotencyBackend as unknown as express.RequestHandler);
      for (const path of ["/things", "/others"]) app.post(path, run);
    },
  },
];

async function report(peer: Peer): Promise<ConformReport> {
  let effects = 0;
  const app = express().set("env", "test");
  app.get("/count", (_req, res) => void res.json({ effects }));
  app.get("/things/:id", (_req, res) => void res.json({ effects }));
  peer.mount(app, async (req, res) => {
    if (req.get("x-slow") !== undefined) await new Promise((resolve) => setTimeout(resolve, slowMs));
    if (req.get("x-throw") !== undefined) throw new Error("planned");
    effects += 1;
    const declined = req.get("x-declined") !== undefined;
    const id = randomUUID();
    const body = { id, effects };
    const session = (req as { idempotencySession?: { SaveResponse(body: unknown): Promise<void> } }).idempotencySession;
    await session?.SaveResponse(body);
    res
      .status(declined ? 402 : 201)
      .set({ location: `/things/${id}`, etag: `"${id}"` })
      .json(body);
  });
  const server: Server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await conform(
      readDescription({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        profile: "ietf",
        operation: { method: "POST", path: "/things", body: { amount: 100, tags: [1, 2] }, status: 201 },
        otherBody: { amount: 200, tags: [1, 2] },
        accepts: ["any-json", "gzip"],
        secondOperation: { path: "/others" },
        principals: [{ Authorization: "Bearer one" }, { Authorization: "Bearer two" }],
        effects: { url: "/count", pointer: "/effects" },
        read: { path: "/things/1" },
        variants: {
          slow: { headers: { "X-Slow": "1" }, ms: slowMs },
          throws: { headers: { "X-Throw": "1" } },
          declined: { headers: { "X-Declined": "1" }, status: 402 },
        },
      }),
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

console.log("| Server | Passed | No marker on a replay | Failed otherwise |");
console.log("|---|---|---|---|");
for (const peer of peers) {
  const { results } = await report(peer);
  const failing = results.filter(({ outcome }) => outcome === "failed");
  // Without the marker a retry cannot be told from a second run by its answer alone; what else is wrong there stays unseen.
  const marker = failing.filter(({ failure }) => failure?.expected.startsWith("the marker") === true);
  const others = failing.filter((each) => !marker.includes(each)).map(({ id }) => id);
  const passed = results.filter(({ outcome }) => outcome === "passed").length;
  const run = passed + failing.length;
  console.log(`| ${peer.name} | ${passed} of ${run} | ${marker.length} | ${others.join(", ") || "none"} |`);
}
process.exit(0);
