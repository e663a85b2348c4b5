import { afterAll } from "vitest";
import { postgresUrl, startPgbouncer } from "../support/services.ts";
import { describeStores, makePipelinePool, makePostgresJs } from "./postgres-subjects.ts";

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
  { name: "postgres through PgBouncer, pg pool with pipeline, grouped", make: makePipelinePool, through, histories: 2 },
  {
    name: "postgres through PgBouncer, postgres.js, one by one",
    make: makePostgresJs,
    options: { group: false },
    through,
    histories: 2,
  },
]);
