/** Warns of settings that a pooler in transaction mode breaks in silence, where it sees a pooler. */
import { warnUser } from "../../core/contract/runtime.ts";
import type { Connection } from "./connection.ts";
import type { ResolvedOptions } from "./options.ts";

export const consequences = {
  listen: {
    what: "listen: true hears no notification through a pooler in transaction mode, so duplicates wait for the next poll",
    remedy: "give listen: { connect } a direct connection",
  },
  prepare: {
    what: "prepare: true fails on sessions that a pooler in transaction mode exchanges (PgBouncer before 1.21)",
    remedy: 'leave it at "auto"',
  },
} as const;

type Settings = Pick<ResolvedOptions, "listen" | "prepare">;

export function wrongBehindPooler(options: Settings): readonly (keyof typeof consequences)[] {
  return (["listen", "prepare"] as const).filter((name) => options[name] === true);
}

/** Looks, once, where one of the settings is on. */
export function createPoolerCheck(connection: Connection, options: Settings): (timeoutMs: number) => Promise<void> {
  const wrong = wrongBehindPooler(options);
  let looked = wrong.length === 0;
  return async (timeoutMs) => {
    if (looked) return;
    const isPooled = await connection.isPooled?.(timeoutMs);
    looked = true;
    if (isPooled !== true) return;
    for (const name of wrong) {
      const { what, remedy } = consequences[name];
      warnUser(`postgresStore: a pooler stands before the server. ${what}; ${remedy}`, "ICHIDO_POSTGRES_POOLER");
    }
  };
}
