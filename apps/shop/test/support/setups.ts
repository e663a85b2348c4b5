/** The ways to run a shop that its contract names: where the business data is, and where the keys are. */
import { afterAll } from "vitest";
import {
  freshDatabase,
  mariadbUrl,
  postgresUrl,
  redisUrl,
  type FreshDatabase,
} from "../../../../test/support/services.ts";
import { newFolder, type Settings } from "./program.ts";

export const setups = ["SQLite", "PostgreSQL", "MariaDB", "PostgreSQL with keys in Redis"] as const;
export type Setup = (typeof setups)[number];

const databases: FreshDatabase[] = [];
afterAll(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

async function fresh(serverUrl: Promise<string>): Promise<string> {
  const database = await freshDatabase(await serverUrl);
  databases.push(database);
  return database.url;
}

/** A database of its own, which every shop with these settings shares. Keys in Redis are filed under its name. */
export async function settingsOf(setup: Setup): Promise<Settings> {
  const SHOP_DATA = newFolder();
  switch (setup) {
    case "SQLite":
      return { SHOP_DATA };
    case "PostgreSQL":
      return { SHOP_DATA, DATABASE_URL: await fresh(postgresUrl()) };
    case "MariaDB":
      return { SHOP_DATA, DATABASE_URL: await fresh(mariadbUrl()) };
    case "PostgreSQL with keys in Redis":
      return { SHOP_DATA, DATABASE_URL: await fresh(postgresUrl()), KEY_STORE_URL: await redisUrl() };
  }
}
