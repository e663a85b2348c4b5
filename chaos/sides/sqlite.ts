import type { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/index.ts";
import { nodeSqliteTransactions } from "../../packages/ichido/src/transactions/sqlite.ts";
import { callTimeoutMs } from "../settings.ts";
import { sqlSide, type Side } from "./side.ts";

const pagesMax = 1_073_741_823;
/** SQLITE_FULL */
const full = 13;

/** Says so when it was refused for want of room: whoever filled the store counts that. */
function telling<Run extends (...args: never[]) => unknown>(run: Run): Run {
  return new Proxy(run, {
    apply(target, self, args) {
      try {
        return Reflect.apply(target, self, args) as unknown;
      } catch (error) {
        if ((error as { readonly errcode?: unknown }).errcode === full) console.log("saw no-room");
        throw error;
      }
    },
  });
}

function tellsOfNoRoom(database: DatabaseSync): void {
  const prepare = database.prepare.bind(database);
  database.exec = telling(database.exec.bind(database));
  database.prepare = (sql) => {
    const statement = prepare(sql);
    // eslint-disable-next-line typescript/unbound-method -- `telling` passes `this` on
    statement.run = telling(statement.run);
    // eslint-disable-next-line typescript/unbound-method -- `telling` passes `this` on
    statement.get = telling(statement.get);
    // eslint-disable-next-line typescript/unbound-method -- `telling` passes `this` on
    statement.all = telling(statement.all);
    return statement;
  };
}

export async function openSqlite(file: string): Promise<Side> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { timeout: 25 });
  database.exec("PRAGMA journal_mode = WAL");
  tellsOfNoRoom(database);
  let leapMs = 0;
  const store = sqliteStore(database, { lockTimeoutMs: callTimeoutMs, nowMs: () => Date.now() + leapMs });
  const pages = (): number => Number(Object.values(database.prepare("PRAGMA page_count").get() ?? {})[0]);
  const orders: Readonly<Record<string, (value: number) => void>> = {
    /** No page more than there are: SQLite says that the disk is full. */
    full: (on) => database.exec(`PRAGMA max_page_count = ${on === 1 ? pages() : pagesMax}`),
    readonly: (on) => database.exec(`PRAGMA query_only = ${on}`),
    leap: (ms) => (leapMs = ms),
  };
  return sqlSide(store, nodeSqliteTransactions(database), ([name = "", value]) => orders[name]?.(Number(value)));
}
