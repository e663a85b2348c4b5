/** Starts servers and a database, says what it has, and waits to be killed. */
import { Client } from "pg";
import { startPostgres } from "../../../scripts/services/postgres.ts";
import { startRedis } from "../../../scripts/services/redis.ts";
import { freshDatabase } from "../../support/databases.ts";

const [, , serverUrl = ""] = process.argv;
const [postgres, redis] = [await startPostgres(), await startRedis()];
const database = await freshDatabase(serverUrl);
const client = new Client({ connectionString: database.url });
await client.connect();
const servers = [postgres, redis].map(({ pid, folder }) => ({ pid, folder }));
console.log(`ready ${JSON.stringify({ servers, database: database.name })}`);
setInterval(() => {}, 1_000);
