/** What became of events that were given up: a person looks, then sends them again or lets them go. */
import { IchidoError } from "../core/contract/errors.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { deadLetterOf, type OutboxDeadLetter, type Statements } from "./database.ts";
import { numberOf, optionalBytes, textOf } from "../sql/columns.ts";
import { checkDecision, checkLetters, lettersDefault, type Decision } from "../sql/decision.ts";

export interface OutboxDecision extends Decision {
  readonly seq: number;
}

export interface OutboxAuditEntry {
  readonly seq: number;
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface OutboxDeadLetters {
  /** Oldest first; `cursor` is the last page's. */
  list(query?: {
    readonly topic?: string;
    readonly limit?: number;
    readonly cursor?: number;
  }): Promise<{ readonly letters: readonly OutboxDeadLetter[]; readonly cursor: number | undefined }>;
  get(seq: number): Promise<OutboxDeadLetter | undefined>;
  /** Sends it again with the same id, before everything that waited behind it. `absent`: decided before. */
  replay(decision: OutboxDecision): Promise<"ok" | "absent">;
  /** Lets it go; its key moves on. */
  discard(decision: OutboxDecision): Promise<"ok" | "absent">;
  /** By the number of a letter, or by the id of an event. */
  audit(letter: number | { readonly id: string }): Promise<readonly OutboxAuditEntry[]>;
}

const textMax = 200;
const triesMax = 4;
const auditMax = 1_000;

export function createDeadLetters(
  transactions: TransactionRunner<unknown>,
  run: Statements,
  wake: () => void,
): OutboxDeadLetters {
  const inside = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    transactions.run((_tx, handle) => fn(handle));

  function decideOnce(action: "replay" | "discard", { seq, actor, reason }: OutboxDecision): Promise<"ok" | "absent"> {
    return inside(async (handle) => {
      const { rows } = await run(handle, "deadFind", { seq });
      const [row] = rows;
      if (row === undefined) return "absent" as const;
      if (action === "replay") await run(handle, "revive", { seq });
      // Two people at once: the second one finds the row gone, and its copy of the event is undone with the transaction.
      if ((await run(handle, "removeDead", { seq })).affected === 0) throw new Decided();
      const keyHash = optionalBytes(row, "key_hash");
      if (keyHash !== undefined) await run(handle, "unpark", { key_hash: keyHash, seq });
      await run(handle, "addAudit", { seq, id: textOf(row, "id"), actor, action, reason });
      return "ok" as const;
    });
  }

  async function decide(action: "replay" | "discard", decision: OutboxDecision): Promise<"ok" | "absent"> {
    const { seq } = decision;
    if (!Number.isSafeInteger(seq)) throw new IchidoError("option-invalid", `seq: expected a whole number, got ${seq}`);
    checkDecision(decision, textMax);
    for (let tries = 1; ; tries += 1) {
      try {
        const done = await decideOnce(action, decision);
        if (done === "ok") wake();
        return done;
      } catch (error) {
        if (error instanceof Decided) return "absent";
        if ((await inside((handle) => run(handle, "deadFind", { seq }))).rows.length === 0) return "absent";
        // The letter is there, so nothing was decided: of people at once the server may undo one (a deadlock on MySQL).
        if (tries === triesMax) throw error;
      }
    }
  }

  return {
    async list({ topic, limit = lettersDefault, cursor = 0 } = {}) {
      checkLetters(limit);
      const values = { after: cursor, topic: topic ?? "", any_topic: topic === undefined ? 1 : 0, limit };
      const { rows } = await inside((handle) => run(handle, "deadList", values));
      const letters = rows.map(deadLetterOf);
      return { letters, cursor: letters.length < limit ? undefined : letters.at(-1)?.seq };
    },
    async get(seq) {
      const { rows } = await inside((handle) => run(handle, "deadFind", { seq }));
      return rows[0] === undefined ? undefined : deadLetterOf(rows[0]);
    },
    replay: (decision) => decide("replay", decision),
    discard: (decision) => decide("discard", decision),
    async audit(letter) {
      const { rows } = await inside((handle) =>
        typeof letter === "number"
          ? run(handle, "audit", { seq: letter })
          : run(handle, "auditOfEvent", { id: letter.id, limit: auditMax }),
      );
      return rows.map((row) => ({
        seq: numberOf(row, "seq"),
        id: textOf(row, "id"),
        actor: textOf(row, "actor"),
        action: textOf(row, "action"),
        reason: textOf(row, "reason"),
        atMs: numberOf(row, "at_ms"),
      }));
    },
  };
}

class Decided extends Error {}
