/**
 * Stops all relays of an outbox, of whatever process, until a person lets them go on. Events are added as ever and wait.
 * The audit is the switch itself: its last entry under number 0, which no event has. A relay looks when it renews its
 * session, gives its lanes back as they become empty, and takes none.
 */
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf, textOf } from "../sql/columns.ts";
import { checkDecision, type Decision } from "../sql/decision.ts";
import type { Statements } from "./database.ts";

export interface OutboxPause {
  readonly actor: string;
  readonly reason: string;
  /** By the database's clock. */
  readonly sinceMs: number;
}

export interface OutboxPauses {
  /**
   * Relays send nothing more once they noticed: within a third of their `leaseMs`. What is on its way arrives. `already`:
   * it is paused.
   */
  pause(decision: Decision): Promise<"ok" | "already">;
  resume(decision: Decision): Promise<"ok" | "already">;
  /** Undefined: relays may send. */
  paused(): Promise<OutboxPause | undefined>;
}

const wholeOutbox = 0;
const textMax = 200;

export async function pauseOf(run: Statements, handle: TransactionHandle): Promise<OutboxPause | undefined> {
  const [row] = (await run(handle, "paused")).rows;
  if (row === undefined || textOf(row, "action") !== "pause") return undefined;
  return { actor: textOf(row, "actor"), reason: textOf(row, "reason"), sinceMs: numberOf(row, "at_ms") };
}

export function createPauses(
  transactions: TransactionRunner<unknown>,
  run: Statements,
  wake: () => void,
): OutboxPauses {
  async function decide(action: "pause" | "resume", { actor, reason }: Decision): Promise<"ok" | "already"> {
    checkDecision({ actor, reason }, textMax);
    const done = await transactions.run(async (_tx, handle) => {
      const isPaused = (await pauseOf(run, handle)) !== undefined;
      if (isPaused === (action === "pause")) return "already" as const;
      // Two people at once write two entries that say the same.
      await run(handle, "addAudit", { seq: wholeOutbox, id: "", actor, action, reason });
      return "ok" as const;
    });
    if (done === "ok") wake();
    return done;
  }
  return {
    pause: (decision) => decide("pause", decision),
    resume: (decision) => decide("resume", decision),
    paused: () => transactions.run((_tx, handle) => pauseOf(run, handle)),
  };
}
