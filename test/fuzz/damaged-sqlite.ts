/** Rows of SQLite whose table lost its types and checks, as a copy by another tool does. */
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/store.ts";
import { tryDamage, type Column, type Rows } from "./damaged-rows.ts";
import type { Target } from "./target.ts";

const decisions = ["processing", "completed", "failed"];

async function openRows(): Promise<Rows> {
  const database = new DatabaseSync(":memory:");
  await sqliteStore(database).migrate();
  const { sql } = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'ichido_records'").get() as {
    sql: string;
  };
  const columns = database.prepare("PRAGMA table_info(ichido_records)").all() as { name: string }[];
  const names = columns.map(({ name }) => name).filter((name) => name !== "key" && name !== "scope_hash");
  const loose = columns.map(({ name }) => (name === "key" || name === "scope_hash" ? `${name} NOT NULL` : name));
  database.exec(
    `DROP TABLE ichido_records; CREATE TABLE ichido_records (${loose.join(", ")}, PRIMARY KEY (key, scope_hash))`,
  );
  if (!sql.includes("STRICT")) throw new Error("the table was not as it is thought to be");
  const store = sqliteStore(database);
  return {
    store,
    columns: names,
    async read({ identity }) {
      const row = database
        .prepare("SELECT * FROM ichido_records WHERE key = ? AND scope_hash = ?")
        .get(identity.key, identity.scopeHash);
      return row as Record<string, Column>;
    },
    async write({ identity }, row) {
      for (const name of Object.keys(row)) {
        if (!names.includes(name)) continue;
        const set = database.prepare(`UPDATE ichido_records SET ${name} = ? WHERE key = ? AND scope_hash = ?`);
        set.run(row[name] ?? null, identity.key, identity.scopeHash);
      }
    },
    isDecision: (column, value) =>
      (column === "state" && decisions.includes(String(value))) || (column === "lease_us" && typeof value === "number"),
    kindOf: (row) => String(row["response_kind"]),
    async close() {
      await store.close();
      database.close();
    },
  };
}

export const damagedSqlite: Target = {
  name: "damaged-sqlite",
  promise:
    "S7 S8 S16 a damaged row of SQLite is an error or what it says, never a second run or somebody else's answer",
  inputs: 3_000,
  open: async () => tryDamage(await openRows()),
};
