export { postgresStore } from "./store.ts";
export type { PostgresStore } from "./store.ts";
export type { PostgresStoreOptions } from "./options.ts";
export type { TableOptions } from "../../sql/table-prefix.ts";
export type { PgClient, PgPool, PostgresClient, PostgresJsSql } from "./client.ts";
export type { ListenConnection } from "./listen.ts";
export type { AppliedMigration, FullPlan, Migrator, PlannedMigration } from "../../sql/migrator.ts";
