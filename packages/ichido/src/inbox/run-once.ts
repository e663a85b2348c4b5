/**
 * A handler whose effects are in the inbox's own database. The message's row is the first write of the handler's
 * transaction: both are committed or neither is, so a message that was seen was also processed.
 */
import type { EventMessage } from "../brokers/message.ts";
import { printOf } from "../brokers/print.ts";
import type { Environment, Timer } from "../core/contract/environment.ts";
import { isIchidoError } from "../core/contract/errors.ts";
import { CommitFailed, type TransactionHandle, type TransactionRunner } from "../core/contract/transaction.ts";
import { aborted } from "../transactions/handle.ts";
import { failureOf, schemaMissing, unavailable } from "../sql/failures.ts";
import { checkHandlerName, columnOfId } from "./identity.ts";
import { numberOf, optionalNumber } from "../sql/columns.ts";
import type { Statements } from "./statement.ts";

export type InboxOutcome =
  /** The handler ran, and its writes are committed. */
  | "processed"
  /** It ran before, or is a dead letter: acknowledge. */
  | "duplicate"
  /** Another attempt is at work: deliver again later. */
  | "busy"
  /** The same id came before with other content. Nothing ran. */
  | "conflict";

export interface InboxResult {
  readonly outcome: InboxOutcome;
  /**
   * With `busy`: an earlier attempt of `inbox.run` vanished, and `onUnknown` does not let the handler run again.
   * With `conflict`: the event is older than the retention, and may have been processed and forgotten. Nothing ran.
   */
  readonly reason?: "outcome-unknown" | "too-old";
  /** With `duplicate`: it was put aside as a dead letter, and not processed. */
  readonly dead?: boolean;
}

export interface OnceContext {
  /** For `outbox.add(handle, …)` and guards: follow-ups commit with the message. */
  readonly handle: TransactionHandle;
  readonly message: EventMessage;
  /** 1 for the first. A process that died takes its count with it. */
  readonly attempt: number;
}

export type OnceHandler<Tx> = (tx: Tx, context: OnceContext) => unknown;

export interface InboxKey {
  readonly handler: string;
  readonly id: string;
  readonly print: Uint8Array;
}

export function keyOf(message: EventMessage, handler: string): InboxKey {
  return { handler: checkHandlerName(handler), id: columnOfId(message.id), print: printOf(message) };
}

export interface OnceParts<Tx> {
  readonly transactions: TransactionRunner<Tx>;
  readonly statements: Statements;
  readonly waitMs: number;
  readonly environment: Environment;
}

/** Deadlocks among several that waited for one row; each time at least one of them got on. */
const triesMax = 4;

/** `behind`: another message of its key waits, and this one was left alone. */
type Taken = "taken" | "again" | "behind" | Exclude<InboxOutcome, "processed">;

const byNumber: Readonly<Record<number, Taken>> = { 3: "behind", 2: "taken", 1: "duplicate", 0: "conflict" };

/** What was committed before; undefined: nothing. */
export async function findOutcome(
  { statements }: Pick<OnceParts<never>, "statements">,
  handle: TransactionHandle,
  key: InboxKey,
): Promise<{ readonly outcome: "duplicate" | "conflict"; readonly dead: boolean } | undefined> {
  const { rows } = await statements(handle, "find", { ...key });
  const [row] = rows;
  if (row === undefined) return undefined;
  return { outcome: numberOf(row, "same") === 1 ? "duplicate" : "conflict", dead: numberOf(row, "dead") === 1 };
}

export function resultOf(found: NonNullable<Awaited<ReturnType<typeof findOutcome>>>): InboxResult {
  return found.dead && found.outcome === "duplicate" ? found : { outcome: found.outcome };
}

