/** The adapter suite on NestJS, on both platforms; `npm run test:full` tries each on memory and on SQLite. */
import { adapterSuite } from "ichido/testing";
import { describe, it } from "vitest";
import { nestSubject } from "./nest-app.ts";
import { storeParts } from "./stores.ts";

const concurrently = (title: string, body: () => Promise<void>): void => it.concurrent(title, body, 120_000);
const full = process.env["ICHIDO_FULL"] === "1";
const usual = { express: "memory", fastify: "sqlite" } as const;
const chosen = process.env["ICHIDO_PLATFORM"];

for (const platform of ["express", "fastify"] as const) {
  if (chosen !== undefined && chosen !== platform) continue;
  for (const [store, { openStore, transactions }] of Object.entries(storeParts(platform))) {
    if (!full && store !== usual[platform]) continue;
    adapterSuite(
      { describe, it: Object.assign(concurrently, { skip: it.skip }) },
      {
        name: `nest on ${platform} on ${store}`,
        openStore,
        ...(transactions && { transactions }),
        ...nestSubject(platform),
      },
    );
  }
}
