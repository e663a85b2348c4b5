/** The attempt log, suspected duplicates and the audit of a memory store. They go with the store's process. */
import type {
  AttemptBatch,
  AttemptNote,
  AuditEntry,
  AuditLogEntry,
  LoggedAttempt,
  RecordHistory,
  RecordName,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import { attemptsKept, createIntents, looksAfterBound } from "../../core/record-machine/history.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { localIdOf } from "../../core/request/scope.ts";
import { createJournal, type Journal } from "./journal.ts";
import { textOf } from "./row.ts";

/** Entries of each journal; past it the oldest go. */
const entriesMax = 100_000;

export interface History {
  readonly attempts: Journal<LoggedAttempt>;
  readonly pairs: Journal<SuspectedDuplicate>;
  readonly audit: Journal<AuditLogEntry>;
  log(batch: AttemptBatch, nowUs: number): readonly SuspectedDuplicate[];
  /** The record is gone: so is what was asked of it. */
  gone(id: string): void;
  /** As `gone`, and the reasons in its audit are emptied. */
  forget(id: string): void;
}

export const nameOf = ({ key, scopeHash, operation }: RecordName): RecordName => ({ key, scopeHash, operation });

export function createHistory(): History {
  const attempts = createJournal<LoggedAttempt>(entriesMax);
  const pairs = createJournal<SuspectedDuplicate>(entriesMax);
  const audit = createJournal<AuditLogEntry>(entriesMax);
  const intents = createIntents<RecordName>(entriesMax);

  function suspect(note: AttemptNote, atUs: number, withinMs: number, nowUs: number): SuspectedDuplicate | undefined {
    if (note.canonical === undefined || withinMs === 0) return undefined;
    const record = nameOf(note.identity);
    const met = intents.met(textOf(note.identity.scopeHash) + textOf(note.canonical), record, atUs, usOf(withinMs));
    if (met === undefined) return undefined;
    const pair = { first: met.first, second: met.second, apartMs: toMs(met.apartUs), atMs: toMs(nowUs) };
    pairs.add(pair, nowUs, [localIdOf(pair.first), localIdOf(pair.second)]);
    return pair;
  }

  function gone(id: string): void {
    attempts.replace(id, () => undefined);
    pairs.replace(id, () => undefined);
  }

  return {
    attempts,
    pairs,
    audit,
    log({ process, release, notes, suspectWithinMs }, nowUs) {
      const found: SuspectedDuplicate[] = [];
      for (const note of notes) {
        const { identity, agoMs, canonical: _, keepMs: __, ...told } = note;
        const atUs = nowUs - usOf(agoMs);
        const entry = { ...told, record: nameOf(identity), atMs: toMs(atUs), process, ...(release && { release }) };
        const id = localIdOf(identity);
        attempts.add(entry, nowUs, [id]);
        if (looksAfterBound(note.number)) {
          const kept = new Set(attemptsKept(attempts.of(id)));
          attempts.replace(id, (each) => (kept.has(each) ? each : undefined));
        }
        const pair = suspect(note, atUs, suspectWithinMs, nowUs);
        if (pair !== undefined) found.push(pair);
      }
      return found;
    },
    gone,
    forget(id) {
      gone(id);
      audit.replace(id, (entry) => ({ ...entry, reason: "" }));
    },
  };
}

export function createHistoryVerbs(history: History, nowUs: () => number): Omit<RecordHistory, "forget" | "resources"> {
  return {
    log: async (batch) => history.log(batch, nowUs()),
    attempts: async (identity) => attemptsKept(history.attempts.of(localIdOf(identity))),
    follow: async (query) => history.attempts.walk(query, nowUs()),
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
  };
}

function entryOf(logged: AuditLogEntry): AuditEntry {
  const { record: _record, ...entry } = logged;
  return entry;
}
