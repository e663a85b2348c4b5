/**
 * What a record knows beside its answer: who asked and what they got, what it made, which other key may stand for the
 * same intent, and what people did about it. None of it decides anything about a request: it is for the person on call.
 */
import type { RequestOutcome } from "./events.ts";
import type { Identity } from "./record.ts";

/** As much of an identity as finds a record again: neither tenant nor principal is written a second time. */
export type RecordName = Pick<Identity, "key" | "scopeHash" | "operation">;

/** What an operation made, by the names that your own tables and your provider have for it. */
export interface Resource {
  /** `payment`, `order`, `charge`: 1 to 64 characters. */
  readonly kind: string;
  /** 1 to 255 characters. */
  readonly id: string;
}

/** One request, as the engine that answered it hands it over. Times are durations, counted back from the call. */
export interface AttemptNote {
  readonly identity: Identity;
  /** Counts the attempts of its process: the same number again is a copy, sent after a reply was lost. */
  readonly number: number;
  /** The word that metrics have for it. */
  readonly outcome: RequestOutcome;
  /** In observe mode: what it would have been; the handler ran. */
  readonly observed?: true;
  /** How long ago it was asked. */
  readonly agoMs: number;
  readonly tookMs: number;
  /** It stands for so many equal answers of one record; absent: for itself. The first of them is told. */
  readonly count?: number;
  /** How much later than the first the last of them was asked. */
  readonly spreadMs?: number;
  readonly status?: number;
  /** Where the handler ran. */
  readonly attempt?: number;
  readonly fence?: number;
  /** What the option `attemptLog.askedBy` told of the caller, beside tenant and principal. */
  readonly askedBy?: string;
  /** The record tells of this run by itself: who follows the log sees it, `attempts` has it from the record. */
  readonly kept?: true;
  /** The canonical hash, where the handler ran for the first time under this key: another key may have the same. */
  readonly canonical?: Uint8Array;
  /** The retention of its route: a store without a sweeper of its own may let the note go after that. */
  readonly keepMs: number;
}

/** Notes as the bytes that a store keeps for `follow` (`log-page.ts`). */
export interface PackedNotes {
  readonly count: number;
  readonly notes: Uint8Array;
  /** Of first runs: by which another key with the same content is found. */
  readonly intents: Uint32Array;
  readonly operations: readonly string[];
  /** How long ago the zero of their times was. */
  readonly agoMs: number;
  /** The longest of the notes. */
  readonly keepMs: number;
}

export interface AttemptBatch {
  /** Names the process that answered, as long as it lives. */
  readonly process: string;
  /** What the option `release` says. */
  readonly release?: string;
  /** How the owner tokens of this process begin: so a record tells who ran it. */
  readonly owners?: string;
  readonly notes: readonly AttemptNote[];
  /** First runs that their records tell of by themselves. */
  readonly runs?: PackedNotes;
  /** Two keys whose first runs lie no further apart are suspected. 0: none is looked for. */
  readonly suspectWithinMs: number;
}

export interface LogResult {
  readonly pairs: readonly SuspectedDuplicate[];
  /** Pairs beyond the bound: counted, not noted. */
  readonly more: number;
}

/** `number` is 0 where the record tells of its run by itself. */
export interface LoggedAttempt extends Omit<
  AttemptNote,
  "identity" | "canonical" | "agoMs" | "keepMs" | "kept" | "spreadMs"
> {
  readonly record: RecordName;
  /** When it was asked, by the store's clock; the first of `count`. */
  readonly atMs: number;
  /** When the last of `count` was asked. */
  readonly lastAtMs?: number;
  readonly process: string;
  readonly release?: string;
}

/** Two keys of one caller (tenant, principal) for one operation, with the same content, within minutes. */
export interface SuspectedDuplicate {
  /** The key that ran first. */
  readonly first: RecordName;
  /** The one that ran `apartMs` later. */
  readonly second: RecordName;
  readonly apartMs: number;
  /** When the second was noted. */
  readonly atMs: number;
}

/** What a person, or a program in a person's name, did. */
export interface AuditNote {
  /** Absent: it was about no single record. */
  readonly identity?: RecordName;
  readonly fence?: number;
  readonly actor: string;
  /** `settle` writes `adopt`, `release` and `hold`, `forget` writes `forget`; others choose a word of 1 to 16 letters. */
  readonly action: string;
  readonly reason: string;
}

export interface AuditEntry {
  readonly atMs: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  /** The fence that was looked at, where it was about a record. */
  readonly fence?: number;
}

export interface AuditLogEntry extends AuditEntry {
  readonly record?: Omit<RecordName, "operation">;
}

/** A walk from old to new. The cursor of a page is where the next one begins, also when nothing is there yet. */
export interface HistoryQuery {
  /** At most 1000. */
  readonly limit: number;
  /** From the previous page. */
  readonly cursor?: string;
  /** Without a cursor: begins with what is no older than this. */
  readonly fromAgoMs?: number;
}

export interface HistoryPage<Entry> {
  readonly entries: readonly Entry[];
  /** Absent where nothing was ever written. */
  readonly cursor?: string;
}

/** Only what nobody works at and nobody has to find out about can be forgotten. */
export interface ForgetRequest {
  readonly identity: Identity;
  /** As it was looked at. */
  readonly fence: number;
  readonly actor: string;
  readonly reason: string;
}

/** `live`: an owner is at work. `unknown`: its outcome is in doubt; settle it first. `forgotten`: it was already. */
export type ForgetResult = "ok" | "absent" | "stale" | "live" | "unknown" | "forgotten";

/** The verbs of a store that are about what a record knows. */
export interface RecordHistory {
  /** What the operation made, in the order in which it was told. */
  resources(identity: Identity): Promise<readonly Resource[]>;

  /**
   * Writes a batch; answers the suspected duplicates that it shows. One that is sent again is written again: `attempts`
   * leaves the copies out, in `follow` the numbers of the notes show them. What is about a forgotten record is left out.
   */
  log(batch: AttemptBatch): Promise<LogResult>;
  /**
   * From old to new: of runs, and of all other answers, the last `limits.attemptsPerRecordMax` each. The one run of a
   * record that was completed at the first attempt is told by the record, whether or not anything was logged.
   */
  attempts(identity: Identity): Promise<readonly LoggedAttempt[]>;
  /** All records' attempts as they are written, without what `askedBy` told. */
  follow(query: HistoryQuery): Promise<HistoryPage<LoggedAttempt>>;

  /** Pairs that this record is a part of. */
  twins(identity: Identity): Promise<readonly SuspectedDuplicate[]>;
  suspects(query: HistoryQuery): Promise<HistoryPage<SuspectedDuplicate>>;

  /** Appends what a person did to the audit. */
  note(note: AuditNote): Promise<void>;
  /** What was done to a record. */
  audit(identity: Identity): Promise<readonly AuditEntry[]>;
  /** Everything that was done, for export. */
  auditLog(query: HistoryQuery): Promise<HistoryPage<AuditLogEntry>>;

  /**
   * Erases what the record holds and keeps the fact: bodies, headers, labels, principal, resources, results of steps,
   * its attempts, its pairs, and the texts of its audit go. What stays is a tombstone: the key refuses other content,
   * tells the same caller that it is done, and never runs again.
   */
  forget(request: ForgetRequest): Promise<ForgetResult>;
  /**
   * Empties every reason in the audit that names one of these values as a word, whatever record it is about, or none: who
   * did what and when stays. The number of entries. One that is written meanwhile may be left.
   */
  emptyReasons(values: readonly string[]): Promise<number>;
}
