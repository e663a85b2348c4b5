/** What a library calls the database that it speaks to, as a dialect. */
import { optionInvalid } from "../core/contract/option-checks.ts";
import type { TransactionHandle } from "./handle.ts";

type Dialect = TransactionHandle["dialect"];

const dialects: Readonly<Record<string, Dialect>> = {
  postgres: "postgres",
  postgresql: "postgres",
  mysql: "mysql",
  mysql2: "mysql",
  mariadb: "mysql",
  sqlite: "sqlite",
  sqlite3: "sqlite",
  "better-sqlite3": "sqlite",
};

export function libraryDialect(library: string, name: unknown, supported: readonly Dialect[]): Dialect {
  const dialect = typeof name === "string" ? dialects[name] : undefined;
  if (dialect !== undefined && supported.includes(dialect)) return dialect;
  const titles = { postgres: "PostgreSQL", mysql: "MySQL or MariaDB", sqlite: "SQLite" };
  throw optionInvalid(library, `a client of ${supported.map((each) => titles[each]).join(", ")}`, name);
}
