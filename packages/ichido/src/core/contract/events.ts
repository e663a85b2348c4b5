/**
 * What the engine reports to metrics, logs and tests. The key itself never appears; `keyHash` has eight hexadecimal
 * digits.
 */
/** The words of the metrics: how a request to a protected route was answered. */
export type RequestOutcome =
  | "executed"
  | "replayed"
  | "replayed_after_wait"
  | "in_progress"
  | "key_reused"
  | "key_missing"
  | "key_invalid"
  | "outcome_unknown"
  | "response_not_stored"
  | "store_error"
  | "refused"
  | "bypassed";

export type IchidoEvent =
  /** One per request that reached a protected route. `observed`: the outcome it would have had with enforcement on. */
  | {
      readonly type: "request";
      readonly operation: string;
      readonly outcome: RequestOutcome;
      readonly observed: boolean;
      readonly status: number | undefined;
      readonly durationMs: number;
      readonly keyHash?: string;
      readonly attempt?: number;
      /** The handler ran, and the outcome of the record stayed open: unknown, or not settled yet. */
      readonly leftOpen?: true;
      /** Where the outcome is open and `consoleUrl` is set: the record there. */
      readonly console?: string;
    }
  | { readonly type: "takeover"; readonly operation: string; readonly keyHash: string; readonly attempt: number }
  | {
      readonly type: "lease-lost";
      readonly operation: string;
      readonly keyHash: string;
      readonly reason: "stale" | "unreachable" | "execution-limit";
      readonly console?: string;
    }
  /** The fence stopped a late writer. */
  | { readonly type: "fence-rejected"; readonly operation: string; readonly keyHash: string; readonly verb: string }
  | { readonly type: "not-stored"; readonly operation: string; readonly keyHash: string; readonly error: unknown }
  | {
      readonly type: "store-call";
      readonly store: string;
      readonly verb: string;
      readonly durationMs: number;
      readonly error?: unknown;
    }
  /** A reconciler of this engine looked into a record in doubt. */
  | {
      readonly type: "reconciled";
      readonly operation: string;
      readonly keyHash: string;
      readonly outcome: "adopted" | "released" | "held" | "waiting" | "overtaken" | "failed";
      /** With `held`, `waiting` and `failed`: the outcome is open still. */
      readonly console?: string;
    }
  | { readonly type: "sweep"; readonly deleted: number; readonly guarded: boolean }
  /**
   * A batch of the attempt log was written, or given up: then `written` is 0. `dropped`: there was no room for them, or
   * for more keys with duplicates in one batch. `queued`: notes that wait.
   */
  | { readonly type: "attempts-logged"; readonly written: number; readonly dropped: number; readonly queued: number }
  /** Another key of the same caller ran the same content a little earlier. Nothing was stopped. */
  | {
      readonly type: "suspected-duplicate";
      readonly operation: string;
      readonly keyHash: string;
      readonly firstKeyHash: string;
      readonly apartMs: number;
      /** As many more in the same batch were counted, not noted. */
      readonly more?: number;
    }
  /** `ichido.drain` has ended; its report says more. */
  | {
      readonly type: "drained";
      readonly clean: boolean;
      readonly tookMs: number;
      readonly handlers: number;
      readonly transactions: number;
    }
  | { readonly type: "warning"; readonly code: string; readonly message: string; readonly error?: unknown };

export type IchidoListener = (event: IchidoEvent) => void;
