/** A server of the harness in a process of its own: `server.child.ts <framework> <files> <engine options>`. */
import { flushCompileCache } from "node:module";
import { openSqliteStore } from "ichido/sqlite";
import type { ProcessOptions } from "ichido/testing";
import { filedEffects } from "../../packages/ichido/src/testing/adapter-suite/effects.ts";
import { faultsFromEnv } from "../../packages/ichido/src/testing/faults.ts";
import { transactionalEffects, type SqliteFiles } from "./stores.ts";
import { subjectOf, type FrameworkName } from "./subjects.ts";

const [name = "", files = "{}", engine = "{}"] = process.argv.slice(2);
const { database, effects, arrivals } = JSON.parse(files) as SqliteFiles;
const { start } = await subjectOf(name as FrameworkName);

const faults = faultsFromEnv();
const app = await start({
  store: await openSqliteStore(database),
  engine: { ...(JSON.parse(engine) as Omit<ProcessOptions, "faults">), ...(faults === undefined ? {} : { faults }) },
  effects: filedEffects(effects),
  arrivals: filedEffects(arrivals),
  transactional: transactionalEffects(database),
});
// Most of these processes are killed, and would leave nothing in the cache.
flushCompileCache();
console.log(`listening on ${app.port}`);
