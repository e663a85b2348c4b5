/** Creates and drops databases; also a command (`database.ts drop <server url> <name>`) for cleaning up after a death. */
import { fileURLToPath } from "node:url";

async function execute(
  serverUrl: string,
  postgresSql: readonly string[],
  mariadbSql: readonly string[],
): Promise<void> {
  if (/^postgres(ql)?:/.test(serverUrl)) {
    const { Client } = (await import("pg")).default;
    const client = new Client({ connectionString: serverUrl });
    client.on("error", () => {});
    await client.connect();
    try {
      for (const sql of postgresSql) await client.query(sql);
    } finally {
      await client.end();
    }
    return;
  }
  const { createConnection } = await import("mysql2/promise");
  const connection = await createConnection({ uri: serverUrl });
  try {
    for (const sql of mariadbSql) await connection.query(sql);
  } finally {
    await connection.end();
  }
}

export async function createDatabase(serverUrl: string, name: string): Promise<void> {
  await execute(serverUrl, [`CREATE DATABASE "${name}"`], [`CREATE DATABASE \`${name}\``]);
}

/**
 * A pool of `pg` has ended before its connections have: one that is cut off while it says goodbye has no listener any
 * more, and its error ends the process. So they get a moment to leave by themselves.
 */
const afterGoodbyes = (name: string): string => `DO $$ BEGIN
  FOR look IN 1..25 LOOP
    PERFORM pg_stat_clear_snapshot();
    EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '${name}');
    PERFORM pg_sleep(0.02);
  END LOOP;
END $$`;

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await execute(
    serverUrl,
    [afterGoodbyes(name), `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`],
    [`DROP DATABASE IF EXISTS \`${name}\``],
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , verb, serverUrl, name] = process.argv;
  if (verb !== "drop" || serverUrl === undefined || name === undefined)
    throw new Error("usage: database.ts drop <server url> <name>");
  await dropDatabase(serverUrl, name);
}
