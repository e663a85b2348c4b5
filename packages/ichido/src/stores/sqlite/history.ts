/** What a record knows beside its answer: the attempt log, suspected duplicates, resources and the audit. */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AttemptNote,
  AuditLogEntry,
  AuditNote,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  RecordHistory,
  Resource,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import { attemptsKept, isRun, looksAfterBound } from "../../core/record-machine/history.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { checkLimit, intentOf, outcomeOf, placeOf } from "../encoding.ts";
import type { Row } from "./database.ts";
import type { createGate } from "./gate.ts";
import { bytes, identityValues, integer, orNull, text, textOrNull } from "./row.ts";
import type { Session } from "./session.ts";

function resources(session: Session, identity: Identity): Promise<readonly Resource[]> {
  return session.queue.read(() =>
    session.connection
      .all(session.statements.resources, ...identityValues(identity))
      .map((row) => ({ kind: text(row, "kind"), id: text(row, "id") })),
  );
}

type Gate = ReturnType<typeof createGate>;

/** Kind, id, identity three times, bound: the values of `add-resource`, for each. */
export function toldValues(identity: Identity, told: readonly Resource[] = []) {
  const where = identityValues(identity);
  return told.map(({ kind, id }) => [kind, id, ...where, ...where, ...where, limits.resourcesMax] as const);
}

/** Not waited for until it is on the disk: a power cut may cost the newest notes, and nothing depends on them. */
function log(session: Session, batch: AttemptBatch): Promise<readonly SuspectedDuplicate[]> {
  return session.queue.write(() => logLocked(session, batch), { mayBeLost: true });
}

function logLocked(session: Session, batch: AttemptBatch): readonly SuspectedDuplicate[] {
  const { connection, statements } = session;
  const nowUs = session.nowUs();
  const last = connection.get(statements.lastAttempt);
  let place = Math.max(nowUs, last === undefined ? 0 : integer(last, "attempts") + 1);
  let pairPlace = Math.max(nowUs, last === undefined ? 0 : integer(last, "twins") + 1);
  const pairs: SuspectedDuplicate[] = [];
  for (const note of batch.notes) {
    const pair = twinOf(session, note, nowUs, usOf(batch.suspectWithinMs));
    addAttempt(session, batch, note, place, nowUs);
    place += 1;
    if (pair === undefined || pairs.length >= limits.suspectsPerBatchMax) continue;
    const { first, second, apartMs } = pair;
    const values = [first.scopeHash, second.operation, first.key, second.key, usOf(apartMs)] as const;
    if (connection.run(statements.addTwin, pairPlace, ...values) === 1) pairs.push(pair);
    pairPlace += 1;
  }
  return pairs;
}

function addAttempt(session: Session, batch: AttemptBatch, note: AttemptNote, place: number, nowUs: number): void {
  const { connection, statements } = session;
  const where = identityValues(note.identity);
  connection.run(
    statements.addAttempt,
    place,
    ...where,
    note.identity.operation,
    nowUs - usOf(note.agoMs),
    usOf(note.tookMs),
    note.outcome,
    Number(note.observed === true),
    orNull(note.status),
    orNull(note.attempt),
    orNull(note.fence),
    note.number,
    batch.process,
    orNull(batch.release),
    orNull(note.askedBy),
    intentOf(note.canonical),
  );
  // A first run cannot be past the bound.
  if (note.canonical !== undefined || !looksAfterBound(note.number)) return;
  const which = [...where, Number(isRun(note.outcome))] as const;
  connection.run(statements.trimAttempts, ...which, ...which, limits.attemptsPerRecordMax);
}

function twinOf(
  { connection, statements }: Session,
  { identity, canonical, agoMs }: AttemptNote,
  nowUs: number,
  withinUs: number,
): SuspectedDuplicate | undefined {
  const intent = intentOf(canonical);
  if (intent === null || withinUs === 0) return undefined;
  const { key, scopeHash, operation } = identity;
  const atUs = nowUs - usOf(agoMs);
  const row = connection.get(statements.findTwin, intent, scopeHash, key, atUs - withinUs, atUs + withinUs);
  if (row === undefined) return undefined;
  const met = { key: text(row, "key") as Key, scopeHash, operation: text(row, "operation") };
  const ours = { key, scopeHash, operation };
  const apartUs = atUs - integer(row, "at_us");
  const [first, second] = apartUs >= 0 ? [met, ours] : [ours, met];
  return { first, second, apartMs: toMs(Math.abs(apartUs)), atMs: toMs(nowUs) };
}

function attemptOf(row: Row): LoggedAttempt {
  const [release, askedBy] = [textOrNull(row, "release"), textOrNull(row, "asked_by")];
  const whole = (column: "status" | "attempt" | "fence") => row[column] !== null && { [column]: integer(row, column) };
  return {
    record: { key: text(row, "key") as Key, scopeHash: bytes(row, "scope_hash"), operation: text(row, "operation") },
    atMs: toMs(integer(row, "at_us")),
    tookMs: integer(row, "took_us") / 1_000,
    outcome: outcomeOf(row["outcome"]),
    ...(row["observed"] === 1 && { observed: true }),
    ...whole("status"),
    ...whole("attempt"),
    ...whole("fence"),
    number: integer(row, "number"),
    process: text(row, "process"),
    ...(release !== null && { release }),
    ...(askedBy !== null && { askedBy }),
  };
}

