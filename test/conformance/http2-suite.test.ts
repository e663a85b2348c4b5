/**
 * The adapter suite over HTTP/2: the usual run on plain Node, `npm run test:full` on every framework whose server can
 * speak it. `http2.test.ts` tries all of them with clients of their own.
 */
import { adapterSuite, type AdapterSubject } from "ichido/testing";
import { describe, it } from "vitest";
import { fastifySubject, startFastify } from "./fastify-app.ts";
import { http2Server, overHttp2 } from "./http2-bridge.ts";
import { koaSubject, startKoa } from "./koa-app.ts";
import { nodeSubject, startNode } from "./node-app.ts";
import { storeParts } from "./stores.ts";

const subjects: Readonly<Record<string, Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies" | "skip">>> =
  {
    node: {
      ...nodeSubject,
      start: async (options) => overHttp2(await startNode(options, http2Server as never)),
    },
    koa: { ...koaSubject, start: async (options) => overHttp2(await startKoa(options, http2Server as never)) },
    fastify: { ...fastifySubject, start: async (options) => overHttp2(await startFastify(options, { http2: true })) },
  };

const concurrently = (title: string, body: () => Promise<void>): void => it.concurrent(title, body, 120_000);

const full = process.env["ICHIDO_FULL"] === "1";

for (const [framework, subject] of Object.entries(subjects)) {
  if (!full && framework !== "node") continue;
  const { memory } = storeParts("node");
  adapterSuite(
    { describe, it: Object.assign(concurrently, { skip: it.skip }) },
    { name: `${framework} over HTTP/2`, openStore: memory.openStore, ...subject },
  );
}