/** The same by itself, where it is not known whether there is anything to be done. */
export async function lookUp<Tx>(
  { transactions, statements }: Pick<OnceParts<Tx>, "transactions" | "statements">,
  key: InboxKey,
): ReturnType<typeof findOutcome> {
  const { dialect, ask } = transactions;
  try {
    return await (ask === undefined
      ? transactions.run((_tx, handle) => findOutcome({ statements }, handle, key), { opensByHandle: true })
      : findOutcome({ statements }, { dialect, execute: ask }, key));
  } catch (error) {
    throw failureOf(error) === "no-table"
      ? schemaMissing(error)
      : unavailable("the inbox's database cannot be reached", error);
  }
}

async function isWaitedIn<Tx>(
  { statements }: OnceParts<Tx>,
  handle: TransactionHandle,
  { handler }: InboxKey,
  line: Uint8Array,
): Promise<boolean> {
  const { rows } = await statements(handle, "countLine", { handler, line, limit: 1 });
  return rows[0] !== undefined && numberOf(rows[0], "waiting") > 0;
}

async function take<Tx>(
  parts: OnceParts<Tx>,
  handle: TransactionHandle,
  key: InboxKey,
  line?: Uint8Array,
): Promise<Taken> {
  const { statements, waitMs } = parts;
  const values = { ...key, wait_ms: String(waitMs) };
  const asOne = line !== undefined && handle.dialect === "postgres";
  if (line !== undefined && !asOne && (await isWaitedIn(parts, handle, key, line))) return "behind";
  try {
    const { rows, affected } = await (asOne
      ? statements(handle, "insertInLine", { ...values, line })
      : statements(handle, "insert", values));
    const [row] = rows;
    // PostgreSQL answers all in one row.
    if (row !== undefined) return byNumber[optionalNumber(row, "taken") ?? -1] ?? "again";
    if (affected > 0) return "taken";
  } catch (error) {
    if (failureOf(error) !== "duplicate") throw error;
  }
  // Nothing there any more: swept in between.
  return (await findOutcome(parts, handle, key))?.outcome ?? "again";
}

/**
 * Of a message that was processed elsewhere. An attempt that put it aside meanwhile had lost its lease: its letter
 * goes.
 */
export function noteProcessed<Tx>(parts: OnceParts<Tx>, key: InboxKey): Promise<unknown> {
  const { transactions, statements } = parts;
  return transactions.run(async (_tx, handle) => {
    if ((await take(parts, handle, key)) === "taken") return;
    if ((await statements(handle, "unmarkDead", { ...key })).affected === 0) return;
    await take(parts, handle, key);
    await statements(handle, "withdrawDead", { ...key });
  });
}

/** A handler's error on a connection that is gone says nothing about the message. */
async function isLost(handle: TransactionHandle): Promise<boolean> {
  if (handle.dialect === "sqlite") return false;
  try {
    await handle.execute("select 1 as alive", []);
    return false;
  } catch (error) {
    return failureOf(error) === undefined && !(error instanceof TypeError) && !isIchidoError(error);
  }
}

/**
 * PostgreSQL answers COMMIT without an error after a statement failed and the handler caught it, and undoes everything.
 * The server is asked: what a driver knows of the state may be older than the error that was just caught.
 */
async function requireWhole(transactions: TransactionRunner<never>, handle: TransactionHandle): Promise<void> {
  if (handle.dialect !== "postgres" || transactions.refusesAborted === true) return;
  try {
    await handle.execute("select 1 as alive", []);
  } catch (cause) {
    throw aborted(cause);
  }
}

export interface OnceRequest<Tx> {
  readonly key: InboxKey;
  readonly handler: OnceHandler<Tx>;
  readonly context: Omit<OnceContext, "handle">;
  /** Only where nothing of this line waits. */
  readonly line?: Uint8Array;
}

/** `behind` where a line was given, and something waits in it. */
export async function runInLine<Tx>(
  parts: OnceParts<Tx>,
  request: OnceRequest<Tx>,
): Promise<InboxResult | { readonly outcome: "behind" }> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await runInTime(parts, request);
    if (outcome !== "again") return { outcome };
    if (tries >= triesMax) return { outcome: "busy" };
  }
}

export async function runOnce<Tx>(parts: OnceParts<Tx>, request: Omit<OnceRequest<Tx>, "line">): Promise<InboxResult> {
  return (await runInLine(parts, request)) as InboxResult;
}

