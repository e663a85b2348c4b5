import { afterAll } from "vitest";
import { postgresUrl, startPgbouncer } from "../support/services.ts";
import { describeStores, makePipelinePool, makePool, makePostgresJs } from "./postgres-subjects.ts";

const serverUrl = await postgresUrl();
// Fewer server connections than clients: every transaction may meet another session.
const pooler = await startPgbouncer(serverUrl, { poolMode: "transaction", poolSize: 3 });
afterAll(() => pooler.stop());

function through(url: string): string {
  const pooled = new URL(pooler.url);
  pooled.pathname = new URL(url).pathname;
  return pooled.href;
}

await describeStores(serverUrl, [
  { name: "postgres through PgBouncer, pg pool, grouped", make: makePool, through },
  {
    name: "postgres through PgBouncer, pg pool with pipeline, one by one",
    make: makePipelinePool,
    options: { group: false },
    through,
  },
  { name: "postgres through PgBouncer, postgres.js, grouped", make: makePostgresJs, through },
]);
