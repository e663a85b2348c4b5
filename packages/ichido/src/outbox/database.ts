/** The outbox's statements over a transaction handle: one function per verb, rows with names of our own. */
import type { EventMessage } from "../brokers/message.ts";
import { IchidoError, isIchidoError } from "../core/contract/errors.ts";
import type { TransactionHandle, TransactionResult } from "../core/contract/transaction.ts";
import { columnOf } from "../drivers/row.ts";
import { failureOf } from "../sql/failures.ts";
import { decodeMessage } from "./envelope.ts";
import { statements as mysql } from "./mysql/statements.generated.ts";
import { statements as postgres } from "./postgres/statements.generated.ts";
import { bytesOf, numberOf, optionalBytes, optionalNumber, optionalText, textOf } from "../sql/columns.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  bind,
  bufferOf,
  createTexts,
  fixedStatement,
  valueOf,
  type FixedStatement,
  type Tokens,
  type Values,
} from "../sql/statement.ts";
import { statements as portable } from "./statements.generated.ts";

type Row = Readonly<Record<string, unknown>>;
type Verb = keyof typeof portable | keyof typeof mysql | keyof typeof postgres;

/** An event in a relay's hands. */
export interface OutboxEvent {
  readonly seq: number;
  readonly lane: number;
  /** The hash of its key in hex, where order is to be kept. */
  readonly keyHash: string | undefined;
  readonly message: EventMessage;
  readonly attempts: number;
  readonly crashes: number;
  /** Something was written about it before, so perhaps its key waits for it. */
  readonly noted: boolean;
  /** Why its row is no event. It cannot be sent, and must not keep others from being read. */
  readonly unreadable?: string;
}

export interface OutboxDeadLetter {
  readonly seq: number;
  readonly message: EventMessage;
  readonly reason: "rejected" | "crashed" | "unreadable";
  readonly error: string | undefined;
  readonly attempts: number;
  readonly crashes: number;
  readonly addedAtMs: number;
  readonly deadAtMs: number;
}

const own: Readonly<Record<Dialect, Partial<Record<Verb, string>>>> = { mysql, postgres, sqlite: {} };

const tokens: Readonly<Record<Dialect, Tokens>> = {
  postgres: { "skip-locked": "for update skip locked", "skip-locked-lanes": "for update of l skip locked" },
  mysql: { "skip-locked": "for update skip locked", "skip-locked-lanes": "for update skip locked" },
  sqlite: { "skip-locked": "", "skip-locked-lanes": "" },
};

export type Statements = (
  handle: TransactionHandle,
  verb: Verb,
  values?: Values,
  when?: { readonly atCommit?: boolean },
) => Promise<TransactionResult>;

export function createStatements(dialect: Dialect, prefix: string): Statements {
  const texts = { ...portable, ...own[dialect] };
  const textOf = createTexts<Verb>(dialect, prefix, texts, {
    ...tokens[dialect],
    claim: texts.claim,
    "earlier-of-key": texts.earlierOfKey,
  });
  let add: FixedStatement | undefined;

  /** The statement that comes with every event, where it can stay prepared. */
  async function addFixed(handle: TransactionHandle, values: Values, atCommit: boolean): Promise<TransactionResult> {
    add ??= fixedStatement(dialect, textOf("add"));
    const bound = add.names.map((name) => {
      const value = valueOf(values, name);
      return value instanceof Uint8Array ? bufferOf(value) : value;
    });
    if (!atCommit || handle.sendWithCommit === undefined) return handle.execute(add.sql, bound, { frequent: true });
    // As they are now: the caller may write on into the same bytes.
    const copies = bound.map((value) => (Buffer.isBuffer(value) ? Buffer.from(value) : value));
    handle.sendWithCommit(add.sql, copies, named);
    return { rows: [], affected: 0 };
  }

  return async (handle, verb, values = {}, { atCommit = false } = {}) => {
    try {
      if (verb === "add" && dialect === "postgres") return await addFixed(handle, values, atCommit);
      const { sql, bound } = bind(dialect, textOf(verb), values);
      return await handle.execute(sql, bound);
    } catch (error) {
      throw named(error);
    }
  };
}

