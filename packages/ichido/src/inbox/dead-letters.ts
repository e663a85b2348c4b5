/** Messages that a handler could not process: kept whole, looked at by people, run again or let go. */
import type { EventMessage } from "../brokers/message.ts";
import { printOf } from "../brokers/print.ts";
import { knownOptions, optionInvalid, type OptionNames } from "../core/contract/option-checks.ts";
import { sha256, sha256Hex } from "../core/request/sha256.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { failureOf } from "../sql/failures.ts";
import { checkHandlerName, columnOfId } from "./identity.ts";
import { bytesOf, numberOf, optionalNumber, textOf } from "../sql/columns.ts";
import { checkDecision, checkLetters, lettersDefault, lettersMax, type Decision } from "../sql/decision.ts";
import { findOutcome, keyOf, type InboxKey } from "./run-once.ts";
import type { Start } from "./starts.ts";
import type { Statements } from "./statement.ts";

export type InboxDeadReason =
  /** The handler failed as often as it may. */
  | "failed"
  /** Its id was seen before with other content. */
  | "conflict"
  /** An earlier attempt of `inbox.run` vanished, and its outcome stayed unknown: settle it, then replay or discard. */
  | "unknown"
  /** It was started again and again without an end: every process that runs it dies. */
  | "crashed"
  /**
   * It is older than the retention, so that it is not known whether it was processed before: look, then replay or
   * discard.
   */
  | "too-old"
  /** No handler of the consumer wanted its topic: deploy one, then replay it to that handler, or discard. */
  | "unhandled"
  /** What the broker delivered is no event. `payload` are the bytes as they came. */
  | "unreadable";

/** Why a message is put aside. */
export interface DeadNews {
  readonly reason: InboxDeadReason;
  readonly error: unknown;
  readonly attempts: number;
  /** It was sent before and not answered; with the attempt's start, where one was noted. */
  readonly again?: { readonly start: Start | undefined };
}

export interface InboxDeadLetter {
  readonly handler: string;
  readonly message: EventMessage;
  readonly reason: InboxDeadReason;
  readonly error: string;
  readonly attempts: number;
  /** By the database's clock. */
  readonly sinceMs: number;
  /** `replaying`: marked for the next pass of a consumer. */
  readonly state: "dead" | "replaying";
}

export interface InboxDeadLetterQuery {
  readonly handler?: string;
  readonly topic?: string;
  /** Default 100, at most 1000. */
  readonly limit?: number;
  /** Of the page before. */
  readonly cursor?: number;
}

export interface InboxDecision extends Decision {
  readonly handler: string;
  /** The message's id. */
  readonly id: string;
}

export interface InboxReplay extends InboxDecision {
  /** The handlers that are to run it instead: for a letter that no handler wanted, or whose handler has another name now. */
  readonly to?: readonly string[];
}

export interface InboxAuditEntry {
  readonly handler: string;
  readonly action: "replay" | "discard";
  readonly actor: string;
  readonly reason: string;
  readonly topic: string;
  readonly atMs: number;
}

export interface InboxDeadLetters {
  /** Oldest first. */
  list(
    query?: InboxDeadLetterQuery,
  ): Promise<{ readonly letters: readonly InboxDeadLetter[]; readonly cursor: number | undefined }>;
  get(letter: { readonly handler: string; readonly id: string }): Promise<InboxDeadLetter | undefined>;
  /** Marks it for the consumers of its handler, which run it at their next pass. `already`: it is marked. */
  replay(decision: InboxReplay): Promise<"ok" | "already" | "absent" | "unreadable">;
  /** Forgets it; redeliveries stay duplicates for the retention. */
  discard(
    decision: InboxDecision & {
      /** As it was seen: one that is in another state now is left, and the answer is `changed`. */
      readonly state?: InboxDeadLetter["state"];
    },
  ): Promise<"ok" | "absent" | "changed">;
  /** Without a handler: what was decided about the message for any. */
  audit(letter: { readonly handler?: string; readonly id: string }): Promise<readonly InboxAuditEntry[]>;
}

