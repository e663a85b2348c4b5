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
  LogResult,
  RecordHistory,
  Resource,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import { forgottenLine } from "../../core/record-machine/forget.ts";
import {
  attemptsKept,
  isRun,
  looksAfterBound,
  ownersOf,
  runOf,
  withOwnRun,
  type ProcessName,
} from "../../core/record-machine/history.ts";
import type { WrittenPage } from "../../core/record-machine/log-page.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { checkLimit, encodeHeaders, outcomeOf, placeOf } from "../encoding.ts";
import { followPages } from "../log-walk.ts";
import { bytesOfWords, pageOfBatch, pagesMax, SuspectSearch, type LogPages } from "../suspects.ts";
import type { Row } from "./database.ts";
import type { createGate } from "./gate.ts";
import { find } from "./inspect.ts";
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
const mayBeLost = { mayBeLost: true };
const forgottenHeaders = encodeHeaders([forgottenLine]);

async function log(session: Session, search: SuspectSearch, batch: AttemptBatch): Promise<LogResult> {
  const page = pageOfBatch(batch);
  if (page.count === 0) return { pairs: [], more: 0 };
  const place = await session.queue.write(() => logLocked(session, batch, page), mayBeLost);
  return search.search(batch, page, { place, writtenMs: toMs(place) }, pagesOf(session));
}

function logLocked(session: Session, batch: AttemptBatch, page: WrittenPage): number {
  const { connection, statements } = session;
  const { process, release, owners, notes } = batch;
  const nowUs = session.nowUs();
  const last = connection.get(statements.lastAttempt);
  const after = (column: "attempts" | "pages"): number =>
    Math.max(nowUs, last === undefined ? 0 : integer(last, column) + 1);
  const pagePlace = after("pages");
  connection.run(
    statements.addPage,
    pagePlace,
    process,
    nowUs + usOf(page.keepMs),
    bytesOfWords(page.intents),
    page.bytes,
  );
  if (owners !== undefined) connection.run(statements.noteProcess, owners, process, orNull(release), nowUs);
  let place = after("attempts");
  for (const note of notes) {
    if (note.kept === true) continue;
    addAttempt(session, batch, note, place, nowUs);
    place += 1;
  }
  return pagePlace;
}

function addAttempt(session: Session, batch: AttemptBatch, note: AttemptNote, place: number, nowUs: number): void {
  const { connection, statements } = session;
  const where = identityValues(note.identity);
  const atUs = nowUs - usOf(note.agoMs);
  connection.run(
    statements.addAttempt,
    place,
    ...where,
    note.identity.operation,
    atUs,
    usOf(note.tookMs),
    note.outcome,
    Number(note.observed === true),
    orNull(note.status),
    orNull(note.attempt),
    orNull(note.fence),
    note.number,
    note.count ?? 1,
    atUs + usOf(note.spreadMs ?? 0),
    batch.process,
    orNull(batch.release),
    orNull(note.askedBy),
    ...where,
    forgottenHeaders,
  );
  if (!looksAfterBound(note.number)) return;
  const which = [...where, Number(isRun(note.outcome))] as const;
  connection.run(statements.trimAttempts, ...which, ...which, limits.attemptsPerRecordMax);
}

function pagesOf(session: Session): LogPages {
  const { connection, statements, queue } = session;
  return {
    since: (sinceMs, process) =>
      queue.read(() =>
        connection.all(statements.pagesSince, usOf(Math.max(0, sinceMs)), process, pagesMax).map((row) => {
          const place = integer(row, "place");
          return { place, writtenMs: toMs(place), intents: bytes(row, "intents") };
        }),
      ),
    page: (place) =>
      queue.read(() => {
        const row = connection.get(statements.page, place);
        return row === undefined ? undefined : bytes(row, "notes");
      }),
    addPairs: (pairs) => queue.write(() => pairs.filter((pair) => addPairLocked(session, pair)), mayBeLost),
  };
}

