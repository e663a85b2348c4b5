/** Rows of PostgreSQL whose columns hold what their types allow and ichido never wrote. */
import pg from "pg";
import { postgresStore } from "../../packages/ichido/src/stores/postgres/index.ts";
import { freshDatabase } from "../support/databases.ts";
import { tryDamage, type Column, type Rows } from "./damaged-rows.ts";
import type { Target } from "./target.ts";

const place = "WHERE key = $1 AND scope_hash = $2";

async function openRows(serverUrl: string): Promise<Rows> {
  const database = await freshDatabase(serverUrl);
  const pool = new pg.Pool({ connectionString: database.url, max: 4, options: "-c synchronous_commit=off" });
  pool.on("error", () => undefined);
  const store = postgresStore(pool);
  await store.migrate();
  const { rows } = await pool.query<{ name: string; type: string }>(
    `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
     WHERE table_name = 'ichido_records' AND column_name NOT IN ('key', 'scope_hash') ORDER BY ordinal_position`,
  );
  const types = new Map(rows.map(({ name, type }) => [name, type]));
  // As text both ways: what the server takes for a value of the column's type is put there.
  const shown = rows.map(({ name, type }) => (type === "bytea" ? name : `${name}::text AS ${name}`)).join(", ");
  return {
    store,
    columns: [...types.keys()],
    async read({ identity }) {
      const found = await pool.query(`SELECT ${shown} FROM ichido_records ${place}`, [
        identity.key,
        identity.scopeHash,
      ]);
      return found.rows[0] as Record<string, Column>;
    },
    async write({ identity }, row) {
      const names = Object.keys(row).filter((name) => types.has(name));
      if (names.length === 0) return;
      const set = names.map((name, at) => `${name} = $${at + 3}::${types.get(name)}`).join(", ");
      const values = names.map((name) => {
        const value = row[name] ?? null;
        return types.get(name) === "bytea" && value !== null ? Buffer.from(value as string) : value;
      });
      await pool.query(`UPDATE ichido_records SET ${set} ${place}`, [identity.key, identity.scopeHash, ...values]);
    },
    isDecision: (column, value) =>
      (column === "state" && ["processing", "failed", "completed"].includes(String(value))) ||
      column === "lease_until" ||
      (column === "owner" && value !== null),
    kindOf: (row) => String(row["response_kind"]),
    async close() {
      await store.close();
      await pool.end();
      await database.drop();
    },
  };
}

export const damagedPostgres: Target = {
  name: "damaged-postgres",
  promise: "S7 a damaged row of PostgreSQL is an error or what it says, never a second run or somebody else's answer",
  inputs: 300,
  needs: "postgres",
  open: async (url) => tryDamage(await openRows(url)),
};