/** What a consumer does with dead letters. */
export interface DeadLetterTable {
  put(message: EventMessage, handler: string, news: DeadNews): Promise<"dead" | "processed">;
  /** Keeps what no handler wants, as often as it comes. */
  putUnhandled(message: EventMessage): Promise<unknown>;
  putUnreadable(raw: Uint8Array, headers: Readonly<Record<string, string>>, error: unknown): Promise<void>;
  has(key: InboxKey): Promise<boolean>;
  replaying(handler: string, limit: number): Promise<readonly InboxDeadLetter[]>;
  /** Handlers whose letters are to be replayed, and how long the first letter of each waits. */
  waiting(): Promise<readonly { readonly handler: string; readonly waitingMs: number }[]>;
  remove(message: EventMessage, handler: string): Promise<void>;
  /** Its letter no longer says more than that it is too old. */
  doubt(key: InboxKey): Promise<unknown>;
  /** Called when something was marked in this process. */
  onReplay(wake: () => void): () => void;
}

/** Not names that a handler can have. */
export const unreadableHandler = "(unreadable)";
export const unhandledHandler = "(unhandled)";
const putTooLate =
  "it was put aside long after it failed, and its time is further back than the inbox remembers: whether it was processed " +
  "meanwhile cannot be told";
const textMax = 1_000;
const errorLengthMax = 8_000;
const auditMax = 1_000;

type Row = Readonly<Record<string, unknown>>;

export function describeError(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
  const cause = error instanceof Error && error.cause !== undefined ? `\ncaused by ${describeError(error.cause)}` : "";
  return (text + cause).replaceAll("\0", "").slice(0, errorLengthMax).toWellFormed();
}

function letterOf(row: Row): InboxDeadLetter {
  const envelope = JSON.parse(textOf(row, "envelope")) as Omit<EventMessage, "payload">;
  return {
    handler: textOf(row, "handler"),
    message: { ...envelope, payload: new Uint8Array(bytesOf(row, "payload")) },
    reason: textOf(row, "reason") as InboxDeadReason,
    error: textOf(row, "error"),
    attempts: numberOf(row, "attempts"),
    sinceMs: numberOf(row, "since_ms"),
    state: textOf(row, "state") as InboxDeadLetter["state"],
  };
}

const decisionNames: OptionNames<InboxDecision> = { handler: true, id: true, actor: true, reason: true };
const queryNames: OptionNames<InboxDeadLetterQuery> = { handler: true, topic: true, limit: true, cursor: true };
const discardNames: OptionNames<Parameters<InboxDeadLetters["discard"]>[0]> = { ...decisionNames, state: true };
const replayNames: OptionNames<InboxReplay> = { ...decisionNames, to: true };

function checkReplay(decision: InboxReplay): void {
  knownOptions("inbox.dead.replay", decision, replayNames);
  checkDecision(decision, textMax);
  const { handler, to } = decision;
  if (to === undefined ? handler === unhandledHandler : !Array.isArray(to) || to.length === 0)
    throw optionInvalid("to", "the names of the handlers that are to run it", to);
  for (const name of to ?? []) checkHandlerName(name);
}

