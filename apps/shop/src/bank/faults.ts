/** How the bank misbehaves on demand. The setting lives in the process: a restarted bank does as its environment says. */

export const faultModes = [
  "normal",
  /** Treats every order as new, whatever its reference. */
  "ignore-references",
  "decline",
  /** Carries the order out and never answers. */
  "timeout-but-charge",
  /** Does not carry the order out and never answers. */
  "timeout-before-charge",
  /** Waits, then behaves. */
  "slow",
  /** Carries the order out and cuts the connection instead of answering. */
  "drop-connection",
] as const;

export type FaultMode = (typeof faultModes)[number];

export interface FaultSetting {
  readonly mode: FaultMode;
  /** Absent: until changed. */
  readonly calls?: number;
  /** `slow`: how long it waits. `timeout-…`: how long the connection is held open. */
  readonly delayMs?: number;
}

export interface Fault {
  readonly mode: FaultMode;
  readonly delayMs: number;
}

export const DELAY_MS_MAX = 600_000;
const SLOW_MS = 1_000;
const HOLD_MS = 60_000;

const behaves: FaultSetting = { mode: "normal" };

export class Faults {
  #setting: FaultSetting = behaves;
  #callsLeft = Number.POSITIVE_INFINITY;

  constructor(first: FaultSetting = behaves) {
    this.set(first);
  }

  set(setting: FaultSetting): void {
    this.#setting = setting;
    this.#callsLeft = setting.calls ?? Number.POSITIVE_INFINITY;
  }

  /** What the next order meets; counts it. */
  take(): Fault {
    if (this.#callsLeft <= 0) this.set(behaves);
    this.#callsLeft -= 1;
    const { mode, delayMs } = this.#setting;
    return { mode, delayMs: delayMs ?? (mode === "slow" ? SLOW_MS : HOLD_MS) };
  }
}

/** The setting, or what was expected. */
export function checkFaultSetting(body: unknown): FaultSetting | string {
  const { mode, calls, delayMs } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const known = faultModes.find((each) => each === mode);
  if (known === undefined) return `mode must be one of ${faultModes.join(", ")}`;
  if (calls !== undefined && !isCount(calls, Number.MAX_SAFE_INTEGER))
    return "calls must be a positive integer or absent";
  if (delayMs !== undefined && delayMs !== 0 && !isCount(delayMs, DELAY_MS_MAX)) {
    return `delayMs must be an integer from 0 to ${DELAY_MS_MAX} or absent`;
  }
  return {
    mode: known,
    ...(calls === undefined ? {} : { calls: calls as number }),
    ...(delayMs === undefined ? {} : { delayMs: delayMs as number }),
  };
}

function isCount(value: unknown, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= max;
}
