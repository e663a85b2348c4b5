/**
 * The connection that postgres.js keeps beside its pool, for LISTEN: one `sql` with one connection, made with the
 * pool's options, opened again by the driver when it was lost, and ended by `sql.end()`. The driver keeps it in
 * `sql.listen.sql` and has no other way to make one. A connection of `sql.reserve()` would be no substitute: after it
 * was lost, its handle writes into the work of other callers on the next connection.
 */
import type { PostgresJsSql } from "./client.ts";

export interface OwnSql extends PostgresJsSql {
  end(options: { readonly timeout: number }): Promise<unknown>;
}

interface Listen {
  (channel: undefined): Promise<unknown>;
  sql?: unknown;
  /** By name, what the program listens to. */
  channels?: object;
}

function listenOf(sql: PostgresJsSql): Listen | undefined {
  return "listen" in sql && typeof sql.listen === "function" ? (sql.listen as Listen) : undefined;
}

function isSql(value: unknown): value is OwnSql {
  return typeof value === "function" && "unsafe" in value && "end" in value;
}

export function openOwnSql(sql: PostgresJsSql): OwnSql {
  const listen = listenOf(sql);
  // Without a channel it fails after it has made that `sql`, and before anything is sent.
  if (listen !== undefined && listen.sql === undefined) void listen(undefined).catch(() => undefined);
  if (!isSql(listen?.sql)) throw new Error("this driver does not tell how to make another connection");
  return listen.sql;
}

/** Unless the program listens on it: then only the program may end it. */
export async function endOwnSql(sql: PostgresJsSql, own: OwnSql): Promise<void> {
  const listen = listenOf(sql);
  if (listen === undefined || listen.sql !== own || Object.keys(listen.channels ?? {}).length > 0) return;
  // A listener that comes from now on gets a new one.
  delete listen.sql;
  await own.end({ timeout: 0 });
}
