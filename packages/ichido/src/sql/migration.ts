/**
 * The migration ledger, free of any dialect: which steps are still to run, and whether those that ran are the ones this
 * version knows. A ledger row is `(part, version, name, checksum, applied)`; `part` lets records, outbox and inbox
 * number their steps apart in one table.
 */
import { createHash } from "node:crypto";
import { IchidoError } from "../core/contract/errors.ts";
import type { Dialect } from "./dialect.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export interface SchemaPart {
  /** Numbers its steps apart from the others in one ledger. */
  readonly part: "records" | "outbox" | "inbox";
  readonly dialect: Dialect;
  readonly migrations: readonly Migration[];
  /** As `checkPrefix` gives it. */
  readonly prefix: string;
  /**
   * On PostgreSQL: the tables of the first step, the chief one first. Where a tool dropped them or emptied them together
   * with the ledger, as tests like to do, the steps run anew.
   */
  readonly tables?: readonly string[];
}

export interface LedgerRow {
  readonly version: number;
  readonly checksum: string;
}

/** SHA-256 of the text as it would be on a system with bare line feeds. */
export function checksumOf(migration: Migration): string {
  return createHash("sha256").update(migration.sql.replaceAll("\r\n", "\n")).digest("hex");
}

/**
 * Rows of a version this code does not know are left alone: an older process may serve beside a newer one while a
 * deploy rolls, and migrations only ever add.
 */
export function pendingMigrations<Step extends Migration>(
  part: string,
  known: readonly Step[],
  applied: readonly LedgerRow[],
): readonly Step[] {
  const checksums = new Map(applied.map((row) => [row.version, row.checksum]));
  return known
    .filter((step) => {
      const checksum = checksums.get(step.version);
      if (checksum === undefined || checksum === checksumOf(step)) return checksum === undefined;
      throw new IchidoError(
        "schema-missing",
        `migration ${step.version} (${step.name}) of ${part} was applied with other content: ledger ${checksum.slice(0, 12)}…, ` +
          `this version ${checksumOf(step).slice(0, 12)}…; restore the ledger row or migrate from the version that wrote it`,
      );
    })
    .toSorted((one, other) => one.version - other.version);
}
