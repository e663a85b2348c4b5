import { Client } from "pg";
import { expect, test } from "vitest";
import { describeWith, freshDatabase, startPgbouncer } from "./services.ts";

describeWith(["postgres", "pgbouncer"], "services", (url) => {
  test("a fresh database answers through PgBouncer in transaction mode", async () => {
    await using database = await freshDatabase(url);
    const pooler = await startPgbouncer(database.url, { poolMode: "transaction", poolSize: 2 });
    const client = new Client({ connectionString: pooler.url });
    await client.connect();
    const { rows } = await client.query("SELECT current_database() AS name");
    expect(rows[0].name).toBe(database.name);
    await client.end();
    await pooler.stop();
  });
});