function pairOf(row: Row): SuspectedDuplicate {
  const scope = { scopeHash: bytes(row, "scope_hash"), operation: text(row, "operation") };
  return {
    first: { key: text(row, "first_key") as Key, ...scope },
    second: { key: text(row, "second_key") as Key, ...scope },
    apartMs: toMs(integer(row, "apart_us")),
    atMs: toMs(integer(row, "place")),
  };
}

function attempts(session: Session, identity: Identity): Promise<readonly LoggedAttempt[]> {
  return session.queue.read(() =>
    attemptsKept(session.connection.all(session.statements.attempts, ...identityValues(identity)).map(attemptOf)),
  );
}

function twins(session: Session, identity: Identity): Promise<readonly SuspectedDuplicate[]> {
  const where = identityValues(identity);
  return session.queue.read(() => session.connection.all(session.statements.twins, ...where, ...where).map(pairOf));
}

/** A page of what has its place in the order of writing; `place` is a moment, so that a walk may begin at one. */
function walk<Entry>(
  session: Session,
  { statement, column }: { readonly statement: "follow" | "suspects"; readonly column: "attempts" | "twins" },
  query: HistoryQuery,
  entryOf: (row: Row) => Entry,
): Promise<HistoryPage<Entry>> {
  checkLimit(query.limit);
  return session.queue.read(() => {
    const { connection, statements } = session;
    const fromUs = query.fromAgoMs === undefined ? 0 : session.nowUs() - usOf(query.fromAgoMs);
    const after = query.cursor === undefined ? fromUs - 1 : placeOf(query.cursor);
    const rows = connection.all(statements[statement], after, query.limit);
    const last = rows.at(-1);
    const end = connection.get(statements.lastAttempt);
    const place =
      last === undefined ? Math.max(after, end === undefined ? 0 : integer(end, column)) : integer(last, "place");
    const entries = rows.map(entryOf);
    return place > 0 ? { entries, cursor: String(place) } : { entries };
  });
}

function follow(session: Session, query: HistoryQuery): Promise<HistoryPage<LoggedAttempt>> {
  return walk(session, { statement: "follow", column: "attempts" }, query, attemptOf);
}

function suspects(session: Session, query: HistoryQuery): Promise<HistoryPage<SuspectedDuplicate>> {
  return walk(session, { statement: "suspects", column: "twins" }, query, pairOf);
}

/** A key has at least one character, so that none stands for no record. */
const noRecord = ["", new Uint8Array(32)] as const;

function note(session: Session, { identity, actor, action, reason, fence = 0 }: AuditNote): Promise<void> {
  const where = identity === undefined ? noRecord : identityValues(identity);
  return session.queue.write(() => {
    session.connection.run(session.statements.addAudit, ...where, session.nowUs(), actor, action, reason, fence);
  });
}

function auditOf(row: Row): AuditLogEntry {
  const key = text(row, "key") as Key;
  const fence = integer(row, "fence");
  return {
    atMs: toMs(integer(row, "at_us")),
    actor: text(row, "actor"),
    action: text(row, "action"),
    reason: text(row, "reason"),
    ...(fence !== 0 && { fence }),
    ...(key !== "" && { record: { key, scopeHash: bytes(row, "scope_hash") } }),
  };
}

function auditLog(session: Session, query: HistoryQuery): Promise<HistoryPage<AuditLogEntry>> {
  checkLimit(query.limit);
  return session.queue.read(() => {
    const isFirst = query.cursor === undefined;
    const after = query.cursor === undefined ? 0 : placeOf(query.cursor);
    const fromUs = isFirst && query.fromAgoMs !== undefined ? session.nowUs() - usOf(query.fromAgoMs) : 0;
    const rows = session.connection.all(session.statements.auditLog, after, fromUs, query.limit);
    const last = rows.at(-1);
    const cursor = last === undefined ? query.cursor : String(integer(last, "id"));
    return { entries: rows.map(auditOf), ...(cursor !== undefined && { cursor }) };
  });
}

export function createHistoryVerbs(session: Session, gate: Gate): Omit<RecordHistory, "audit" | "forget"> {
  return {
    resources: (identity) => gate.pass(() => resources(session, identity)),
    log: (batch) => gate.pass(() => log(session, batch)),
    attempts: (identity) => gate.pass(() => attempts(session, identity)),
    follow: (query) => gate.pass(() => follow(session, query)),
    twins: (identity) => gate.pass(() => twins(session, identity)),
    suspects: (query) => gate.pass(() => suspects(session, query)),
    note: (entry) => gate.pass(() => note(session, entry)),
    auditLog: (query) => gate.pass(() => auditLog(session, query)),
  };
}
