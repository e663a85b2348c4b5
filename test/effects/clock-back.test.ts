/** Inside a transaction the server's clock may step back: then a statement begins before its transaction did. */
import postgres from "postgres";
import { expect, test } from "vitest";
import { fromPostgres } from "ichido/transactions";
import { describeWith, freshDatabase, postgresUrl } from "../support/services.ts";

describeWith("postgres", "a clock that steps back within a transaction", () => {
  test("takes the handle for no other than it is: it stands inside of the transaction", async () => {
    const database = await freshDatabase(await postgresUrl());
    const sql = postgres(database.url, { max: 1 });
    try {
      await sql.unsafe(`create schema back;
        create function back.statement_timestamp() returns timestamptz language sql as
          $$ select pg_catalog.statement_timestamp() - interval '1 minute' $$;`);
      const { rows } = await sql.begin(async (tx) => {
        await tx.unsafe("set local search_path = back, pg_catalog");
        return fromPostgres(tx).execute("select 1 as one", []);
      });
      expect(rows).toEqual([{ one: 1 }]);
    } finally {
      await sql.end();
      await database.drop();
    }
  });
});
