/** What CREATE TABLE says differently in each dialect, in braces in the shop's schema. */
import type { Sql } from "./database.ts";

const types: Readonly<Record<Sql["dialect"], Readonly<Record<string, string>>>> = {
  sqlite: { id: "TEXT", name: "TEXT", text: "TEXT", integer: "INTEGER", table: " STRICT" },
  postgres: { id: "TEXT", name: "TEXT", text: "TEXT", integer: "BIGINT", table: "" },
  mysql: {
    // Ids that clients choose are compared, and never read back. As bytes, because every collation that both MariaDB and
    // MySQL know takes "a" and "a " for one.
    id: "VARBINARY(256)",
    name: "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    text: "MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    integer: "BIGINT",
    table: " ENGINE = InnoDB",
  },
};

export function inDialect(dialect: Sql["dialect"], text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => types[dialect][name] ?? whole);
}
