/** The options of a reconciler, checked at construction. */
import { limits } from "../contract/defaults.ts";
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import { functionOption, knownOptions, optionInvalid } from "../contract/option-checks.ts";
import type { VerifyAnswer, VerifyRequest } from "../contract/options.ts";
import { environment, given, integer, positive, readOptions, type ReadBy } from "../contract/read-options.ts";
import type { Identity } from "../contract/record.ts";
import type { Step } from "../contract/store.ts";

export interface ReconcileRequest extends VerifyRequest {
  /** How long ago the operation was first asked for, by the store's clock. */
  readonly ageMs: number;
  /** The external calls that were started under the key, with what is known of them. */
  readonly steps: readonly Step[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface ReconciledOperation {
  /** Asks the provider by the references of the vanished attempt. Bounded by `verifyMs`; an error counts as not visible yet. */
  readonly verify: (request: ReconcileRequest) => VerifyAnswer | Promise<VerifyAnswer>;
  /** After `absent` the key was handed back: run the operation again here, or leave it to the caller's next retry. */
  readonly rerun?: (request: {
    readonly identity: Identity;
    readonly labels: Readonly<Record<string, string>>;
  }) => unknown;
}

export interface ReconcilerOptions {
  readonly operations: Readonly<Record<string, ReconciledOperation>>;
  /** How often it looks. Default 30 000. */
  readonly everyMs?: number;
  /**
   * Records are left to their callers for this long after their owner vanished or, where the owner itself ended its lease,
   * after this process first saw them. Default 60 000; 0 where `tick` is called by a process that does not stay.
   */
  readonly olderThanMs?: number;
  /**
   * Counted from first sight; then the record goes on hold for a person to settle. Default 43 200 000 (12 hours), and for a
   * record with a shorter retention at the latest after three quarters of that.
   */
  readonly giveUpAfterMs?: number;
  /** Default 10 000. */
  readonly verifyMs?: number;
  /** Records that one look takes at most. Default 50. */
  readonly batchMax?: number;
  readonly onEvent?: IchidoListener;
  readonly environment?: Environment;
}

export const reconcilerDefaults = {
  everyMs: 30_000,
  olderThanMs: 60_000,
  giveUpAfterMs: 43_200_000,
  verifyMs: 10_000,
  batchMax: 50,
} as const;

/** What the lease must cover besides `verify`: the store calls around it. */
export const leaseSpareMs = 10_000;

const { everyMs, olderThanMs, giveUpAfterMs, verifyMs, batchMax } = reconcilerDefaults;

const optionTable = {
  operations: operationsOf,
  everyMs: positive(everyMs),
  olderThanMs: integer(0, Number.MAX_SAFE_INTEGER, olderThanMs),
  giveUpAfterMs: positive(giveUpAfterMs),
  // A lease covers it.
  verifyMs: integer(1, limits.leaseMsMax - leaseSpareMs, verifyMs),
  batchMax: positive(batchMax),
  onEvent: given<IchidoListener | undefined>(),
  environment,
};

export type ReconcilerSettings = ReadBy<typeof optionTable>;

export function resolveReconciler(options: ReconcilerOptions): ReconcilerSettings {
  return readOptions("createReconciler", options, optionTable);
}

function operationsOf(option: string, value: unknown): ReconcilerOptions["operations"] {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    throw optionInvalid(option, "at least one operation with its verify", value);
  }
  const operations = value as ReconcilerOptions["operations"];
  for (const [name, operation] of Object.entries(operations)) {
    const place = `${option}[${JSON.stringify(name)}]`;
    knownOptions(place, operation, { verify: true, rerun: true });
    functionOption(`${place}.verify`, operation.verify);
  }
  return operations;
}