function addPairLocked({ connection, statements, nowUs }: Session, pair: SuspectedDuplicate): boolean {
  const { scopeHash, operation, key: first } = pair.first;
  const second = pair.second.key;
  const last = connection.get(statements.lastAttempt);
  const place = Math.max(nowUs(), last === undefined ? 0 : integer(last, "twins") + 1);
  const told = [place, scopeHash, operation, first, second, usOf(pair.apartMs)] as const;
  return connection.run(statements.addTwin, ...told, first, second, scopeHash, forgottenHeaders) === 1;
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
    ...(integer(row, "count") > 1 && { count: integer(row, "count"), lastAtMs: toMs(integer(row, "last_us")) }),
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

async function attempts(session: Session, identity: Identity): Promise<readonly LoggedAttempt[]> {
  const { connection, statements, queue } = session;
  const record = await find(session, identity);
  return queue.read(() => {
    const logged = attemptsKept(connection.all(statements.attempts, ...identityValues(identity)).map(attemptOf));
    const by = record === undefined ? undefined : connection.get(statements.findProcess, ownersOf(record.owner));
    return withOwnRun(logged, runOf(record, by === undefined ? undefined : processOf(by)));
  });
}

function processOf(row: Row): ProcessName {
  const release = textOrNull(row, "release");
  return { process: text(row, "process"), ...(release !== null && { release }) };
}

function twins(session: Session, identity: Identity): Promise<readonly SuspectedDuplicate[]> {
  const where = identityValues(identity);
  return session.queue.read(() => session.connection.all(session.statements.twins, ...where, ...where).map(pairOf));
}

/** A page of pairs; `place` is a moment, so that a walk may begin at one. */
function suspects(session: Session, query: HistoryQuery): Promise<HistoryPage<SuspectedDuplicate>> {
  checkLimit(query.limit);
  return session.queue.read(() => {
    const { connection, statements } = session;
    const fromUs = query.fromAgoMs === undefined ? 0 : session.nowUs() - usOf(query.fromAgoMs);
    const after = query.cursor === undefined ? fromUs - 1 : placeOf(query.cursor);
    const rows = connection.all(statements.suspects, after, query.limit);
    const last = rows.at(-1);
    const end = connection.get(statements.lastAttempt);
    const place =
      last === undefined ? Math.max(after, end === undefined ? 0 : integer(end, "twins")) : integer(last, "place");
    const entries = rows.map(pairOf);
    return place > 0 ? { entries, cursor: String(place) } : { entries };
  });
}

/** `place` is a moment, so that a walk may begin at one. */
function follow(session: Session, query: HistoryQuery): Promise<HistoryPage<LoggedAttempt>> {
  const { connection, statements, queue } = session;
  return followPages(query, {
    begin: (fromAgoMs) =>
      queue.read(() => {
        const end = connection.get(statements.lastAttempt);
        const last = end === undefined ? 0 : integer(end, "pages");
        const from = fromAgoMs === undefined ? 0 : Math.max(0, session.nowUs() - usOf(fromAgoMs) - 1);
        return { from: String(from), end: last === 0 ? undefined : String(Math.max(from, last)) };
      }),
    after: (token, most) =>
      queue.read(() =>
        connection.all(statements.follow, placeOf(token), most).map((row) => {
          const place = integer(row, "place");
          return { token: String(place), writtenMs: toMs(place), bytes: bytes(row, "notes") };
        }),
      ),
  });
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

export function createHistoryVerbs(
  session: Session,
  gate: Gate,
): Omit<RecordHistory, "audit" | "emptyReasons" | "forget"> {
  const search = new SuspectSearch();
  return {
    resources: (identity) => gate.pass(() => resources(session, identity)),
    log: (batch) => gate.pass(() => log(session, search, batch)),
    attempts: (identity) => gate.pass(() => attempts(session, identity)),
    follow: (query) => gate.pass(() => follow(session, query)),
    twins: (identity) => gate.pass(() => twins(session, identity)),
    suspects: (query) => gate.pass(() => suspects(session, query)),
    note: (entry) => gate.pass(() => note(session, entry)),
    auditLog: (query) => gate.pass(() => auditLog(session, query)),
  };
}
