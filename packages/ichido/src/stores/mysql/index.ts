export { mysqlStore } from "./store.ts";
export type { MysqlStore, MysqlStoreOptions } from "./store.ts";
export type { PlannedMigration } from "./migrate.ts";
export type {
  MysqlCallbackClient,
  MysqlClient,
  MysqlConnection,
  MysqlPool,
  MysqlPoolConnection,
  MysqlQuery,
} from "./client.ts";
