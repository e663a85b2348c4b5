/** A server of the harness in a process of its own: `express-child.ts <framework> <files> <engine options>`. */
import { openSqliteStore } from "ichido/sqlite";
import { faultsFromEnv, filedEffects, type ProcessOptions } from "ichido/testing";
import { frameworks, startExpress } from "./express-app.ts";
import { transactionalEffects, type SqliteFiles } from "./stores.ts";

const [name = "", files = "{}", engine = "{}"] = process.argv.slice(2);
const { database, effects, arrivals } = JSON.parse(files) as SqliteFiles;
const framework = frameworks[name];
if (framework === undefined) throw new Error(`there is no framework ${name}`);

const faults = faultsFromEnv();
const app = await startExpress(framework, {
  store: await openSqliteStore(database),
  engine: { ...(JSON.parse(engine) as Omit<ProcessOptions, "faults">), ...(faults === undefined ? {} : { faults }) },
  effects: filedEffects(effects),
  arrivals: filedEffects(arrivals),
  transactional: transactionalEffects(database),
});
console.log(`listening on ${app.port}`);
