/**
 * Events that commit with the business write, or not at all. `add` writes one row inside the caller's own transaction; a
 * relay sends it afterwards, until a broker has taken it over.
 */
import { integerOption, knownOptions, optionInvalid } from "../core/contract/option-checks.ts";
import { environment, given, integer, readOptions, type OptionReader } from "../core/contract/read-options.ts";
import { checkId, checkKey, checkTopic, isEventId } from "../brokers/message.ts";
import { partitionOf } from "../brokers/partition.ts";
import type { Environment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { sha256 } from "../core/request/sha256.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { uuidV7 } from "../core/contract/uuid.ts";
import type { Migrator } from "../sql/migrator.ts";
import { aRunner, speaks } from "../sql/runner-option.ts";
import { createRunnerMigrator } from "../sql/runner-migrator.ts";
import { checkPrefix, tableOptions, type TableOptions } from "../sql/table-prefix.ts";
import { createStatements, entryOf, parkedOf, type OutboxEntry, type ParkedKey, type Statements } from "./database.ts";
import { forgetEvents } from "./forgetting.ts";
import type { EventForgetting, ForgottenEvents } from "../sql/forgetting-events.ts";
import { createDeadLetters, type OutboxDeadLetters } from "./dead-letters.ts";
import { encodeEnvelope, payloadBytes, type OutboxMessage } from "./envelope.ts";
import { laneCount } from "./lanes.ts";
import { migrations } from "./schema.ts";
import { createPauses, type OutboxPauses } from "./pause.ts";
import { numberOf, optionalNumber } from "../sql/columns.ts";
import { createTopics, type TopicRule, type Topics } from "./topics.ts";
import { sweepOutbox, type OutboxSweepResult } from "./sweep.ts";
import type { WakeChannel } from "./wake-channel.ts";
import { createWake, type Wake } from "./wake.ts";

export interface OutboxOptions<Tx> extends TableOptions {
  /** Of the database with the business tables: `pgTransactions(pool)` and its like in `ichido/transactions`. */
  readonly transactions: TransactionRunner<Tx>;
  /** Where events go. An event without a rule stays and alarms. */
  readonly topics: Readonly<Record<string, TopicRule>>;
  /** CloudEvents `source` of all events, such as `/shop`. */
  readonly source: string;
  /** Default 262144. */
  readonly payloadBytesMax?: number;
  /**
   * Order of commit per key also for writers that do not lock the row the event is about. Costs a lock per event. Default
   * false: with that row locked before `add`, the order is right without it. SQLite has it for free.
   */
  readonly strict?: boolean;
  /** How long sent events are remembered, without payload. Default 0: they are removed. */
  readonly keepSentMs?: number;
  /** How long dead letters are kept that park no key. Default 90 days. */
  readonly keepDeadMs?: number;
  /** Wakes relays of other processes at once: `pgWake(pool)` or `postgresJsWake(sql)`. Without it they poll. */
  readonly wake?: WakeChannel;
  /** The trace context of the moment, for events that bring none. */
  readonly trace?: () => { readonly traceparent?: string; readonly tracestate?: string } | undefined;
  readonly environment?: Environment;
}

export interface OutboxStats {
  readonly pending: number;
  /** Age of the oldest event that is due; 0 when none waits. */
  readonly oldestMs: number;
  readonly dead: number;
  readonly parked: number;
  readonly relays: number;
}

export interface AddOptions {
  /**
   * Writes the event in one message with COMMIT, which saves a round trip where the handle comes from `pgTransactions`,
   * `outbox.transaction` or `ctx.transaction` on `pg`; elsewhere it changes nothing. What goes wrong with the write then
   * fails the transaction. Events that are added later on the same handle travel with it. Not between a savepoint and a
   * rollback to it: the event would stay.
   */
  readonly atCommit?: boolean;
}

export interface Outbox<Tx = unknown> extends Migrator, OutboxPauses {
  /** Inside your transaction: the handle comes from `fromPg`, `fromKysely` and their like, or from `ctx.transaction`. */
  add(handle: TransactionHandle, message: OutboxMessage, options?: AddOptions): Promise<{ readonly id: string }>;
  /** Runs `fn` in a transaction and wakes the relay when it has committed. */
  transaction<Value>(fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>): Promise<Value>;
  /** After a commit of your own: the relay looks at once instead of at its next poll. */
  wake(): void;
  /** Where an event is; nothing where it was sent and is not remembered, or was discarded. */
  find(id: string): Promise<readonly OutboxEntry[]>;
  readonly dead: OutboxDeadLetters;
  /** Erases what it keeps of a person; what waits to be sent is left alone and told. */
  forget(request: EventForgetting): Promise<ForgottenEvents>;
  /** Keys that wait, with the reason. */
  parked(limit?: number): Promise<readonly ParkedKey[]>;
  stats(): Promise<OutboxStats>;
  /** Removes what was kept long enough, in bounded batches. */
  sweep(options?: { readonly limit?: number; readonly budgetMs?: number }): Promise<OutboxSweepResult>;
}

/** What a relay works with. */
export interface OutboxParts {
  readonly transactions: TransactionRunner<unknown>;
  readonly run: Statements;
  readonly topics: Topics;
  readonly wake: Wake;
  readonly keepSentMs: number;
  readonly environment: Environment;
  readonly requireSchema: () => Promise<void>;
}

const parts = new WeakMap<object, OutboxParts>();

export function partsOf(outbox: Outbox): OutboxParts {
  const found = parts.get(outbox);
  if (found !== undefined) return found;
  throw optionInvalid("outbox", "what createOutbox returned", outbox);
}

const parkedMax = 1000;
/** Events of one id, told at most: nothing keeps a program from adding one twice. */
const entriesMax = 100;

/** Enough to tell keys apart; it is in an index. */
const keyHashBytes = 16;

/** What order is kept by: events with one key, of one rule or of rules that are ordered with it. */
function keyHashOf(orderedWith: string, key: string): Uint8Array {
  return sha256(`${orderedWith}\0${key}`).subarray(0, keyHashBytes);
}

const whole = (fallback: number): OptionReader<number> => integer(0, Number.MAX_SAFE_INTEGER, fallback);

const optionTable = {
  transactions: aRunner,
  topics: given<OutboxOptions<never>["topics"]>(),
  source: sourceOf,
  ...tableOptions,
  payloadBytesMax: whole(262_144),
  strict: given(false),
  keepSentMs: whole(0),
  keepDeadMs: whole(90 * 86_400_000),
  wake: given<WakeChannel | undefined>(),
  trace: given<OutboxOptions<never>["trace"]>(),
  environment,
};

function sourceOf(option: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && !/\s/.test(value)) return value;
  throw optionInvalid(option, 'a URI reference such as "/shop"', value);
}