export function createDeadLetters(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
): { readonly dead: InboxDeadLetters; readonly letters: DeadLetterTable } {
  const wakes = new Set<() => void>();
  const inside = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    transactions.run((_tx, handle) => fn(handle));

  async function rowsOf(
    handle: TransactionHandle,
    wanted: { readonly [Name in "handler" | "id" | "topic"]?: string | undefined },
    limit: number,
    after = 0,
  ): Promise<readonly Row[]> {
    const values: Record<string, string | number> = { after, limit };
    for (const name of ["handler", "id", "topic"] as const) {
      values[name] = wanted[name] ?? "";
      values[`any_${name}`] = wanted[name] === undefined ? 1 : 0;
    }
    return (await statements(handle, "listDead", values)).rows;
  }

  /** Letters of the same id with other content are other letters. */
  async function has(handle: TransactionHandle, key: InboxKey): Promise<boolean> {
    return (await statements(handle, "hasDead", { ...key })).rows.length > 0;
  }

  async function marked(handle: TransactionHandle, key: InboxKey): Promise<boolean> {
    try {
      return (await statements(handle, "markDead", { ...key })).affected > 0;
    } catch (error) {
      if (failureOf(error) === "duplicate") return false;
      throw error;
    }
  }

  function store(handle: TransactionHandle, key: InboxKey, message: EventMessage, news: DeadNews): Promise<unknown> {
    const { payload, ...envelope } = message;
    return statements(handle, "putDead", {
      ...key,
      topic: message.topic,
      envelope: JSON.stringify(envelope),
      payload,
      reason: news.reason,
      error: describeError(news.error),
      attempts: news.attempts,
    });
  }

  /** Whether what was sent before took effect: it removed the start, and left a letter or, once discarded, its mark. */
  async function hasLanded(
    handle: TransactionHandle,
    key: InboxKey,
    { start }: NonNullable<DeadNews["again"]>,
  ): Promise<boolean> {
    if (start !== undefined && (await statements(handle, "removeStart", { ...start })).affected > 0) return false;
    if (await has(handle, key)) return true;
    const found = await findOutcome({ statements }, handle, key);
    return found?.outcome === "duplicate" && found.dead;
  }

  const letters: DeadLetterTable = {
    put: (message, handler, news) =>
      inside(async (handle) => {
        const key = keyOf(message, handler);
        // A person may have decided about it meanwhile: it must not be put a second time.
        if (news.again !== undefined && (await hasLanded(handle, key, news.again))) return "dead";
        if (news.reason !== "conflict" && !(await marked(handle, key))) {
          const found = await findOutcome({ statements }, handle, key);
          if (found?.outcome === "duplicate" && !found.dead) return "processed";
        }
        await store(handle, key, message, news);
        await statements(handle, "removeStarts", { handler: key.handler, id: key.id });
        return "dead";
      }),
    putUnhandled: (message) =>
      inside((handle) => {
        const key = { handler: unhandledHandler, id: columnOfId(message.id), print: printOf(message) };
        const error = `no handler wants the topic ${message.topic}`;
        return store(handle, key, message, { reason: "unhandled", error, attempts: 0 });
      }),
    async putUnreadable(raw, headers, error) {
      const id = `sha256:${sha256Hex(Buffer.concat([Buffer.from(JSON.stringify(headers)), Buffer.from([0]), raw]))}`;
      const message = { id, topic: "", source: "", time: "", contentType: "", payload: raw, headers };
      const key = { handler: unreadableHandler, id, print: sha256(raw) };
      await inside((handle) => store(handle, key, message, { reason: "unreadable", error, attempts: 0 }));
    },
    has: (key) => inside((handle) => has(handle, key)),
    replaying: async (handler, limit) =>
      (await inside((handle) => statements(handle, "listReplaying", { handler, limit }))).rows.map(letterOf),
    waiting: async () =>
      (await inside((handle) => statements(handle, "waitingReplays"))).rows.map((row) => ({
        handler: textOf(row, "handler"),
        waitingMs: optionalNumber(row, "waiting_ms") ?? 0,
      })),
    async remove(message, handler) {
      const key = keyOf(message, handler);
      await inside(async (handle) => {
        if ((await statements(handle, "finishDead", { ...key })).affected > 0)
          await statements(handle, "remember", { ...key });
        await statements(handle, "removeStarts", { handler: key.handler, id: key.id });
      });
    },
    doubt: (key) => inside((handle) => statements(handle, "doubtDead", { ...key, error: putTooLate })),
    onReplay(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
  };

  async function note(
    handle: TransactionHandle,
    action: InboxAuditEntry["action"],
    decision: InboxDecision,
    topic: string,
  ): Promise<void> {
    const { handler, actor, reason } = decision;
    await statements(handle, "addAudit", { action, handler, id: columnOfId(decision.id), topic, actor, reason });
  }

  /** Its own handler is done with it; the handlers that are to run it have it as letters of their own. */
  async function handOver(handle: TransactionHandle, row: Row, to: readonly string[]): Promise<boolean> {
    const { handler, message, reason, error, attempts } = letterOf(row);
    const own = { handler, id: textOf(row, "id"), print: bytesOf(row, "print") };
    // Of two people one removes it.
    if ((await statements(handle, "removeDead", own)).affected === 0) return false;
    if (handler !== unhandledHandler) {
      await marked(handle, own);
      await statements(handle, "remember", own);
    }
    for (const name of to) {
      const key = { ...own, handler: name };
      await store(handle, key, message, { reason, error, attempts });
      await statements(handle, "replayDead", { handler: name, id: own.id });
      await statements(handle, "unmarkDead", key);
    }
    return true;
  }

  const dead: InboxDeadLetters = {
    async list(query = {}) {
      knownOptions("inbox.dead.list", query, queryNames);
      const { handler, topic, limit = lettersDefault, cursor = 0 } = query;
      checkLetters(limit);
      const rows = await inside((handle) => rowsOf(handle, { handler, topic }, limit, cursor));
      const last = rows.at(-1);
      return {
        letters: rows.map(letterOf),
        cursor: rows.length < limit || last === undefined ? undefined : numberOf(last, "place"),
      };
    },
    async get({ handler, id }) {
      const [row] = await inside((handle) => rowsOf(handle, { handler, id: columnOfId(id) }, 1));
      return row === undefined ? undefined : letterOf(row);
    },
    async replay(decision) {
      checkReplay(decision);
      const { handler, to } = decision;
      const id = columnOfId(decision.id);
      const answer = await inside(async (handle) => {
        const rows = await rowsOf(handle, { handler, id }, lettersMax);
        const [first] = rows;
        if (first === undefined) return "absent" as const;
        if (handler === unreadableHandler) return "unreadable" as const;
        if (to !== undefined) {
          let moved = false;
          for (const row of rows) moved = (await handOver(handle, row, to)) || moved;
          if (!moved) return "absent" as const;
          await note(handle, "replay", decision, textOf(first, "topic"));
          return "ok" as const;
        }
        // The conditional update decides between two people.
        if ((await statements(handle, "replayDead", { handler, id })).affected === 0) return "already" as const;
        for (const row of rows) await statements(handle, "unmarkDead", { handler, id, print: bytesOf(row, "print") });
        await note(handle, "replay", decision, textOf(first, "topic"));
        return "ok" as const;
      });
      if (answer === "ok") for (const wake of wakes) wake();
      return answer;
    },
    async discard(decision) {
      knownOptions("inbox.dead.discard", decision, discardNames);
      checkDecision(decision, textMax);
      const { handler, state } = decision;
      const id = columnOfId(decision.id);
      const remove = (handle: TransactionHandle, key: InboxKey) =>
        state === undefined
          ? statements(handle, "removeDead", { ...key })
          : statements(handle, "removeDeadIn", { ...key, state });
      return inside(async (handle) => {
        const rows = await rowsOf(handle, { handler, id }, lettersMax);
        let removed = 0;
        for (const row of rows) {
          const print = bytesOf(row, "print");
          const { affected } = await remove(handle, { handler, id, print });
          // Another person lets it run: it stays as that person left it.
          if (affected === 0 && state !== undefined) continue;
          removed += affected;
          // A letter that was, or meanwhile is, to run again must not: its redelivery is a duplicate once more.
          await marked(handle, { handler, id, print });
          await statements(handle, "remember", { handler, id, print });
        }
        const [first] = rows;
        if (first !== undefined && removed === 0 && state !== undefined) return "changed" as const;
        if (first === undefined || removed === 0) return "absent" as const;
        await note(handle, "discard", decision, textOf(first, "topic"));
        return "ok" as const;
      });
    },
    async audit({ handler, id }) {
      const whose = { any_handler: handler === undefined ? 1 : 0, handler: handler ?? "" };
      const values = { ...whose, id: columnOfId(id), limit: auditMax };
      const { rows } = await inside((handle) => statements(handle, "listAudit", values));
      return rows.map((row) => ({
        handler: textOf(row, "handler"),
        action: textOf(row, "action") as InboxAuditEntry["action"],
        actor: textOf(row, "actor"),
        reason: textOf(row, "reason"),
        topic: textOf(row, "topic"),
        atMs: numberOf(row, "at_ms"),
      }));
    },
  };
  return { dead, letters };
}
