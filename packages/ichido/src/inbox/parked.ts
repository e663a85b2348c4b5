/**
 * Messages that failed and wait for their next attempt beside the broker, so that other keys of their partition go on. The
 * messages of a key stand in a line, for each handler, in the order in which they were delivered: while one waits, what comes
 * after it is put behind it, by whatever process. A broker delivers the next one of a key after the one before it was
 * acknowledged, and that is after it was put here.
 */
import type { EventMessage } from "../brokers/message.ts";
import { sha256 } from "../core/request/sha256.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { bytesOf, numberOf, optionalNumber, textOf } from "../sql/columns.ts";
import { describeError } from "./dead-letters.ts";
import { keyOf } from "./run-once.ts";
import type { Statements } from "./statement.ts";

export interface ParkedMessage {
  readonly place: number;
  readonly message: EventMessage;
  readonly attempts: number;
  /** For how long it has been waiting. */
  readonly waitsMs: number;
}

/** What is known of a message that waits. */
export interface ParkedNews {
  readonly attempts: number;
  /** Absent: it has not run, and waits for those before it. */
  readonly error?: unknown;
  readonly delayMs: number;
}

export interface Parked {
  /** What stands before a message of its key, itself included. */
  before(message: EventMessage, handler: string): Promise<"nothing" | "some" | "full">;
  add(message: EventMessage, handler: string, news: ParkedNews): Promise<void>;
  /** Messages that are first in their lines and whose time has come. */
  due(handler: string, limit: number): Promise<readonly ParkedMessage[]>;
  /** False: another process was faster. */
  take(parked: ParkedMessage): Promise<boolean>;
  defer(parked: ParkedMessage, news: ParkedNews): Promise<void>;
  remove(parked: ParkedMessage, handler: string): Promise<void>;
  /** How soon the next one's time comes. Undefined: nothing waits. */
  nextMs(handler: string): Promise<number | undefined>;
}

/** Messages of one key that may wait; those beyond stay at the broker. */
const lineMax = 1_000;
/** How long no other process takes up what a process has taken up. */
const holdMs = 5_000;

/** In which line a message stands. */
export function lineOf({ key, id }: EventMessage): Uint8Array {
  return sha256(key === undefined ? `id ${id}` : `key ${key}`);
}

export function createParked(transactions: TransactionRunner<unknown>, statements: Statements): Parked {
  const { dialect, ask } = transactions;
  const inside = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    transactions.run((_tx, handle) => fn(handle), { opensByHandle: true });
  const asked = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    ask === undefined ? inside(fn) : fn({ dialect, execute: ask });

  return {
    async before(message, handler) {
      // Without a key there is no order to keep.
      if (message.key === undefined) return "nothing";
      const values = { handler, line: lineOf(message), limit: lineMax };
      const { rows } = await asked((handle) => statements(handle, "countLine", values));
      const waiting = rows[0] === undefined ? 0 : numberOf(rows[0], "waiting");
      return waiting === 0 ? "nothing" : waiting < lineMax ? "some" : "full";
    },
    async add(message, handler, { attempts, error, delayMs }) {
      const { payload, ...envelope } = message;
      await inside((handle) =>
        statements(handle, "park", {
          ...keyOf(message, handler),
          line: lineOf(message),
          envelope: JSON.stringify(envelope),
          payload,
          error: error === undefined ? "" : describeError(error),
          attempts,
          delay_ms: delayMs,
        }),
      );
    },
    async due(handler, limit) {
      const { rows } = await asked((handle) => statements(handle, "listParked", { handler, limit }));
      return rows.map((row) => ({
        place: numberOf(row, "place"),
        message: {
          ...(JSON.parse(textOf(row, "envelope")) as Omit<EventMessage, "payload">),
          payload: new Uint8Array(bytesOf(row, "payload")),
        },
        attempts: numberOf(row, "attempts"),
        waitsMs: numberOf(row, "waits_ms"),
      }));
    },
    take: async ({ place }) =>
      (await inside((handle) => statements(handle, "takeParked", { place, hold_ms: holdMs }))).affected > 0,
    async defer({ place }, { attempts, error, delayMs }) {
      const values = { place, attempts, error: describeError(error), delay_ms: delayMs };
      await inside((handle) => statements(handle, "deferParked", values));
    },
    async remove({ place, message }, handler) {
      await inside(async (handle) => {
        if ((await statements(handle, "removeParked", { place })).affected > 0)
          await statements(handle, "remember", { ...keyOf(message, handler) });
      });
    },
    async nextMs(handler) {
      const { rows } = await asked((handle) => statements(handle, "nextParked", { handler }));
      return rows[0] === undefined ? undefined : optionalNumber(rows[0], "next_ms");
    },
  };
}
