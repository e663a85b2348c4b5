/** The faults that can be armed for a payment, and the charges that the bank's ledger must show afterwards. */
import type { FaultName, FaultView, KillPoint, LaneName } from "./contract.ts";

/** Where a fault is made: by the network, by the supervisor, at the bank, in the database, or by the buyer alone. */
export type Mechanism =
  /** `heldAt`: there the lane waits until the buyer has left, so that nobody is answered before. */
  | { readonly by: "buyer"; readonly heldAt?: KillPoint }
  | { readonly by: "proxy"; readonly cut: "before-arrival" | "after-answer" }
  | { readonly by: "supervisor"; readonly point: KillPoint }
  | { readonly by: "bank"; readonly mode: "timeout-but-charge"; readonly silentMs: number }
  | { readonly by: "database" };

interface Fault {
  readonly mechanism: Mechanism;
  readonly expected: Readonly<Record<LaneName, number>>;
}

const once = { unprotected: 1, protected: 1 } as const;
const twice = { unprotected: 2, protected: 1 } as const;

/** The bank hangs up after this time; what it charged stays charged. */
const SILENT_MS = 1_000;

export const deck: Readonly<Record<FaultName, Fault>> = {
  none: { mechanism: { by: "buyer" }, expected: once },
  "double-click": { mechanism: { by: "buyer" }, expected: twice },
  "cut-before-arrival": { mechanism: { by: "proxy", cut: "before-arrival" }, expected: once },
  "cut-after-answer": { mechanism: { by: "proxy", cut: "after-answer" }, expected: twice },
  "kill-before-claim": { mechanism: { by: "supervisor", point: "before-claim" }, expected: once },
  "kill-after-claim": { mechanism: { by: "supervisor", point: "after-claim" }, expected: once },
  "kill-after-charge": { mechanism: { by: "supervisor", point: "after-charge" }, expected: twice },
  "kill-after-commit": { mechanism: { by: "supervisor", point: "after-commit" }, expected: twice },
  "bank-charges-silently": {
    mechanism: { by: "bank", mode: "timeout-but-charge", silentMs: SILENT_MS },
    expected: twice,
  },
  reload: { mechanism: { by: "buyer", heldAt: "after-charge" }, expected: twice },
  "two-tabs": { mechanism: { by: "buyer" }, expected: twice },
  "kill-database-connection": { mechanism: { by: "database" }, expected: twice },
};

/** `why`: why there is no database server. */
export function needsServer(why: string): string {
  return `SQLite is a file: there is no connection to kill, and ${why}. Start the shop with PLAYGROUND_DATABASE_URL=postgres://…`;
}

/** `noServer`: why what is done to connections cannot be had. */
export function deckView(noServer: string | undefined): readonly FaultView[] {
  return (Object.entries(deck) as [FaultName, Fault][]).map(([fault, { mechanism, expected }]) => ({
    fault,
    expected,
    ...(mechanism.by === "database" && noServer !== undefined ? { unavailable: noServer } : {}),
  }));
}
