/** What `console` may be given. */
import {
  booleanOption,
  functionOption,
  integerOption,
  knownOptions,
  optionInvalid,
} from "../core/contract/option-checks.ts";
import { orElse, optional, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import type { Store } from "../core/contract/store.ts";
import type { IchidoListener } from "../core/contract/events.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { DoctorParts, Probes } from "../operations/index.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Permission } from "./contract.ts";

/** The engine, or what of it there is: a console on a store alone shows the same records, but asks no provider. */
export interface ConsoleEngine {
  readonly store: Store;
  readonly probes?: Probes;
  readonly suspectWithinMs?: number;
  on?(listener: IchidoListener): () => void;
}

/** Who asks, by the name that the audit gets, and what they may do. */
export interface ConsoleUser {
  readonly user: string;
  readonly can: readonly Permission[];
}

/** False or nothing: not let in. */
export type Authorized = ConsoleUser | false | null | undefined;

/** What `createOutbox` returned, as far as a console uses it. */
export type ConsoleOutbox = Pick<
  Outbox<never>,
  "dead" | "drift" | "find" | "parked" | "pause" | "paused" | "plan" | "resume" | "stats"
>;
/** What `createInbox` returned, as far as a console uses it. */
export type ConsoleInbox = Pick<Inbox<never>, "dead" | "drift" | "find" | "plan" | "retentionMs" | "stats">;

export interface ConsoleOptions<Native = unknown> {
  /**
   * Who asks, from what authentication already found out about the framework's own request. Without it nobody is let in.
   * It is asked for every request, and once every few minutes of Live.
   */
  readonly authorize?: (request: Native) => Authorized | Promise<Authorized>;
  /** Nothing is written, and nothing revealed, whatever `authorize` permits. Default false. */
  readonly readOnly?: boolean;
  /** Shown on every screen: `production`. */
  readonly environmentName?: string;
  /** Where the console is mounted, such as `/console`, where the framework does not strip it. Default: what it strips. */
  readonly at?: string;
  readonly outbox?: ConsoleOutbox;
  readonly inbox?: ConsoleInbox;
  /** What `doctor` looks at beside store, outbox and inbox. */
  readonly doctor?: Pick<DoctorParts, "subscriptions" | "clientTimeoutMs" | "preflights">;
  /** How long one call to the store may take for a person. Default 5000. */
  readonly storeTimeoutMs?: number;
  /** Calls to the store at once: the rest of the pool is left to requests. Default 3. */
  readonly callsMax?: number;
  /** Open Live screens at once. Default 20. */
  readonly listenersMax?: number;
}

export const permissions: readonly Permission[] = ["read", "reveal", "settle", "events", "erase"];

const boolean = (option: string, value: unknown): boolean => booleanOption(option, value);
const between = (min: number, max: number) => (option: string, value: unknown) =>
  integerOption(option, value, min, max);

function name(option: string, value: unknown): string {
  if (typeof value === "string" && value.trim() !== "" && value.length <= 60) return value;
  throw optionInvalid(option, "a name of 1 to 60 characters", value);
}

function path(option: string, value: unknown): string {
  if (typeof value === "string" && /^(\/[^/?#\s]+)*\/?$/.test(value)) return value.replace(/\/$/, "");
  throw optionInvalid(option, "a path such as /console", value);
}

function authorize(option: string, value: unknown): ((request: never) => unknown) | undefined {
  if (value === undefined) return undefined;
  functionOption(option, value, "a function that tells who asks, such as (req) => req.user && { user, can }");
  return value as (request: never) => unknown;
}

/** What has the verbs of an outbox or an inbox, by one that only it has. */
function having<Part>(member: string, maker: string): (option: string, value: unknown) => Part | undefined {
  return (option, value) => {
    if (value === undefined) return undefined;
    if (typeof (Object(value) as Record<string, unknown>)[member] === "function") return value as Part;
    throw optionInvalid(option, `what ${maker} returned`, value);
  };
}

function doctor(_option: string, value: unknown): NonNullable<ConsoleOptions<never>["doctor"]> {
  const parts = value as NonNullable<ConsoleOptions<never>["doctor"]>;
  knownOptions("console.doctor", parts, { subscriptions: true, clientTimeoutMs: true, preflights: true });
  return parts;
}

const table = {
  authorize,
  readOnly: orElse(false, boolean),
  environmentName: optional(name),
  at: orElse("", path),
  outbox: having<ConsoleOutbox>("parked", "createOutbox"),
  inbox: having<ConsoleInbox>("find", "createInbox"),
  doctor: orElse({}, doctor),
  storeTimeoutMs: orElse(5_000, between(50, 60_000)),
  callsMax: orElse(3, between(1, 100)),
  listenersMax: orElse(20, between(0, 1_000)),
};

export type ConsoleSettings = ReadBy<typeof table>;

export function settingsOf<Native>(options: ConsoleOptions<Native>): ConsoleSettings {
  return readOptions<ConsoleOptions<Native>, typeof table>("console", options, table as never);
}
