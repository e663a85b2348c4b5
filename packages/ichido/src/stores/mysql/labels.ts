/** The index of labels: which rows a record's labels have in it, and how they come and go. */
import { createHash } from "node:crypto";
import type { Identity } from "../../core/contract/record.ts";
import type { Dialect, Value } from "./dialect.ts";
import type { Run } from "./session.ts";
import { identityValues } from "./values.ts";

export type Labels = Readonly<Record<string, string>>;

/** The JSON text of the pair is unambiguous where names and values joined by a sign would not be. */
export function labelHash(name: string, value: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([name, value]))
    .digest();
}

type Position = Pick<Identity, "key" | "scopeHash">;

function rowsOf(identity: Position, labels: Labels): Value[][] {
  const { key, scopeHash } = identityValues(identity);
  return Object.entries(labels).map(([name, value]) => [labelHash(name, value), key, scopeHash]);
}

/** Harmless where they are there. */
export async function addLabels(
  run: Run,
  dialect: Dialect,
  records: readonly { readonly identity: Position; readonly labels?: Labels | undefined }[],
): Promise<void> {
  const rows = records.flatMap(({ identity, labels = {} }) => rowsOf(identity, labels));
  if (rows.length > 0) await run(dialect.addLabels(rows.length), rows.flat());
}

/** `trustedUs` as in `sweep.ts`. */
export async function sweepLabels(
  run: Run,
  dialect: Dialect,
  records: readonly { readonly identity: Position; readonly labels: Labels }[],
  trustedUs: number,
): Promise<void> {
  const rows = records.flatMap(({ identity, labels }) => rowsOf(identity, labels));
  if (rows.length > 0) await run(dialect.sweepLabels(rows.length), [...rows.flat(), trustedUs]);
}

/** Those of a life that had this fence, or an earlier one. */
export async function forgetLabels(
  run: Run,
  dialect: Dialect,
  { identity, labels, fence }: { readonly identity: Position; readonly labels: Labels; readonly fence: number },
): Promise<void> {
  const rows = rowsOf(identity, labels);
  const { key, scopeHash } = identityValues(identity);
  if (rows.length > 0) await run(dialect.forgetLabels(rows.length), [...rows.flat(), key, scopeHash, fence]);
}
