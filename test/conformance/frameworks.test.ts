/** The adapter suite on every other framework, on memory and on SQLite. */
import { adapterSuite, type AdapterSubject } from "ichido/testing";
import { describe, it } from "vitest";
import { fastifySubject } from "./fastify-app.ts";
import { honoSubject } from "./hono-app.ts";
import { koaSubject } from "./koa-app.ts";
import { fetchSubject, nodeSubject } from "./node-app.ts";
import { storeParts } from "./stores.ts";

const subjects: Readonly<Record<string, Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies" | "skip">>> =
  {
    fastify: fastifySubject,
    koa: koaSubject,
    node: nodeSubject,
    hono: honoSubject,
    fetch: fetchSubject,
  };

/** The usual run tries each framework once and the two kinds of capture on both stores; `npm run test:full` all pairs. */
const full = process.env["ICHIDO_FULL"] === "1";
const bothStores = new Set(["fastify", "hono"]);

const concurrently = (title: string, body: () => Promise<void>): void => it.concurrent(title, body, 120_000);
const chosen = process.env["ICHIDO_FRAMEWORK"];

for (const [framework, subject] of Object.entries(subjects)) {
  if (chosen !== undefined && chosen !== framework) continue;
  for (const [store, { openStore, transactions }] of Object.entries(storeParts(framework))) {
    if (!full && store !== "memory" && !bothStores.has(framework)) continue;
    adapterSuite(
      { describe, it: Object.assign(concurrently, { skip: it.skip }) },
      { name: `${framework} on ${store}`, openStore, ...(transactions && { transactions }), ...subject },
    );
  }
}
