/** @node-idempotency/core, held as the library's own framework wrappers hold it. */
import { Idempotency } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import express from "express";
import type { Running, Settings } from "../contract.ts";
import { openRedis } from "../drivers.ts";
import { serveExpress } from "./express-app.ts";

type Adapter = ConstructorParameters<typeof Idempotency>[0];

/** An adapter by hand on the client that all servers use, one command per call. */
async function redisAdapter(url: string): Promise<Adapter> {
  const client = await openRedis(url);
  const defaultMs = 86_400_000;
  return {
    setIfNotExists: async (key, value, { ttl = defaultMs } = {}) =>
      (await client.set(key, value, "PX", ttl, "NX")) === "OK",
    set: async (key, value, { ttl = defaultMs }) => void (await client.set(key, value, "PX", ttl)),
    get: async (key) => (await client.get(key)) ?? undefined,
  };
}

const statuses: Readonly<Record<string, number>> = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 };

export async function start({ store, url }: Settings): Promise<Running> {
  const engine = new Idempotency(store === "redis" ? await redisAdapter(url) : new MemoryStorageAdapter());
  const protect: express.RequestHandler = async (req, res, next) => {
    const { headers, path, method } = req;
    const asked = { headers, path, method, body: req.body as Record<string, unknown> };
    let stored: Awaited<ReturnType<typeof engine.onRequest>>;
    try {
      stored = await engine.onRequest(asked);
    } catch (error) {
      return void res.status(statuses[(error as { code: string }).code] ?? 400).json({ error: String(error) });
    }
    if (stored !== undefined) return void res.status(Number(stored.additional?.["status"])).json(stored.body);
    const send = res.json.bind(res);
    res.json = (body: unknown) => {
      void engine.onResponse(asked, { body, additional: { status: res.statusCode } }).then(() => send(body));
      return res;
    };
    next();
  };
  return serveExpress([express.json()], [protect]);
}
