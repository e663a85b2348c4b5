/** What a reconciler is told, checked at construction. */
import { limits } from "../contract/defaults.ts";
import { systemEnvironment, type Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import {
  functionOption,
  integerOption,
  knownOptions,
  optionInvalid,
  type OptionNames,
} from "../contract/option-checks.ts";
import type { VerifyAnswer, VerifyRequest } from "../contract/options.ts";
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

const optionNames: OptionNames<ReconcilerOptions> = {
  operations: true,
  everyMs: true,
  olderThanMs: true,
  giveUpAfterMs: true,
  verifyMs: true,
  batchMax: true,
  onEvent: true,
  environment: true,
};

export type ReconcilerSettings = ReconcilerOptions & Required<Omit<ReconcilerOptions, "onEvent">>;

export function resolveReconciler(options: ReconcilerOptions): ReconcilerSettings {
  knownOptions("createReconciler", options, optionNames);
  const settings = { ...reconcilerDefaults, environment: systemEnvironment, ...options };
  for (const name of Object.keys(reconcilerDefaults) as (keyof typeof reconcilerDefaults)[]) {
    integerOption(name, settings[name], name === "olderThanMs" ? 0 : 1, Number.MAX_SAFE_INTEGER);
  }
  const verifyMsMax = limits.leaseMsMax - leaseSpareMs;
  if (settings.verifyMs > verifyMsMax) {
    throw optionInvalid("verifyMs", `at most ${verifyMsMax}, so that a lease covers it`, settings.verifyMs);
  }
  if (typeof settings.operations !== "object" || Object.keys(settings.operations).length === 0) {
    throw optionInvalid("operations", "at least one operation with its verify", settings.operations);
  }
  for (const [name, operation] of Object.entries(settings.operations)) {
    knownOptions(`operations[${JSON.stringify(name)}]`, operation, { verify: true, rerun: true });
    functionOption(`operations[${JSON.stringify(name)}].verify`, operation.verify);
  }
  return settings;
}