function named(error: unknown): unknown {
  if (isIchidoError(error) || failureOf(error) !== "no-table") return error;
  return new IchidoError(
    "schema-missing",
    "the tables of the outbox are missing; call outbox.migrate() (npx ichido migrate) once at deploy, or run what outbox.plan() gives with your own tool",
    { cause: error },
  );
}

export function outboxEventOf(row: Row): OutboxEvent {
  const hash = optionalBytes(row, "key_hash");
  return {
    seq: numberOf(row, "seq"),
    lane: numberOf(row, "lane"),
    keyHash: hash === undefined ? undefined : Buffer.from(hash).toString("hex"),
    ...readRow(row),
    attempts: numberOf(row, "attempts"),
    crashes: numberOf(row, "crashes"),
    noted: numberOf(row, "noted") === 1,
  };
}

function messageOf(row: Row): EventMessage {
  return decodeMessage({
    id: textOf(row, "id"),
    topic: textOf(row, "topic"),
    key: optionalText(row, "message_key"),
    envelope: textOf(row, "envelope"),
    payload: bytesOf(row, "payload"),
  });
}

/**
 * A row that another program wrote or changed may hold anything: then this gives as much of it as can be shown to a
 * person.
 */
function readRow(row: Row): Pick<OutboxEvent, "message" | "unreadable"> {
  try {
    return { message: messageOf(row) };
  } catch (error) {
    // A library that hides columns hides them of every row: that is no event's fault.
    if (isIchidoError(error) && error.code === "usage-invalid") throw error;
    const payload = columnOf(row, "payload");
    const key = optionalText(row, "message_key");
    const message = {
      id: textOf(row, "id"),
      topic: textOf(row, "topic"),
      ...(key === undefined ? {} : { key }),
      source: "",
      time: "",
      contentType: "application/octet-stream",
      headers: {},
      payload: payload instanceof Uint8Array ? payload : Buffer.from(String(payload)),
    };
    return { message, unreadable: `the row is no event: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function deadLetterOf(row: Row): OutboxDeadLetter {
  return {
    seq: numberOf(row, "seq"),
    message: readRow(row).message,
    reason: textOf(row, "reason") as OutboxDeadLetter["reason"],
    error: optionalText(row, "last_error"),
    attempts: numberOf(row, "attempts"),
    crashes: numberOf(row, "crashes"),
    addedAtMs: numberOf(row, "added_ms"),
    deadAtMs: numberOf(row, "dead_ms"),
  };
}

/** Where an event is. */
export interface OutboxEntry {
  readonly seq: number;
  readonly topic: string;
  /**
   * `pending`: it is not sent yet. `dead`: it was given up, and waits for a person. `sent`: a broker has taken it over; told
   * where `keepSentMs` says how long that is remembered.
   */
  readonly outcome: "pending" | "dead" | "sent";
  /** Since when. */
  readonly atMs: number;
  readonly attempts: number;
  /** Of a dead letter. */
  readonly reason?: OutboxDeadLetter["reason"];
  /** The number of the event before it, at the head of its key, which is parked. */
  readonly behindSeq?: number;
}

export function entryOf(row: Row): OutboxEntry {
  const [seq, behind, reason] = [numberOf(row, "seq"), numberOf(row, "behind"), textOf(row, "reason")];
  return {
    seq,
    topic: textOf(row, "topic"),
    outcome: textOf(row, "outcome") as OutboxEntry["outcome"],
    atMs: numberOf(row, "at_ms"),
    attempts: numberOf(row, "attempts"),
    ...(reason !== "" && { reason: reason as OutboxDeadLetter["reason"] }),
    ...(behind > 0 && behind < seq && { behindSeq: behind }),
  };
}

export interface ParkedKey {
  readonly topic: string;
  readonly key: string;
  /** The event at its head. */
  readonly seq: number;
  readonly reason: string;
  readonly error: string | undefined;
  readonly sinceMs: number;
  /** Absent: until a person decides. */
  readonly untilMs: number | undefined;
}

export function parkedOf(row: Row): ParkedKey {
  return {
    topic: textOf(row, "topic"),
    key: textOf(row, "message_key"),
    seq: numberOf(row, "seq"),
    reason: textOf(row, "reason"),
    error: optionalText(row, "last_error"),
    sinceMs: numberOf(row, "since_ms"),
    untilMs: optionalNumber(row, "until_ms"),
  };
}