function checkAdd(handle: TransactionHandle, message: OutboxMessage, dialect: TransactionHandle["dialect"]): void {
  if (!speaks(handle, "execute")) {
    throw new IchidoError(
      "usage-invalid",
      "outbox.add takes a handle first: the one that outbox.transaction or ctx.transaction gives beside tx, or fromPg(client) and its " +
        "like in ichido/transactions",
    );
  }
  if (handle.dialect !== dialect) {
    throw new IchidoError(
      "usage-invalid",
      `the handle speaks ${handle.dialect}, the outbox lives on ${dialect}: pass the handle of a transaction on its database`,
    );
  }
  if (typeof message !== "object" || message === null)
    throw new IchidoError("message-invalid", "an event is an object with a topic and a payload");
}

export function createOutbox<Tx>(options: OutboxOptions<Tx>): Outbox<Tx> {
  const settings = readOptions("createOutbox", options, optionTable);
  const { source, strict, trace, payloadBytesMax, keepSentMs, keepDeadMs, environment } = settings;
  const { transactions } = options;
  const { dialect } = transactions;
  const prefix = checkPrefix(dialect, settings.tablePrefix, settings.schema);
  const topics = createTopics(options.topics);
  const run = createStatements(dialect, prefix);
  const wake = createWake(environment, options.wake);
  const { migrator, requireSchema } = createRunnerMigrator({ part: "outbox", migrations, prefix, transactions });
  let turn = 0;
  const late = new WeakSet<TransactionHandle>();

  async function lockKey(handle: TransactionHandle, hash: Uint8Array): Promise<void> {
    if (!strict || dialect === "sqlite") return;
    await run(
      handle,
      "lockKey",
      dialect === "mysql" ? { key_hash: hash } : { key_text: Buffer.from(hash).toString("hex") },
    );
  }

  const dead = createDeadLetters(transactions, run, () => wake.now());
  const outbox: Outbox<Tx> = {
    async add(handle, message, addOptions = {}) {
      checkAdd(handle, message, dialect);
      knownOptions("outbox.add", addOptions, { atCommit: true });
      const { atCommit = false } = addOptions;
      // What is added after an event that waits for COMMIT waits behind it.
      const isLate = atCommit || late.has(handle);
      if (isLate) late.add(handle);
      const topic = checkTopic(message.topic);
      const key = checkKey(message.key);
      const wallMs = environment.wallMs();
      const id = message.id === undefined ? uuidV7(wallMs, environment) : checkId(message.id);
      const delayMs = message.delayMs ?? 0;
      if (!Number.isSafeInteger(delayMs) || delayMs < 0)
        throw new IchidoError(
          "message-invalid",
          `delayMs must be a whole number of at least 0, got ${String(delayMs)}`,
        );
      const payload = payloadBytes(message, payloadBytesMax);
      const envelope = encodeEnvelope({ ...trace?.(), ...message }, source, wallMs + delayMs);
      const rule = topics.find(topic);
      const ordered = key !== undefined && delayMs === 0 && rule?.order !== "none";
      const hash = ordered ? keyHashOf(rule?.orderedWith ?? "", key) : null;
      if (hash !== null) await lockKey(handle, hash);
      turn = (turn + 1) % laneCount;
      await run(
        handle,
        "add",
        {
          id,
          topic,
          lane: hash === null ? turn : partitionOf(key ?? "", laneCount),
          message_key: key ?? null,
          key_hash: hash,
          envelope,
          payload,
          delay_ms: delayMs === 0 ? null : delayMs,
        },
        { atCommit: isLate },
      );
      wake.soon();
      return { id };
    },
    async transaction(fn) {
      const value = await transactions.run(fn);
      wake.now();
      return value;
    },
    wake: () => wake.now(),
    async find(id) {
      if (!isEventId(id)) return [];
      const { rows } = await transactions.run((_tx, handle) => run(handle, "find", { id, limit: entriesMax }));
      return rows.map(entryOf);
    },
    dead,
    forget: (request) => forgetEvents(transactions, run, dead, request),
    async parked(limit = 100) {
      integerOption("limit", limit, 1, parkedMax);
      const { rows } = await transactions.run((_tx, handle) => run(handle, "parked", { limit }));
      return rows.map(parkedOf);
    },
    async stats() {
      const { rows } = await transactions.run((_tx, handle) => run(handle, "stats"));
      const row = rows[0] ?? {};
      return {
        pending: numberOf(row, "pending"),
        oldestMs: Math.max(0, optionalNumber(row, "oldest_ms") ?? 0),
        dead: numberOf(row, "dead"),
        parked: numberOf(row, "parked"),
        relays: numberOf(row, "relays"),
      };
    },
    sweep: (sweepOptions) => sweepOutbox({ transactions, run, keepSentMs, keepDeadMs, environment }, sweepOptions),
    ...createPauses(transactions, run, () => wake.now()),
    ...migrator,
  };
  parts.set(outbox, {
    transactions,
    run,
    topics,
    wake,
    keepSentMs,
    environment,
    requireSchema,
  });
  return outbox;
}
