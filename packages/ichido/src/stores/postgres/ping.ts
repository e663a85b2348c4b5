/** Whether this server can keep keys: tables, rights, settings. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Row } from "./connection.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Run } from "./run.ts";
import { knownMigrations } from "./statements.ts";

export async function ping(run: Run, checkPooler: () => Promise<void>): Promise<void> {
  const [[version, standby, readOnly, commit, forbidden] = []] = await run("ping", "always", []);
  if (flagOf(standby) || flagOf(readOnly)) throw refusal();
  const newest = Math.max(...knownMigrations.map((step) => step.version));
  if (version === null || numberOf(version) < newest) {
    throw new IchidoError(
      "schema-missing",
      `the tables are at migration ${String(version)}, this version needs ${newest}; call \`await store.migrate()\` (npx ichido migrate) once at deploy`,
    );
  }
  if (typeof forbidden === "string") {
    throw new IchidoError(
      "access-denied",
      `this role may not write ${forbidden}; grant it select, insert, update and delete on them`,
    );
  }
  await checkPooler();
  if (commit === "off") {
    throw new IchidoError(
      "store-unavailable",
      "synchronous_commit is off: a crash of the server would forget keys that were already granted; turn it on for " +
        "this role or database",
    );
  }
}

/** A standby lags: what it does not show may exist. Statements that write are refused by the server itself. */
export function refuseStandby(rows: readonly Row[]): void {
  if (flagOf(rows[0]?.[0])) throw refusal();
}

function refusal(): IchidoError {
  return new IchidoError(
    "store-unavailable",
    "this PostgreSQL server is a hot standby or the session is read-only; connect to the primary",
  );
}
