/** The attempt log, suspected duplicates and the audit of a memory store. They go with the store's process. */
import type {
  AttemptBatch,
  AttemptNote,
  AuditEntry,
  AuditLogEntry,
  LoggedAttempt,
  LogResult,
  RecordHistory,
  RecordName,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import { attemptsKept, looksAfterBound, ownersOf, runOf, withOwnRun } from "../../core/record-machine/history.ts";
import type { ProcessName } from "../../core/record-machine/history.ts";
import { isForgotten } from "../../core/record-machine/forget.ts";
import { namesAny } from "../../core/record-machine/reasons.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { localIdOf } from "../../core/request/scope.ts";
import { followPages } from "../log-walk.ts";
import { pageOfBatch, SuspectSearch } from "../suspects.ts";
import { createJournal, type Journal } from "./journal.ts";
import { createLogPages, type MemoryPages } from "./log-pages.ts";

/** Entries of each journal; past it the oldest go. */
const entriesMax = 100_000;
/** Processes whose names are kept: one, as a rule. */
const processesMax = 1_000;

export interface History {
  readonly attempts: Journal<LoggedAttempt>;
  readonly pages: MemoryPages;
  readonly pairs: Journal<SuspectedDuplicate>;
  readonly audit: Journal<AuditLogEntry>;
  processOf(owners: string): ProcessName | undefined;
  log(batch: AttemptBatch, nowUs: number): Promise<LogResult>;
  /** The record is gone: so is what was asked of it. */
  gone(id: string): void;
  /** As `gone`, and the reasons in its audit are emptied. */
  forget(id: string): void;
}

type Find = (id: string) => StoredRecord | undefined;

export const nameOf = ({ key, scopeHash, operation }: RecordName): RecordName => ({ key, scopeHash, operation });

export function createHistory(find: Find): History {
  const attempts = createJournal<LoggedAttempt>(entriesMax);
  const pages = createLogPages(entriesMax);
  const pairs = createJournal<SuspectedDuplicate>(entriesMax);
  const audit = createJournal<AuditLogEntry>(entriesMax);
  const processes = new Map<string, ProcessName>();
  const search = new SuspectSearch();
  const isErased = (id: string): boolean => isForgotten(find(id)?.response);

  function gone(id: string): void {
    attempts.replace(id, () => undefined);
    pairs.replace(id, () => undefined);
  }

  function add(note: AttemptNote, { process, release }: AttemptBatch, nowUs: number): void {
    const { identity, agoMs, canonical: _, keepMs: __, kept, spreadMs, ...told } = note;
    const id = localIdOf(identity);
    if (kept === true || isErased(id)) return;
    const atMs = toMs(nowUs - usOf(agoMs));
    const last = spreadMs === undefined ? {} : { lastAtMs: Math.floor(atMs + spreadMs) };
    const entry = { ...told, record: nameOf(identity), atMs, ...last, process, ...(release && { release }) };
    attempts.add(entry, nowUs, [id]);
    if (!looksAfterBound(note.number)) return;
    const left = new Set(attemptsKept(attempts.of(id)));
    attempts.replace(id, (each) => (left.has(each) ? each : undefined));
  }

  function addPair(pair: SuspectedDuplicate, nowUs: number): boolean {
    const ids = [localIdOf(pair.first), localIdOf(pair.second)];
    const known = pairs
      .of(ids[0] ?? "")
      .some(({ first, second }) => `${localIdOf(first)}|${localIdOf(second)}` === ids.join("|"));
    if (known || ids.some(isErased)) return false;
    pairs.add(pair, nowUs, ids);
    return true;
  }

  return {
    attempts,
    pages,
    pairs,
    audit,
    processOf: (owners) => processes.get(owners),
    async log(batch, nowUs) {
      const { process, release, owners } = batch;
      if (owners !== undefined && processes.size < processesMax) {
        processes.set(owners, { process, ...(release !== undefined && { release }) });
      }
      const page = pageOfBatch(batch);
      if (page.count === 0) return { pairs: [], more: 0 };
      const place = pages.add(page, nowUs);
      for (const note of batch.notes) add(note, batch, nowUs);
      return search.search(
        batch,
        page,
        { place, writtenMs: toMs(nowUs) },
        {
          since: async () => [],
          page: async (wanted) => pages.page(wanted),
          addPairs: async (found) => found.filter((pair) => addPair(pair, nowUs)),
        },
      );
    },
    gone,
    forget(id) {
      gone(id);
      audit.replace(id, (entry) => ({ ...entry, reason: "" }));
    },
  };
}

export function createHistoryVerbs(
  history: History,
  find: Find,
  nowUs: () => number,
): Omit<RecordHistory, "forget" | "resources"> {
  return {
    log: (batch) => history.log(batch, nowUs()),
    async attempts(identity) {
      const id = localIdOf(identity);
      const record = find(id);
      const run = runOf(record, record && history.processOf(ownersOf(record.owner)));
      return withOwnRun(attemptsKept(history.attempts.of(id)), run);
    },
    follow: (query) => followPages(query, history.pages.walk(nowUs)),
    twins: async (identity) => history.pairs.of(localIdOf(identity)),
    suspects: async (query) => history.pairs.walk(query, nowUs()),
    async note({ identity, ...told }) {
      const now = nowUs();
      const entry = { ...told, atMs: toMs(now) };
      if (identity === undefined) return history.audit.add(entry, now, []);
      const { key, scopeHash } = identity;
      history.audit.add({ ...entry, record: { key, scopeHash } }, now, [localIdOf(identity)]);
    },
    audit: async (identity) => history.audit.of(localIdOf(identity)).map(entryOf),
    auditLog: async (query) => history.audit.walk(query, nowUs()),
    emptyReasons: async (values) =>
      history.audit.change((entry) => (namesAny(entry.reason, values) ? { ...entry, reason: "" } : undefined)),
  };
}

function entryOf(logged: AuditLogEntry): AuditEntry {
  const { record: _record, ...entry } = logged;
  return entry;
}
