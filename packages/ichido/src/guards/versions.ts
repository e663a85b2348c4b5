/** Optimistic versions: a write says which version it was made from, and changes nothing when there is a newer one. */
import { knownOptions } from "../core/contract/option-checks.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { locking, requireSome, statementOn, type Columns, type GuardExecutor } from "./statement.ts";

export type VersionedResult =
  | { readonly outcome: "applied"; readonly version: number }
  /** Another write came first: read again, decide again. */
  | { readonly outcome: "stale"; readonly version: number }
  | { readonly outcome: "absent" };

export interface VersionedUpdate {
  readonly table: string;
  readonly key: Columns;
  /** The version that the caller saw. */
  readonly version: number;
  readonly set: Columns;
  /** An integer column. Default `version`. */
  readonly column?: string;
}

export async function updateVersioned(on: GuardExecutor, request: VersionedUpdate): Promise<VersionedResult> {
  knownOptions("updateVersioned", request, { table: true, key: true, version: true, set: true, column: true });
  const { table, key, version, set, column = "version" } = request;
  requireSome(key, "key");
  if (!Number.isSafeInteger(version)) {
    throw new IchidoError("usage-invalid", `version: expected a whole number, got ${String(version)}`);
  }
  const next = version + 1;
  const update = statementOn(on);
  const assigned = update.assign({ ...set, [column]: next });
  const affected = await update.change(
    `UPDATE ${update.name(table)} SET ${assigned} WHERE ${update.allEqual({ ...key, [column]: version })}`,
  );
  if (affected > 0) return { outcome: "applied", version: next };
  const look = statementOn(on);
  const row = await look.look(
    `SELECT ${look.name(column)} AS found FROM ${look.name(table)} WHERE ${look.allEqual(key)}${locking(on)}`,
  );
  return row === undefined ? { outcome: "absent" } : { outcome: "stale", version: Number(row.found) };
}
