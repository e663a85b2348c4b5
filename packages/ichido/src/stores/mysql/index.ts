export { mysqlStore } from "./store.ts";
export type { MysqlStore } from "./store.ts";
export type { MysqlStoreOptions } from "./options.ts";
export type { AppliedMigration, FullPlan, Migrator, PlannedMigration } from "../../sql/migrator.ts";
export type { MysqlCallbackClient, MysqlClient, MysqlConnection, MysqlPool, MysqlPoolConnection } from "./client.ts";
export type { MysqlQuery } from "../../drivers/mysql/query.ts";
