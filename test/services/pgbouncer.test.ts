import { Client } from "pg";
import { expect, test } from "vitest";
import { describeWith, freshDatabase, startPgbouncer } from "../support/services.ts";

describeWith(["postgres", "pgbouncer"], "a private PgBouncer", (url) => {
  test("pools by transaction: two clients share one server connection, one after the other", async () => {
    await using database = await freshDatabase(url);
    const pooler = await startPgbouncer(database.url, { poolMode: "transaction", poolSize: 1 });
    const clients = [new Client({ connectionString: pooler.url }), new Client({ connectionString: pooler.url })];
    const seen: unknown[] = [];
    for (const client of clients) await client.connect();
    for (const client of clients) {
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid, current_database() AS name");
      seen.push(rows[0]);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[0]).toMatchObject({ name: database.name });
    for (const client of clients) await client.end();
    await pooler.stop();
  });
});
