/**
 * One turn of a relay in the database, one transaction: what became of events is written, the next ones are read, and the
 * session's lease is renewed with the list of what it now holds. The last statement is the fence: a session that was
 * taken over has no row, and the whole turn is undone.
 */
import type { TransactionHandle, TransactionResult, TransactionRunner } from "../core/contract/transaction.ts";
import { outboxEventOf, type OutboxDeadLetter, type OutboxEvent, type Statements } from "./database.ts";
import { optionalNumber } from "../sql/columns.ts";
import type { Values } from "../sql/statement.ts";

interface Verdict {
  readonly reason: OutboxDeadLetter["reason"];
  readonly error: string;
  readonly parks: boolean;
}

export type Outcome = { readonly event: OutboxEvent } & (
  | { readonly kind: "sent" }
  | { readonly kind: "rejected" | "postponed"; readonly error: string; readonly delayMs: number }
  | ({ readonly kind: "dead" } & Verdict)
);

export interface Turn {
  readonly session: string;
  readonly leaseMs: number;
  readonly outcomes: readonly Outcome[];
  /** What the relay still holds, besides what it now reads. */
  readonly held: readonly number[];
  /** Exactly the held ones are about to be sent, by themselves: one of them may end the process. */
  readonly alone: boolean;
  readonly claim?: {
    readonly floor: number;
    readonly lanes: readonly number[];
    readonly pausedTopics: readonly string[];
    /** Hashes of keys of which enough is in its hands, in hex. */
    readonly fullKeys: readonly string[];
    /** Hashes of keys of which nothing waits at or below the floor, in hex. */
    readonly passedKeys: readonly string[];
    readonly batch: number;
  };
  readonly keepsSent: boolean;
}

/** The session ended: others may have its lanes. */
export class SessionLost extends Error {
  override readonly name: string = "SessionLost";
}

const errorLengthMax = 2_000;

/** No NUL: PostgreSQL has none in texts. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll("\0", "").slice(0, errorLengthMax);
}

const bytesOfHex = (hex: string): Buffer => Buffer.from(hex, "hex");

export function keyBytes(event: Pick<OutboxEvent, "keyHash">): Buffer {
  return bytesOfHex(event.keyHash ?? "");
}

export async function park(
  run: Statements,
  handle: TransactionHandle,
  event: OutboxEvent,
  reason: string,
  error: string,
  delayMs: number | null,
): Promise<void> {
  await run(handle, "park", {
    key_hash: keyBytes(event),
    topic: event.message.topic,
    message_key: event.message.key ?? "",
    seq: event.seq,
    delay_ms: delayMs,
    reason,
    error,
  });
}

export async function deadLetter(
  run: Statements,
  handle: TransactionHandle,
  event: OutboxEvent,
  verdict: Verdict,
): Promise<void> {
  const { attempts, crashes, seq } = event;
  await run(handle, "deadLetter", { seq, reason: verdict.reason, error: verdict.error, attempts, crashes });
  const { affected } = await run(handle, "ack", { seqs: [seq] });
  // Gone: an earlier turn whose commit went unanswered buried it, or another relay sent it. Parking its key now would
  // leave a key that no person can free, for there is no dead letter to decide about.
  if (affected === 0) return;
  if (event.keyHash === undefined) return;
  if (verdict.parks) await park(run, handle, event, "dead", verdict.error, null);
  else await run(handle, "unpark", { key_hash: keyBytes(event), seq });
}

async function write(run: Statements, handle: TransactionHandle, { outcomes, keepsSent }: Turn): Promise<void> {
  const sent = outcomes.filter(({ kind }) => kind === "sent").map(({ event }) => event);
  if (sent.length > 0) {
    const seqs = sent.map(({ seq }) => seq);
    if (keepsSent) await run(handle, "keepSent", { seqs });
    await run(handle, "ack", { seqs });
    for (const event of sent) {
      if (event.keyHash !== undefined && event.noted)
        await run(handle, "unpark", { key_hash: keyBytes(event), seq: event.seq });
    }
  }
  for (const outcome of outcomes) {
    const { event } = outcome;
    if (outcome.kind === "sent") continue;
    if (outcome.kind === "dead") {
      await deadLetter(run, handle, event, outcome);
      continue;
    }
    const ordered = event.keyHash !== undefined;
    const { error, delayMs } = outcome;
    const values = { seq: event.seq, error, delay_ms: ordered ? null : delayMs };
    if (outcome.kind === "rejected") await run(handle, "fail", { ...values, attempts: event.attempts });
    else await run(handle, "postpone", values);
    if (ordered) await park(run, handle, event, outcome.kind, error, delayMs);
  }
}

/**
 * MySQL has no bound for an idle transaction, and on SQLite a process that froze inside one stops all writers anyway.
 */
