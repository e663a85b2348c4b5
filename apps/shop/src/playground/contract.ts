/** What the playground's page and its server say to each other: types alone, for both. */

export type LaneName = "unprotected" | "protected";

export const lanes: readonly LaneName[] = ["unprotected", "protected"];

/**
 * Where a lane can be killed. After the commit: the protected lane has stored its answer under the key, the unprotected one
 * has settled its row; neither has sent anything yet.
 */
export const killPoints = ["before-claim", "after-claim", "after-charge", "after-commit"] as const;
export type KillPoint = (typeof killPoints)[number];

export const faultNames = [
  "none",
  "double-click",
  "cut-before-arrival",
  "cut-after-answer",
  "kill-before-claim",
  "kill-after-claim",
  "kill-after-charge",
  "kill-after-commit",
  "bank-charges-silently",
  "reload",
  "two-tabs",
  "kill-database-connection",
] as const;
export type FaultName = (typeof faultNames)[number];

export const bankModes = ["dedupes", "ignores-references", "slow"] as const;
export type BankMode = (typeof bankModes)[number];

/** Who saw it happen. */
export type Witness = "buyer" | "proxy" | "api" | "database" | "bank" | "supervisor";

/** One line of the event log. Times are this machine's clock, which all processes share. */
export interface LoggedEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly who: Witness;
  readonly pid: number;
  readonly what: string;
  readonly lane?: LaneName;
  /** The payment, order or storm that it belongs to. */
  readonly run?: string;
  /** Others that it happened to as well. */
  readonly runs?: readonly string[];
  readonly signal?: string;
  /** As the system told it. */
  readonly errno?: string;
  readonly status?: number;
  readonly tookMs?: number;
  readonly detail?: string;
  /** By which the bank's ledger tells which lane asked for a charge. */
  readonly reference?: string;
  readonly raw?: Raw;
}

export type RowShown = Readonly<Record<string, string | number | null>>;

/** What lies behind an event: what went over the wire, or a row as it was read right afterwards. */
export type Raw =
  | { readonly kind: "wire"; readonly text: string }
  | { readonly kind: "row"; readonly table: string; readonly row: RowShown };

/** Of one payment among many nobody looks at the bytes, and keeping them would slow what is measured. */
export function isOneOfMany(run: string): boolean {
  return /^(storm|sweep)/.test(run);
}

export function isOf({ run, runs }: Pick<LoggedEvent, "run" | "runs">, asked: string): boolean {
  return run === asked || runs?.includes(asked) === true;
}

export type EventNote = Omit<LoggedEvent, "seq" | "atMs"> & { readonly atMs?: number };

export interface FaultView {
  readonly fault: FaultName;
  /** Charges in the bank's ledger that a run of it must show. */
  readonly expected: Readonly<Record<LaneName, number>>;
  /** Why it cannot be had here. */
  readonly unavailable?: string;
}

export const limitNames = [
  "bank-cannot-be-asked",
  "key-per-click",
  "short-retention",
  "run-without-store",
  "redis-evicts",
] as const;
export type LimitName = (typeof limitNames)[number];

export interface LimitOffer {
  readonly limit: LimitName;
  /** Why it cannot be had here. */
  readonly unavailable?: string;
}

export interface Charge {
  readonly chargeId: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly at: string;
}

/** Entries of the bank's ledger, counted and summed on the server: the page works out no number. */
export interface Charged {
  readonly count: number;
  /** Beyond the one that a cart is worth. */
  readonly tooMany: number;
  /** In minor units of the currency. */
  readonly sum: number;
}

/** What was counted in one lane, by whom the name says. */
export interface LaneCounts {
  readonly buyerClicks: number;
  readonly proxyArrivals: number;
  readonly bankCharges: readonly Charge[];
  readonly charged: Charged;
  readonly databaseRows: number;
  readonly supervisorRestarts: number;
}

export interface RunView {
  readonly run: string;
  readonly fault: FaultName;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
  /** Requests that the proxy has passed on and that are not answered. */
  readonly inFlight: number;
  readonly lanes: Readonly<Record<LaneName, LaneCounts>>;
  readonly events: readonly LoggedEvent[];
}

export interface ProcessView {
  readonly name: "shop" | "bank" | "database" | LaneName;
  readonly pid: number;
  /** As the operating system says. */
  readonly isUp: boolean;
  readonly url: string;
  /** Its own door through the fault proxy, of a lane. */
  readonly proxyUrl?: string;
  readonly restarts: number;
  readonly lastRestartMs?: number;
  /** A line to ask it by hand. */
  readonly ask: string;
}

export interface StateView {
  readonly started: boolean;
  readonly startMs?: number;
  readonly folder?: string;
  readonly bankMode: BankMode;
  /** Of the cart, in minor units of the currency. */
  readonly price: { readonly amount: number; readonly currency: string };
  readonly processes: readonly ProcessView[];
  readonly deck: readonly FaultView[];
  readonly limits: readonly LimitOffer[];
  readonly logFile?: string;
}

/** What the databases of the lanes held at one moment. */
export interface GrowthSample {
  readonly atMs: number;
  readonly keys: number;
  readonly lanes: Readonly<Record<LaneName, { readonly payments: number; readonly bytes: number }>>;
}

export interface SweepSample {
  /** Since it began. */
  readonly atMs: number;
  readonly keys: number;
  readonly bytes: number;
  /** Without pages that are free to be written anew. */
  readonly bytesInUse: number;
}

export interface SweepView {
  /** Before the sweep, and as many after it. */
  readonly payments: number;
  readonly retentionMs: number;
  /** As the engine says. */
  readonly deleted: number;
  readonly sweptFromMs: number;
  readonly sweptUntilMs: number;
  readonly samples: readonly SweepSample[];
  readonly ask: string;
}
