/**
 * The inbox: a message takes effect once for each handler, however often it is delivered.
 *
 * Promised: a message that a handler's transaction committed is never run by that handler again within the retention, and
 * one that is older than the retention is not run by itself, since it may have been processed and forgotten; one whose
 * transaction did not commit is never called processed. Left to the caller: to acknowledge only after `processed` or
 * `duplicate`, to keep `retentionMs` above the longest time after which the broker may deliver again, and to keep the
 * clocks of producers, consumers and the database within five minutes of each other, or a tenth of `retentionMs` where
 * that is less.
 */
import { knownOptions, optionInvalid, type OptionNames } from "../core/contract/option-checks.ts";
import { environment, given, integer, optional, positive, readOptions } from "../core/contract/read-options.ts";
import type { EventMessage } from "../brokers/message.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import { limits } from "../core/contract/defaults.ts";
import type { Environment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { TransactionRunner } from "../core/contract/transaction.ts";
import type { Migrator } from "../sql/migrator.ts";
import { aRunner } from "../sql/runner-option.ts";
import { createRunnerMigrator } from "../sql/runner-migrator.ts";
import { checkPrefix, tableOptions, type TableOptions } from "../sql/table-prefix.ts";
import { forgetEvents } from "./forgetting.ts";
import { createPauses, type InboxPauses } from "./pause.ts";
import type { EventForgetting, ForgottenEvents } from "../sql/forgetting-events.ts";
import { createDeadLetters, type DeadLetterTable, type DeadNews, type InboxDeadLetters } from "./dead-letters.ts";
import { leasedOptions, type ConsumerHandler } from "./handlers.ts";
import {
  entriesOf,
  sweepInbox,
  statsOf,
  type InboxEntry,
  type InboxStats,
  type InboxSweepResult,
  type InboxSweepBounds,
} from "./housekeeping.ts";
import { createParked, lineOf, type Parked } from "./parked.ts";
import { putAsideLeased, runLeased, type LeasedHandler, type LeasedOptions } from "./run-leased.ts";
import {
  keyOf,
  lookUp,
  noteProcessed,
  resultOf,
  runInLine,
  runOnce,
  type InboxResult,
  type OnceHandler,
  type OnceParts,
} from "./run-once.ts";
import { migrations } from "./schema.ts";
import { createStarts, type Starts } from "./starts.ts";
import { createStatements } from "./statement.ts";

export interface InboxOptions<Tx> extends TableOptions {
  /** Opens transactions of the database that the handlers write to: `pgTransactions(pool)` and its like. */
  readonly transactions: TransactionRunner<Tx>;
  /** For `inbox.run`. */
  readonly ichido?: Pick<Ichido, "run">;
  /** How long a processed message is remembered. No default: it must be longer than any redelivery. */
  readonly retentionMs: number;
  /** The longest time after its first delivery at which a message may come again; consumers check their subscription's. */
  readonly redeliveryMsMax?: number;
  /** How long a second delivery waits for the first one, before it is `busy`. Default 2000. */
  readonly lockTimeoutMs?: number;
  readonly environment?: Environment;
}

export interface RunOptions {
  /** Which try this is, for the handler. Default 1. */
  readonly attempt?: number;
  /** A person has decided that it is to run, although it is older than the retention. */
  readonly evenIfOld?: boolean;
}

export interface OnceOptions extends RunOptions {
  /** The broker says that it delivered the message before: it is looked up first, which is the cheapest way to a duplicate. */
  readonly redelivered?: boolean;
}

export interface Inbox<Tx = unknown> extends Migrator, InboxPauses {
  /** How long a processed message is remembered. */
  readonly retentionMs: number;
  /**
   * For effects in the inbox's own database. Rejects with what the handler threw, after the rollback, or with
   * `store-unavailable` where the database failed and nothing, or nothing known, was committed: deliver again.
   */
  runOnce(message: EventMessage, handler: string, fn: OnceHandler<Tx>, options?: OnceOptions): Promise<InboxResult>;
  /** For effects elsewhere: the handler runs under a lease of `ichido`, with steps and references. */
  run(
    message: EventMessage,
    handler: string,
    fn: LeasedHandler,
    options?: RunOptions & LeasedOptions,
  ): Promise<InboxResult>;
  /** What became of an event, handler by handler. */
  find(id: string): Promise<readonly InboxEntry[]>;
  readonly dead: InboxDeadLetters;
  /** Erases what it keeps of a person; what waits to be processed is left alone and told. */
  forget(request: EventForgetting): Promise<ForgottenEvents>;
  /** Forgets processed messages past the retention, in bounded batches. Call it every few minutes, from any process. */
  sweep(bounds?: InboxSweepBounds): Promise<InboxSweepResult>;
  stats(): Promise<InboxStats>;
  /** Throws `schema-missing` where tables are missing, `option-invalid` where the retention is too short. */
  check(subscription?: { readonly name: string; readonly redeliveryMsMax: number }): Promise<void>;
}

/**
 * How far the clocks of producers, consumers and the database may be apart: for so long beyond the retention what was
 * processed is kept, so that an event that does not look too old yet is still remembered. A tenth of a short retention.
 */
const clocksApartMsMax = 300_000;

const tooOld: InboxResult = { outcome: "conflict", reason: "too-old" };

/** What a consumer needs beyond the public verbs. */
export interface InboxParts {
  readonly letters: DeadLetterTable;
  readonly starts: Starts;
  readonly parked: Parked;
  readonly leased: boolean;
  readonly environment: Environment;
  /** So old that it may have been processed and forgotten. */
  isTooOld(message: EventMessage): boolean;
  /**
   * `runOnce` of a message that is not too old, unless something of its key waits: both in one transaction. Absent on MySQL,
   * where the look would fix what the handler sees of other transactions, before the message's row makes it wait for them.
   */
  readonly runInLine:
    | ((
        message: EventMessage,
        handler: string,
        fn: OnceHandler<never>,
        attempt: number,
      ) => ReturnType<typeof runInLine>)
    | undefined;
  /** What the inbox's own table says of it. */
  lookUp(message: EventMessage, handler: string): ReturnType<typeof lookUp>;
  /** Notes in the inbox's own table that it was processed. */
  noteProcessed(message: EventMessage, handler: string): Promise<unknown>;
  /** Makes it a dead letter of the handler, unless it is processed, or an attempt runs it. */
  putAside(
    message: EventMessage,
    handler: ConsumerHandler<never>,
    news: DeadNews,
  ): Promise<"dead" | "processed" | "busy">;
}

const waitMsDefault = 2_000;
const waitMsMax = 60_000;
const parts = new WeakMap<object, InboxParts>();

export function partsOf(inbox: Inbox<never>): InboxParts {
  const found = parts.get(inbox);
  if (found !== undefined) return found;
  throw optionInvalid("inbox", "what createInbox returned", inbox);
}

function checkRetention(retentionMs: number, redeliveryMsMax: number, whose: string): void {
  if (retentionMs > redeliveryMsMax) return;
  throw new IchidoError(
    "option-invalid",
    `retentionMs (${retentionMs}) must be greater than ${whose} (${redeliveryMsMax}): a message that is delivered after it ` +
      "was forgotten would take effect twice",
  );
}

/** For how long it is remembered that a message was processed. */
function keepMsFor(retentionMs: number): number {
  return Math.min(limits.retentionMsMax, retentionMs + Math.min(clocksApartMsMax, Math.floor(retentionMs / 10)));
}

function inLineOf(once: OnceParts<never>): InboxParts["runInLine"] {
  if (once.transactions.dialect === "mysql") return undefined;
  return (message, handler, fn, attempt) => {
    const context = { message, attempt };
    return runInLine(once, { key: keyOf(message, handler), handler: fn, context, line: lineOf(message) });
  };
}

const optionTable = {
  transactions: aRunner,
  ichido: given<InboxOptions<never>["ichido"]>(),
  retentionMs: integer(1, limits.retentionMsMax),
  redeliveryMsMax: optional(positive()),
  lockTimeoutMs: integer(1, waitMsMax, waitMsDefault),
  ...tableOptions,
  environment,
};

const onceNames: OptionNames<OnceOptions> = { attempt: true, redelivered: true, evenIfOld: true };
const runNames: OptionNames<RunOptions & LeasedOptions> = {
  attempt: true,
  evenIfOld: true,
  onUnknown: true,
  leaseMs: true,
};

function askedByPeople(
  transactions: TransactionRunner<unknown>,
  statements: ReturnType<typeof createStatements>,
  dead: InboxDeadLetters,
): Pick<Inbox, "find" | "forget" | "stats" | keyof InboxPauses> {
  return {
    find: (id) => entriesOf(transactions, statements, id),
    forget: (request) => forgetEvents(transactions, statements, dead, request),
    stats: () => statsOf(transactions, statements),
    ...createPauses(transactions, statements),
  };
}

export function createInbox<Tx>(options: InboxOptions<Tx>): Inbox<Tx> {
  const settings = readOptions("createInbox", options, optionTable);
  const { ichido, retentionMs, redeliveryMsMax, lockTimeoutMs: waitMs, environment } = settings;
  const { transactions } = options;
  if (redeliveryMsMax !== undefined) checkRetention(retentionMs, redeliveryMsMax, "redeliveryMsMax");
  const prefix = checkPrefix(transactions.dialect, settings.tablePrefix, settings.schema);
  const statements = createStatements(transactions.dialect, prefix, waitMs);
  const once = { transactions, statements, waitMs, environment };
  const { migrator, requireSchema } = createRunnerMigrator({ part: "inbox", migrations, prefix, transactions });
  const { dead, letters } = createDeadLetters(transactions, statements);
  const keepMs = keepMsFor(retentionMs);

  function isTooOld({ time }: EventMessage): boolean {
    // Not a number where there is no time: such an event cannot be judged by it.
    return environment.wallMs() - Date.parse(time) > retentionMs;
  }

  const inbox: Inbox<Tx> = {
    ...migrator,
    retentionMs,
    dead,
    async runOnce(message, handler, fn, options = {}) {
      knownOptions("inbox.runOnce", options, onceNames);
      const { attempt = 1, redelivered = false, evenIfOld = false } = options;
      const key = keyOf(message, handler);
      const isRefused = !evenIfOld && isTooOld(message);
      const found = redelivered || isRefused ? await lookUp(once, key) : undefined;
      if (found !== undefined) return resultOf(found);
      return isRefused ? tooOld : runOnce(once, { key, handler: fn, context: { message, attempt } });
    },
    async run(message, handler, fn, given = {}) {
      knownOptions("inbox.run", given, runNames);
      const { attempt = 1, evenIfOld = false, ...leased } = given;
      const key = keyOf(message, handler);
      const options = { ...leased, retentionMs: keepMs };
      const refusal = !evenIfOld && isTooOld(message) ? tooOld : undefined;
      const look = () => lookUp(once, key);
      // Where there is a letter, its record may be forgotten before a person looks at the letter again.
      const note = async () => {
        if (evenIfOld || (await letters.has(key))) await noteProcessed(once, key);
      };
      return runLeased(ichido, { key, message, options }, { fn, delivery: { message, attempt }, look, refusal, note });
    },
    ...askedByPeople(transactions, statements, dead),
    sweep: (bounds) => sweepInbox(transactions, statements, environment, keepMs, bounds),
    async check(subscription) {
      if (subscription !== undefined)
        checkRetention(
          retentionMs,
          subscription.redeliveryMsMax,
          `redeliveryMsMax of the subscription ${subscription.name}`,
        );
      await requireSchema();
    },
  };
  parts.set(inbox, {
    letters,
    starts: createStarts(transactions, statements, environment),
    parked: createParked(transactions, statements),
    leased: ichido !== undefined,
    environment,
    isTooOld,
    runInLine: inLineOf(once as unknown as OnceParts<never>),
    lookUp: (message, handler) => lookUp(once, keyOf(message, handler)),
    noteProcessed: (message, handler) => noteProcessed(once, keyOf(message, handler)),
    putAside(message, handler, news) {
      const put = () => letters.put(message, handler.name, news);
      if (handler.run === undefined || news.reason === "conflict") return put();
      const options = { ...leasedOptions(handler), retentionMs: keepMs };
      const key = keyOf(message, handler.name);
      const takeBack = async () => {
        if (await letters.has(key)) await noteProcessed(once, key);
      };
      const doubt = async () => {
        if (isTooOld(message)) await letters.doubt(key);
      };
      const letter = { put, isSent: news.again !== undefined, takeBack, doubt, environment };
      return putAsideLeased(ichido, { key, message, options }, letter);
    },
  });
  return inbox;
}