export async function setUp(run: Statements, handle: TransactionHandle, leaseMs: number): Promise<void> {
  if (handle.dialect === "postgres") await run(handle, "settings", { lease_ms: leaseMs });
}

const lost = (): SessionLost => new SessionLost("the relay's session was taken over by another one");

/** Whether one statement can do it all: nothing to count, to park or to keep. */
function isPlain({ outcomes, alone, keepsSent }: Turn): boolean {
  return !alone && !keepsSent && outcomes.every(({ kind, event }) => kind === "sent" && !event.noted);
}

function claimValues({ held, outcomes }: Turn, claim: NonNullable<Turn["claim"]>): Values {
  return {
    floor: claim.floor,
    lanes: claim.lanes,
    // Not what was refused: where its wait is over by now, what stands behind it would be read without it and pass it.
    claimed: [...held, ...outcomes.flatMap(({ kind, event }) => (kind === "sent" ? [event.seq] : []))],
    topics: claim.pausedTopics,
    full_keys: claim.fullKeys.map(bytesOfHex),
    passed_keys: claim.passedKeys.map(bytesOfHex),
    batch: claim.batch,
  };
}

function turnValues(turn: Turn, claim: NonNullable<Turn["claim"]>): Values {
  return {
    ...claimValues(turn, claim),
    seqs: turn.outcomes.map(({ event }) => event.seq),
    session: turn.session,
    lease_ms: turn.leaseMs,
    held: turn.held.join(","),
  };
}

function foundIn({ rows }: Pick<TransactionResult, "rows">): readonly OutboxEvent[] {
  if (rows.length === 0) throw lost();
  return rows.filter((row) => optionalNumber(row, "seq") !== undefined).map(outboxEventOf);
}

export function takeTurn(
  run: Statements,
  transactions: TransactionRunner<unknown>,
  turn: Turn,
): Promise<readonly OutboxEvent[]> {
  const claim = turn.claim?.lanes.length === 0 ? undefined : turn.claim;
  if (claim !== undefined && transactions.dialect === "postgres" && isPlain(turn)) {
    const values = turnValues(turn, claim);
    const steps = async (_tx: unknown, handle: TransactionHandle): Promise<readonly OutboxEvent[]> => {
      await setUp(run, handle, turn.leaseMs);
      return foundIn(await run(handle, "turn", values));
    };
    return transactions.run(steps, { opensByHandle: true });
  }
  return transactions.run((_tx, handle) => takeInSteps(run, handle, turn, claim), { unwatched: true });
}

async function takeInSteps(
  run: Statements,
  handle: TransactionHandle,
  turn: Turn,
  claim: Turn["claim"],
): Promise<readonly OutboxEvent[]> {
  await setUp(run, handle, turn.leaseMs);
  await write(run, handle, turn);
  const found =
    claim === undefined ? [] : (await run(handle, "claim", claimValues(turn, claim))).rows.map(outboxEventOf);
  const { affected } = await run(handle, "hold", {
    session: turn.session,
    lease_ms: turn.leaseMs,
    claimed: [...turn.held, ...found.map(({ seq }) => seq)].join(","),
    alone: turn.alone ? 1 : 0,
  });
  if (affected === 0) throw lost();
  return found;
}
