/**
 * Stops all consumers of an inbox, of whatever process, until a person lets them go on. What the broker has delivered is kept
 * in hand and handed back, as while the database is down: nothing runs, nothing is acknowledged, no attempt is used up. The
 * audit is the switch itself: its last entry without a handler, a name that no handler has.
 */
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf, textOf } from "../sql/columns.ts";
import { checkDecision, type Decision } from "../sql/decision.ts";
import type { Statements } from "./statement.ts";

export interface InboxPause {
  readonly actor: string;
  readonly reason: string;
  /** By the database's clock. */
  readonly sinceMs: number;
}

export interface InboxPauses {
  /** Consumers begin nothing more once they noticed: within their `replayMs`. What runs ends. `already`: it is paused. */
  pause(decision: Decision): Promise<"ok" | "already">;
  resume(decision: Decision): Promise<"ok" | "already">;
  /** Undefined: consumers may run. */
  paused(): Promise<InboxPause | undefined>;
}

const textMax = 1_000;

export function createPauses(transactions: TransactionRunner<unknown>, statements: Statements): InboxPauses {
  async function pauseOf(handle: TransactionHandle): Promise<InboxPause | undefined> {
    const [row] = (await statements(handle, "paused")).rows;
    if (row === undefined || textOf(row, "action") !== "pause") return undefined;
    return { actor: textOf(row, "actor"), reason: textOf(row, "reason"), sinceMs: numberOf(row, "at_ms") };
  }

  async function decide(action: "pause" | "resume", { actor, reason }: Decision): Promise<"ok" | "already"> {
    checkDecision({ actor, reason }, textMax);
    return transactions.run(async (_tx, handle) => {
      const isPaused = (await pauseOf(handle)) !== undefined;
      if (isPaused === (action === "pause")) return "already" as const;
      // Two people at once write two entries that say the same.
      await statements(handle, "addAudit", { action, handler: "", id: "", topic: "", actor, reason });
      return "ok" as const;
    });
  }

  return {
    pause: (decision) => decide("pause", decision),
    resume: (decision) => decide("resume", decision),
    paused: () => transactions.run((_tx, handle) => pauseOf(handle)),
  };
}
