/** Users: a document with a version. A deleted user's row stays, so that its versions, and so its tags, never come back. */
import { createOnce, updateVersioned } from "ichido/guards";
import { select, type Sql } from "../database/database.ts";

export interface UserName {
  readonly tenant: string;
  readonly userId: string;
}

export type UserDocument = Readonly<Record<string, unknown>> & { readonly name: string };

export interface User {
  readonly userId: string;
  readonly document: UserDocument;
  readonly version: number;
}

export const userTable = `CREATE TABLE IF NOT EXISTS users (
  tenant {id} NOT NULL, user_id {id} NOT NULL, document {text} NOT NULL,
  deleted {integer} NOT NULL CHECK (deleted IN (0, 1)), version {integer} NOT NULL, PRIMARY KEY (tenant, user_id)
){table}`;

interface Row {
  readonly document: string;
  readonly deleted: number;
  readonly version: number;
}

export async function findUser(on: Sql, name: UserName): Promise<User | undefined> {
  const row = await rowOf(on, name);
  if (row === undefined || row.deleted === 1) return undefined;
  return { userId: name.userId, document: JSON.parse(row.document) as UserDocument, version: row.version };
}

/** Writes over what was seen, or over nothing where nothing was; undefined: somebody else was faster. */
export async function writeUser(
  on: Sql,
  name: UserName,
  seen: User | undefined,
  document: UserDocument | "delete",
): Promise<User | undefined> {
  const { tenant, userId } = name;
  const key = { tenant, user_id: userId };
  const set =
    document === "delete" ? { document: "{}", deleted: 1 } : { document: JSON.stringify(document), deleted: 0 };
  let version = seen?.version;
  if (version === undefined) {
    const created = await createOnce(on, { table: "users", key, content: set, other: { version: 1 } });
    if (created.outcome === "created") return { userId, document: document as UserDocument, version: 1 };
    const row = await rowOf(on, name);
    if (row === undefined || row.deleted === 0) return undefined;
    version = row.version;
  }
  const updated = await updateVersioned(on, { table: "users", key, version, set });
  return updated.outcome === "applied"
    ? { userId, document: document as UserDocument, version: updated.version }
    : undefined;
}

/** JSON merge patch (RFC 7396): `null` removes, objects merge, everything else replaces. */
export function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged = new Map(
    typeof target === "object" && target !== null && !Array.isArray(target) ? Object.entries(target) : [],
  );
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

async function rowOf(on: Sql, { tenant, userId }: UserName): Promise<Row | undefined> {
  const rows = await select<Row>(
    on,
  )`SELECT document, deleted, version FROM users WHERE tenant = ${tenant} AND user_id = ${userId}`;
  return rows[0];
}
