/**
 * Markers in one small table of the business database, in any of three dialects. Every change is one statement that names
 * what it expects to find; nothing is locked between two of them.
 */
import { IchidoError } from "../../../core/errors.ts";
import type { TransactionHandle, TransactionResult } from "../../../core/transaction.ts";
import type { Fenced } from "../../../core/store.ts";
import { statementsFor } from "./dialect.ts";
import type { Dialect, StatementName } from "./dialect.ts";
import { judge, startGraceUs } from "./judge.ts";
import type { MarkerClaim, MarkerRow, MarkerState } from "./judge.ts";

/**
 * The business database, every statement committed by itself:
 *
 *     { dialect: "postgres",
 *       execute: async (sql, values) => {
 *         const { rows, rowCount } = await pool.query(sql, [...values]);
 *         return { rows, affected: rowCount ?? 0 };
 *       } }
 */
export interface MarkerDatabase {
  readonly dialect: Dialect;
  execute(sql: string, values: readonly unknown[]): Promise<TransactionResult>;
}

export interface MarkerProof {
  readonly id: string;
  readonly owner: string;
  readonly fence: number;
}

export interface MarkerAnswer {
  readonly head: string;
  readonly body: Uint8Array;
}

export type MarkerClaimed =
  | { readonly kind: "own" }
  | { readonly kind: "again" }
  | { readonly kind: "restore"; readonly row: MarkerRow };

/** What makes the Redis store exact: the truth about each key, where the business writes are. */
export interface Marker {
  readonly dialect: Dialect;
  claim(claim: MarkerClaim): Promise<MarkerClaimed>;
  step(proof: MarkerProof): Promise<Fenced>;
  hold(proof: MarkerProof, interim: MarkerAnswer | undefined, reason: string | undefined): Promise<Fenced>;
  /** `nextOwner`: whose it is from then on, where that is not the owner who proves it. */
  complete(proof: MarkerProof, answer: MarkerAnswer, on?: TransactionHandle, nextOwner?: string): Promise<Fenced>;
  remove(proof: MarkerProof): Promise<Fenced>;
  find(id: string): Promise<MarkerRow | undefined>;
  forget(id: string, life: number): Promise<void>;
  sweep(limit: number): Promise<number>;
  /** Creates the table; run it when you deploy. */
  migrate(): Promise<void>;
  /** What `migrate` runs, for people with a tool of their own. */
  readonly migration: readonly string[];
}

/** Each turn lost means that somebody else's went through. */
const turnsMax = 10;

export function sqlMarker(database: MarkerDatabase, options: { readonly tablePrefix?: string } = {}): Marker {
  const sql = statementsFor(database.dialect, options.tablePrefix ?? "ichido_");

  /** MySQL has its index in the table: it does not know `if not exists` for one. */
  const migration = database.dialect === "mysql" ? [sql.create] : [sql.create, sql.index];

  async function run(
    name: StatementName,
    values: readonly unknown[],
    on: Pick<MarkerDatabase, "execute"> = database,
  ): Promise<TransactionResult> {
    try {
      return await on.execute(sql[name], values);
    } catch (error) {
      // On the caller's transaction the failure is the caller's to see.
      if (on !== database) throw error;
      throw new IchidoError("store-unavailable", `the marker table could not be used (${name}); is it migrated?`, {
        cause: error,
      });
    }
  }

  async function affects(name: StatementName, values: readonly unknown[], on?: TransactionHandle): Promise<boolean> {
    return (await run(name, values, on)).affected > 0;
  }

  async function find(id: string, on?: TransactionHandle): Promise<MarkerRow | undefined> {
    const [row] = (await run("look", [id], on)).rows;
    return row === undefined ? undefined : rowOf(row);
  }

  async function changed(claim: MarkerClaim, row: MarkerRow, verdict: "take" | "replace"): Promise<boolean> {
    const seen = [claim.id, row.owner, row.fence, row.state];
    if (verdict === "take") return affects("take", [claim.owner, claim.fence, claim.attempts, ...seen]);
    const { life, owner, fence, attempts, fingerprint, sight, retentionMs } = claim;
    return affects("replace", [life, owner, fence, attempts, fingerprint, sight, retentionMs * 1_000, ...seen]);
  }

  return {
    dialect: database.dialect,
    async claim(claim) {
      const { id, life, owner, fence, attempts, fingerprint, sight, retentionMs } = claim;
      const first = [id, life, owner, fence, attempts, fingerprint, sight, retentionMs * 1_000];
      for (let turn = 0; turn < turnsMax; turn += 1) {
        if (claim.origin === "own" && (await affects("touch", [id, owner, fence]))) return { kind: "own" };
        if (await affects("insert", first)) return { kind: "own" };
        const row = await find(id);
        if (row === undefined) continue;
        const verdict = judge(row, claim);
        if (verdict === "own" || verdict === "again") return { kind: verdict };
        if (verdict === "restore") return { kind: "restore", row };
        if (await changed(claim, row, verdict)) return { kind: "own" };
      }
      throw new IchidoError(
        "store-unavailable",
        `the marker changed under ${turnsMax} attempts to write it; try again`,
      );
    },
    step: async ({ id, owner, fence }) => ((await affects("step", [id, owner, fence])) ? "ok" : "stale"),
    hold: async ({ id, owner, fence }, interim, reason) =>
      (await affects("hold", [
        interim?.head ?? null,
        interim?.body ?? null,
        reason === undefined ? null : JSON.stringify(reason),
        id,
        fence,
        owner,
      ]))
        ? "ok"
        : "stale",
    async complete({ id, owner, fence }, { head, body }, on, nextOwner = owner) {
      if (await affects("complete", [nextOwner, head, body, id, fence, owner], on)) return "ok";
      const row = await find(id, on);
      return row?.state === "completed" && row.owner === nextOwner && row.fence === fence ? "ok" : "stale";
    },
    remove: async ({ id, owner, fence }) => ((await affects("remove", [id, fence, owner])) ? "ok" : "stale"),
    find: (id) => find(id),
    async forget(id, life) {
      await run("forget", [id, life]);
    },
    sweep: async (limit) => (await run("sweep", [startGraceUs, limit])).affected,
    async migrate() {
      for (const text of migration) await database.execute(text, []);
    },
    migration,
  };
}

function rowOf(row: Readonly<Record<string, unknown>>): MarkerRow {
  const nowUs = integerOf(row["now_us"]);
  return {
    life: integerOf(row["life"]),
    owner: textOf(row["owner"]),
    fence: integerOf(row["fence"]),
    attempts: integerOf(row["attempts"]),
    state: textOf(row["state"]) as MarkerState,
    fingerprint: textOf(row["fingerprint"]),
    sight: textOf(row["sight"]),
    head: optional(row["head"]),
    body: row["body"] instanceof Uint8Array ? new Uint8Array(row["body"]) : undefined,
    hold: reasonOf(optional(row["hold"])),
    ageUs: nowUs - integerOf(row["created_us"]),
    leftUs: integerOf(row["expires_us"]) - nowUs,
  };
}

/** As JSON, because a text column of PostgreSQL does not take every text. */
function reasonOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : String(JSON.parse(text));
}

/** Integers arrive as number, bigint or text, by driver; all of ours are safe JavaScript numbers. */
function integerOf(value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new TypeError("expected an integer from the marker table");
  return number;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  throw new TypeError("expected text from the marker table");
}

function optional(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : textOf(value);
}
