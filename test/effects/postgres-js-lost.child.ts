/** A transaction on postgres.js whose connection is lost in one of several ways, in a process that must outlive it. */
import { drizzleTransactions, postgresTransactions } from "ichido/transactions";
import type { TransactionHandle, TransactionRunner } from "ichido/transactions";
import postgres from "postgres";
import type { TransactionSql } from "postgres";

const [, , library, way = "", url = ""] = process.argv;
// One connection: whoever asks next gets what has come in the place of the lost one.
const sql = postgres(url, { max: 1, onnotice: () => undefined });
const other = postgres(url, { max: 1, onnotice: () => undefined });
const runner: TransactionRunner<unknown> = library === "postgres" ? postgresTransactions(sql) : await onDrizzle();

/** Loaded only where it is tried: that takes longer than all the rest. */
async function onDrizzle(): Promise<TransactionRunner<unknown>> {
  const { sql: drizzleSql } = await import("drizzle-orm");
  const { drizzle } = await import("drizzle-orm/postgres-js");
  return drizzleTransactions(drizzle(sql), drizzleSql, "postgres");
}

const add = (handle: TransactionHandle, name: string): Promise<unknown> =>
  handle.execute("INSERT INTO effects (name) VALUES ($1)", [`${library} ${way} ${name}`]);
const own = "select pg_terminate_backend(pg_backend_pid())";

/** Ended by the server while nothing was said, and noticed here. */
async function silence(handle: TransactionHandle): Promise<void> {
  const { rows } = await handle.execute("select pg_backend_pid() as pid", []);
  const pid = Number(rows[0]?.["pid"]);
  await other`select pg_terminate_backend(${pid})`;
  while ((await other`select from pg_stat_activity where pid = ${pid}`).length > 0);
  // Served by the connection that has come in place of the lost one, once the driver has noticed.
  await sql`select 1`.catch(() => undefined);
  await sql`select 1`.catch(() => undefined);
}

const ways: Readonly<Record<string, (tx: unknown, handle: TransactionHandle) => Promise<unknown>>> = {
  "in a statement": (_tx, handle) => handle.execute(own, []),
  "in a statement, caught": (_tx, handle) => handle.execute(own, []).catch(() => undefined),
  "in silence, then returned": (_tx, handle) => silence(handle),
  "in silence, then thrown": async (_tx, handle) => {
    await silence(handle);
    throw new Error("boom");
  },
  "in silence, then another statement": async (_tx, handle) => {
    await silence(handle);
    await add(handle, "late");
  },
  "in silence, then a statement of its own": async (tx, handle) => {
    await silence(handle);
    const name = `${library} ${way} late`;
    await (tx as TransactionSql)`INSERT INTO effects (name) VALUES (${name})`;
  },
  "in silence, then one of its own by unsafe": async (tx, handle) => {
    await silence(handle);
    await (tx as TransactionSql).unsafe("INSERT INTO effects (name) VALUES ($1)", [`${library} ${way} late`]);
  },
  "in a savepoint": (tx) => (tx as TransactionSql).savepoint((inner) => inner.unsafe(own)),
};

const ended = Promise.withResolvers<void>();
const lost = runner.run(async (tx, handle) => {
  await add(handle, "first");
  await ways[way]?.(tx, handle).finally(ended.resolve);
});
await lost.then(
  () => console.log("kept"),
  () => console.log("rejected"),
);
await ended.promise;
// The driver's first statement after it may meet the old connection's last words.
for (let left = 20; left > 0; left -= 1) {
  const served = await runner.run((_tx, handle) => add(handle, "next")).catch((error: unknown) => error);
  if (!(served instanceof Error)) break;
}
console.log("served");
await sql.end({ timeout: 1 });
await other.end({ timeout: 1 });
