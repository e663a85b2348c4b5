/**
 * Sessions share the lanes. A session is one row with a lease; lanes name the session they belong to. The relay that
 * first sees a lapsed session ends it: its row goes, and with it the right to write anything, whatever its process does
 * later. What it held was perhaps what ended its process: those events are marked, and sent in smaller and smaller
 * batches.
 */
import type { TransactionHandle } from "../core/contract/transaction.ts";
import { optionalBytes, numberOf, optionalText, textOf } from "../sql/columns.ts";
import type { Statements, OutboxEvent } from "./database.ts";
import { laneCount } from "./lanes.ts";
import { pauseOf } from "./pause.ts";
import type { Topics } from "./topics.ts";
import { deadLetter, park, SessionLost, setUp } from "./turn.ts";

export interface Session {
  readonly id: string;
  readonly lanes: readonly number[];
}

export interface RenewRequest {
  readonly id: string;
  readonly name: string;
  readonly isNew: boolean;
  readonly leaseMs: number;
  readonly held: readonly number[];
  readonly alone: boolean;
  /** Lanes with events in hand, which cannot be given away yet. */
  readonly busyLanes: ReadonlySet<number>;
  readonly crashesMax: number;
  readonly crashDelayMs: (crashes: number) => number;
}

export interface RenewedSession {
  readonly lanes: readonly number[];
  /** Lanes above this relay's share that were busy: give them away when they are empty. */
  readonly surplus: readonly number[];
  readonly ended: readonly string[];
  readonly quarantined: readonly { readonly seq: number; readonly id: string; readonly topic: string }[];
}

/** How many suspects go together: 25, then 5, then each by itself. */
export function suspectBatchSize(crashes: number): number {
  if (crashes === 0) return Number.POSITIVE_INFINITY;
  return crashes === 1 ? 25 : crashes === 2 ? 5 : 1;
}

const crashNote = "the process ended while this event was being sent";

async function findSuspect(run: Statements, handle: TransactionHandle, seq: number): Promise<OutboxEvent | undefined> {
  const [row] = (await run(handle, "look", { seq })).rows;
  if (row === undefined) return undefined;
  const hash = optionalBytes(row, "key_hash");
  const key = optionalText(row, "message_key");
  const message = { id: textOf(row, "id"), topic: textOf(row, "topic"), ...(key === undefined ? {} : { key }) };
  return {
    seq,
    lane: numberOf(row, "lane"),
    keyHash: hash === undefined ? undefined : Buffer.from(hash).toString("hex"),
    attempts: numberOf(row, "attempts"),
    crashes: numberOf(row, "crashes"),
    noted: true,
    // Only the names are needed to park it or make it a dead letter.
    message: message as OutboxEvent["message"],
  };
}

async function noteCrash(
  run: Statements,
  handle: TransactionHandle,
  topics: Topics,
  request: RenewRequest,
  seq: number,
): Promise<RenewedSession["quarantined"]> {
  const event = await findSuspect(run, handle, seq);
  if (event === undefined) return [];
  const crashes = event.crashes + 1;
  const error = `${crashNote} (${crashes} times)`;
  if (crashes >= request.crashesMax) {
    const parks = topics.find(event.message.topic)?.onDead !== "skip";
    await deadLetter(run, handle, { ...event, crashes }, { reason: "crashed", error, parks });
    return [{ seq, id: event.message.id, topic: event.message.topic }];
  }
  // In a batch it may be innocent; by itself it waits, so that it does not meet every restart.
  const delayMs = suspectBatchSize(event.crashes) > 1 ? null : request.crashDelayMs(crashes);
  const ordered = event.keyHash !== undefined;
  await run(handle, "crash", { seq, error, delay_ms: ordered ? null : delayMs });
  if (ordered && delayMs !== null) await park(run, handle, event, "crashed", error, delayMs);
  return [];
}

async function endLapsed(
  run: Statements,
  handle: TransactionHandle,
  topics: Topics,
  request: RenewRequest,
): Promise<Pick<RenewedSession, "ended" | "quarantined">> {
  const ended: string[] = [];
  const quarantined: RenewedSession["quarantined"][number][] = [];
  for (const row of (await run(handle, "lapsed")).rows) {
    const session = textOf(row, "session");
    if (session === request.id) continue;
    const seqs = textOf(row, "claimed").split(",").filter(Boolean).map(Number);
    if (numberOf(row, "alone") === 1)
      for (const seq of seqs) quarantined.push(...(await noteCrash(run, handle, topics, request, seq)));
    else if (seqs.length > 0) await run(handle, "suspect", { seqs });
    await run(handle, "removeRelay", { session });
    ended.push(session);
  }
  return { ended, quarantined };
}

async function lanesOf(run: Statements, handle: TransactionHandle, session: string): Promise<readonly number[]> {
  return (await run(handle, "ownLanes", { session })).rows.map((row) => numberOf(row, "lane"));
}

async function share(
  run: Statements,
  handle: TransactionHandle,
  { id, busyLanes }: RenewRequest,
): Promise<Pick<RenewedSession, "lanes" | "surplus">> {
  const living = Math.max(1, numberOf((await run(handle, "living")).rows[0] ?? {}, "living"));
  const target = (await pauseOf(run, handle)) === undefined ? Math.ceil(laneCount / living) : 0;
  const own = await lanesOf(run, handle, id);
  if (own.length < target) {
    const free = (await run(handle, "freeLanes", { most: target - own.length })).rows.map((row) =>
      numberOf(row, "lane"),
    );
    if (free.length === 0) return { lanes: own, surplus: [] };
    const { affected } = await run(handle, "takeLanes", { session: id, lanes: free });
    return { lanes: affected === free.length ? [...own, ...free] : await lanesOf(run, handle, id), surplus: [] };
  }
  const idle = own.filter((lane) => !busyLanes.has(lane));
  const given = idle.slice(0, own.length - target);
  if (given.length > 0) await run(handle, "giveLanes", { session: id, lanes: given });
  const kept = own.filter((lane) => !given.includes(lane));
  return { lanes: kept, surplus: kept.slice(0, Math.max(0, kept.length - target)) };
}

export async function renew(
  run: Statements,
  handle: TransactionHandle,
  topics: Topics,
  request: RenewRequest,
): Promise<RenewedSession> {
  const { id, leaseMs, held, alone } = request;
  await setUp(run, handle, leaseMs);
  if (request.isNew) await run(handle, "addRelay", { session: id, name: request.name, lease_ms: leaseMs });
  else {
    const values = { session: id, lease_ms: leaseMs, claimed: held.join(","), alone: alone ? 1 : 0 };
    if ((await run(handle, "hold", values)).affected === 0)
      throw new SessionLost("the relay's session was taken over by another one");
  }
  const past = await endLapsed(run, handle, topics, request);
  return { ...(await share(run, handle, request)), ...past };
}

export async function giveBack(run: Statements, handle: TransactionHandle, session: string): Promise<void> {
  await run(handle, "giveAllLanes", { session });
  await run(handle, "removeRelay", { session });
}
