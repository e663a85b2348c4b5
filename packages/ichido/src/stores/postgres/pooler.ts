/** Warns of settings that a pooler in transaction mode breaks in silence, where it sees a pooler. */
import { warnUser } from "../../core/contract/runtime.ts";
import type { Connection } from "./connection.ts";
import type { ResolvedOptions } from "./options.ts";

const consequences = {
  listen:
    "listen: true hears no notification through a pooler in transaction mode, so duplicates wait for the next poll; " +
    "give listen: { connect } a direct connection",
  prepare:
    "prepare: true fails on sessions that a pooler in transaction mode exchanges (PgBouncer before 1.21); leave it at " +
    '"auto"',
} as const;

/** Looks, once, where one of the settings is on. */
export function createPoolerCheck(
  connection: Connection,
  options: Pick<ResolvedOptions, "listen" | "prepare">,
): (timeoutMs: number) => Promise<void> {
  const wrong = (["listen", "prepare"] as const).filter((name) => options[name] === true);
  let looked = wrong.length === 0;
  return async (timeoutMs) => {
    if (looked) return;
    const isPooled = await connection.isPooled?.(timeoutMs);
    looked = true;
    if (isPooled !== true) return;
    for (const name of wrong) {
      warnUser(`postgresStore: a pooler stands before the server. ${consequences[name]}`, "ICHIDO_POSTGRES_POOLER");
    }
  };
}