type Phase = "reaching" | "taking" | "handling" | "ending";
class Late extends Error {}

/**
 * MySQL cannot bound the wait of one statement: there the caller gets `busy` in time, and the transaction that still
 * waits for the row is undone once it gets it.
 */
async function runInTime<Tx>(
  parts: OnceParts<Tx>,
  { key, handler, context, line }: OnceRequest<Tx>,
): Promise<InboxOutcome | "again" | "behind"> {
  const { transactions, waitMs, environment } = parts;
  let phase: Phase = "reaching";
  let timer: Timer | undefined;
  let late = false;
  let tellLate: (outcome: "busy") => void = () => {};
  const inTime = new Promise<"busy">((resolve) => {
    tellLate = resolve;
  });

  async function body(tx: Tx, handle: TransactionHandle): Promise<InboxOutcome | "again" | "behind"> {
    phase = "taking";
    if (handle.dialect === "mysql") {
      const tell = (): void => {
        late = true;
        tellLate("busy");
      };
      timer = environment.after(waitMs, tell, { hold: true });
    }
    const taken = await take(parts, handle, key, line);
    timer?.cancel();
    if (late) throw new Late();
    if (taken !== "taken") return taken;
    phase = "handling";
    try {
      await handler(tx, { ...context, handle });
      await requireWhole(transactions as TransactionRunner<never>, handle);
    } catch (error) {
      if (await isLost(handle)) throw unavailable("the connection was lost while the handler ran", error);
      throw error;
    }
    phase = "ending";
    return "processed";
  }

  const run = transactions.run(body, { opensByHandle: true, leavesOne: true }).catch((error: unknown) => {
    timer?.cancel();
    if (late) return "busy" as const;
    return afterFailure(parts, key, phase, error);
  });
  return transactions.dialect === "mysql" ? Promise.race([run, inTime]) : run;
}

async function afterFailure<Tx>(
  parts: OnceParts<Tx>,
  key: InboxKey,
  phase: Phase,
  error: unknown,
): Promise<InboxOutcome | "again"> {
  if (phase === "handling") throw isShared(error) ? unavailable("a commit that others share failed", error) : error;
  if (phase === "ending") return afterCommit(parts, key, error);
  // A commit of nothing that failed: the message is where it was.
  const failure = failureOf(error instanceof CommitFailed ? error.cause : error);
  if (failure === "locked") return "busy";
  if (failure === "again" && phase === "taking") return "again";
  if (failure === "no-table") throw schemaMissing(error);
  if (isIchidoError(error) && !(error instanceof CommitFailed)) throw error;
  throw unavailable(
    phase === "reaching" ? "the inbox's database cannot be reached" : "the message could not be taken",
    error,
  );
}

function isShared(error: unknown): boolean {
  return error instanceof CommitFailed && error.shared;
}

/** Whether COMMIT took effect is asked on another connection. */
async function afterCommit<Tx>(parts: OnceParts<Tx>, key: InboxKey, error: unknown): Promise<"processed"> {
  if (!(error instanceof CommitFailed)) {
    const isWord = failureOf(error) !== undefined || error instanceof TypeError || isIchidoError(error);
    throw isWord ? error : unavailable("the connection was lost while the handler ran", error);
  }
  let found: Awaited<ReturnType<typeof findOutcome>>;
  try {
    found = await parts.transactions.run((_tx, handle) => findOutcome(parts, handle, key));
  } catch (unasked) {
    throw unavailable("COMMIT was sent, and whether it took effect cannot be asked", unasked);
  }
  if (found?.outcome === "duplicate") return "processed";
  // The server's own refusal, such as a deferred constraint, is the handler's fault, unless it may be the fault of
  // another transaction that shared the commit; a lost connection is no handler's fault.
  if (!isShared(error) && failureOf(error.cause) !== undefined) throw error.cause;
  throw unavailable("COMMIT was sent on a connection that was lost, and is not seen to have taken effect", error);
}
