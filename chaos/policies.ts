/** What is asked for, and by which promise it takes effect once. */
export const policies = ["transaction", "commit", "reference", "hold", "verify"] as const;

/**
 * `transaction`, `commit`: a row in the store's own database, in transaction mode and by `ctx.transaction`. `reference`:
 * a charge at a bank that honours references. `hold`, `verify`: a charge at a bank that does not; a person or a question
 * decides what is in doubt.
 */
export type Policy = (typeof policies)[number];

/** Where the effect of an operation is found. */
export const isRow = (policy: Policy): boolean => policy === "transaction" || policy === "commit";

export const operationOf = (policy: Policy): string => `chaos.${policy}`;

/** The body of a request. `amount` is the number of the operation: ledgers name it by that. */
export interface Order {
  readonly intent: string;
  readonly amount: number;
  /** How long the handler works before the effect, beside it and after it. */
  readonly beforeMs: number;
  readonly insideMs: number;
  readonly afterMs: number;
  /** How long the answer is besides. */
  readonly paddingBytes: number;
}

export const intentOf = (amount: number): string => `op-${amount}`;

/** The body of a final answer. */
export interface Receipt {
  readonly intent: string;
  readonly caller: string;
  /** Names the effect: its row or its charge. */
  readonly effect: string;
  /** Unique to whoever made the answer: one that is made anew is not the same. */
  readonly made: string;
  readonly padding?: string;
}
