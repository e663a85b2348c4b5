/** `DATABASE_URL` to a database that answers, or one line that says why there is none. */
import { reasonOf, StartError } from "../errors.ts";
import type { Database } from "./database.ts";
import { openSqlite } from "./sqlite.ts";

/** By scheme. A driver is loaded only where it is used. */
const servers: Readonly<Record<string, (url: string) => Promise<Database>>> = {
  "postgres:": async (url) => (await import("./postgres.ts")).openPostgres(url),
  "postgresql:": async (url) => (await import("./postgres.ts")).openPostgres(url),
  "mysql:": async (url) => (await import("./mysql.ts")).openMysql(url),
  "mariadb:": async (url) => (await import("./mysql.ts")).openMysql(url),
};

export const databaseSchemes: readonly string[] = Object.keys(servers);

export async function openDatabase(url: string | undefined, file: string): Promise<Database> {
  if (url === undefined) return openSqlite(file);
  const { protocol, host, pathname } = new URL(url);
  const open = servers[protocol];
  if (open === undefined) throw new StartError(`DATABASE_URL: no database speaks ${protocol}`);
  try {
    return await open(url);
  } catch (error) {
    const place = `${protocol}//${host}${pathname}`;
    throw new StartError(`cannot use the database ${place} (DATABASE_URL): ${reasonOf(error)}`, { cause: error });
  }
}
