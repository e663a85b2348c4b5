export { openSqliteStore, type OpenSqliteStoreOptions } from "./open.ts";
export { sqliteStore, type SqliteStore } from "./store.ts";
export type { SqliteStoreOptions } from "./options.ts";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.ts";
export type { AppliedMigration, FullPlan, Migrator, PlannedMigration } from "../../sql/migrator.ts";
