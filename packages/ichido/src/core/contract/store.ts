/**
 * The Store contract.
 *
 * A store keeps one record per identity and answers a handful of verbs, each of them one atomic step on one record.
 * Everything that makes an operation take effect once rests on the guarantees below; the suite in `ichido/testing`
 * proves them title by title on every store, against the real server. The rules behind them stand in `record-machine`.
 *
 *  S1  One winner.       Among any number of concurrent claims of a free identity, in any number of processes, exactly
 *                        one is granted.
 *  S2  Lost reply.       A claim sent again with the same owner value is granted again with the same fence and the
 *                        origin by which its owner first came by the record, as `resent`; or, when its completion went
 *                        through, answers `completed`. So a takeover whose reply was lost stays a takeover.
 *  S3  Mismatch first.   A claim with another fingerprint answers `mismatch`, whatever the state (in flight, failed,
 *                        lapsed, completed), and alters nothing.
 *  S4  Takeover.         A lapsed or failed record is granted to exactly one claimant, with a greater fence and the
 *                        next attempt number. `takeover: "none"` never takes a lapsed record; a record that was
 *                        suspended with an interim answer is taken only by `takeover: "open"`, and keeps that answer
 *                        until completion, release or settlement, even if the new owner vanishes too. No claim takes a
 *                        record on hold: a hold ends by a person's settlement, or by the answer of an owner that was
 *                        thought dead; not by its release.
 *  S5  Fence.            renew, complete, release, suspend, startStep and finishStep take effect only for the owner and
 *                        fence that hold the record now; any other owner gets `stale` and changes nothing. A release
 *                        that is sent again is `ok` and changes nothing, as long as no other owner took the record.
 *  S6  Growing fences.   Fences of one identity strictly grow over distinct owners, also across expiry, deletion and a
 *                        store clock that stepped back by less than the record's age.
 *  S7  Completed stays.  A completed record keeps its response, byte for byte, until it expires or is swept. Completing
 *                        again with the same owner and fence answers `ok` and changes nothing.
 *  S8  Store time.       Leases and retention are measured by the store's own clock. Only durations cross the
 *                        interface. A lease counts as absurd, and so as lapsed, only when it lies further ahead than
 *                        twice the longest one: a clock that steps back by less than that makes no living owner look
 *                        lapsed.
 *  S9  Fixed retention.  Expiry counts from first sight; no verb extends it. A claim checks expiry before the
 *                        fingerprint: an expired identity runs as new.
 *  S10 Guarded expiry.   Nothing expires while the ticks of the store's clock are uneven (see `tick`).
 *  S11 Never under way.  A record with a living owner, a started step, an interim answer or a hold never expires and is
 *                        never swept. The same holds for a record in `processing` whose doubt must outlive its
 *                        retention because a claim said so (`doubtStays`), whether that claim was granted or answered
 *                        `unknown`. A failed record whose steps all have results is swept after eight times its
 *                        retention.
 *  S12 Bounded sweep.    `sweep` removes at most `limit` records within about `budgetMs`, and never blocks other calls
 *                        for long. One sweeper at a time, over all processes: a second one gives up at once with
 *                        `busy`.
 *  S13 Exact bytes.      Keys and scope parts are compared byte for byte (case, spaces, normal form). Bodies of any
 *                        bytes come back unchanged, headers with order and multiplicity.
 *  S14 Refusal.          A store at its bound refuses new identities (`full`, or `quota` at the bound of one caller)
 *                        and never drops a record that may still be needed. Replays and completions go on.
 *  S15 Steps.            A started step stays until the record goes, with the attempt and the time of its first start
 *                        and the time of its last one (a start that is sent again is a start); a finished one keeps its
 *                        result, byte for byte. A person's `settle` with `release` removes those that were never
 *                        finished: they did not happen. One in the name of a policy (`unlessHeld`) leaves them to the
 *                        next attempt.
 *  S16 Settlement.       `settle` takes effect only on the fence that was looked at, never under a living owner and
 *                        never on an answer, and leaves an audit row with the fence looked at in the same atomic step.
 *                        What is settled in the name of a policy (`unlessHeld`) never takes effect on a record on hold.
 *  S17 Listing.          `list` walks all matching records once, in the order of keys, and a page with more to come is
 *                        not empty, unless `lookMax` ends it before; `stats` counts them by state, what is
 *                        not completed one by one; of a large table it may estimate the rest, and says so.
 *  S18 Hints.            `watch`, where there is one, may wake too early, never later than its timeout; `ping` fails
 *                        when a claim would fail.
 *  S19 Landed.           `landed` answers whether a commit of this owner and fence took effect. It waits, bounded, for
 *                        the transaction that may still be under way, and answers `busy` when that has not ended by
 *                        then. It grants, renews and gives back nothing, however late its answer comes.
 *  S20 Resources.        What a step, a suspension or a completion tells of what the operation made is kept if the verb
 *                        answers `ok`, in the order told and each once, until the record goes; a `stale` one leaves
 *                        nothing. It is found both ways: by `resources`, and by `list` with kind and id.
 *  S21 Attempt log.      `attempts` gives back what `log` was told of a record, by the store's clock, bounded for each
 *                        record, and the one run of a record that was completed at its first attempt, told by the
 *                        record itself; `follow` walks over all that was logged in the order of writing and skips
 *                        nothing that was written before. It goes with the record.
 *  S22 Twins.            Two keys of one scope whose first runs had the same canonical hash, no further apart than was
 *                        asked for, are told as one pair, whichever process ran them: a few pairs of one content in one
 *                        batch, of what the processes remember (`limits.intentsMax`); the rest is counted.
 *  S23 Audit.            What was noted is never changed and never swept, is walked once from old to new, and may be
 *                        about no record. (`forget` alone empties the reasons of a record's entries.)
 *  S24 Forgetting.       A forgotten record holds nothing that a caller sent or got but its status, and says that it is
 *                        done for as long as it would have been kept. What is under way, or in doubt, is left alone.
 *  S25 Index.            `list` by label or resource reads in proportion to what it finds, not to what is kept.
 *  S26 Notes.            `engines` tells the newest note of each engine of the last day, whichever process wrote it, and
 *                        `inspect` what the server is like. Optional; no request waits for either.
 *
 * What is left out: a store never decides what an outcome means, never runs user code, never reads the clock of the
 * process, and retries only what cannot change the answer.
 */
import type { Finding } from "./finding.ts";
import type { Fingerprint, Identity, OwnerToken, RecordState, StoredResponse } from "./record.ts";
import type { RecordHistory, Resource } from "./history.ts";
import type { TransactionHandle } from "./transaction.ts";

export interface StoreCapabilities {
  /** Survives the death of the process that wrote it. */
  readonly durable: boolean;
  /** Seen alike by several processes. */
  readonly shared: boolean;
  /** `complete` can join the user's transaction. */
  readonly transactions: "postgres" | "mysql" | "sqlite" | false;
  /** `claim` can join it too, so that record and business writes are one transaction from the start. */
  readonly transactionMode?: boolean;
  /** What an acknowledged write survives, in one sentence, for docs and `health()`. */
  readonly promise: string;
}

/**
 * What a claim may take besides a free or failed record. `lapsed`: one whose owner vanished. `open`: also one with an
 * interim answer. None takes a record on hold.
 */
export type Takeover = "none" | "lapsed" | "open";

export interface ClaimRequest {
  readonly identity: Identity;
  readonly owner: OwnerToken;
  readonly fingerprint: Fingerprint;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly takeover: Takeover;
  /**
   * If the owner vanishes, the record waits until a claim, a reconciler or a person finds out what happened, however
   * long that takes: it does not expire while `processing`. The store notes this at first sight, for every later owner
   * and for every claim that it answers with `unknown`, which changes nothing else. No later claim removes the note.
   */
  readonly doubtStays?: boolean;
  /**
   * Inside a transaction: how long to wait for another transaction's uncommitted record before the answer `processing`.
   */
  readonly waitMs?: number;
  /** Labels that the person on call searches by. Stored at first sight. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** How an owner first came by the record. `lapsed`, `suspended`: the former owner's outcome is in doubt. */
export type ClaimOrigin = "new" | "failed" | "lapsed" | "suspended";

interface Unheard {
  /**
   * The store sent the claim again, since an earlier copy got no answer: that copy may still be granted, and its sender
   * would not learn it.
   */
  readonly unheard?: true;
}

export type ClaimResult =
  | (Unheard & {
      readonly outcome: "granted";
      readonly fence: number;
      /** 1 for the first attempt. */
      readonly attempt: number;
      readonly origin: ClaimOrigin;
      /** This owner held it already: the reply to its claim was lost. */
      readonly resent?: true;
      /** How many steps were ever started under this record. */
      readonly stepsStarted: number;
      /** The canonical hash stored at first sight; references derive from it. */
      readonly canonical: Uint8Array;
      readonly createdAtMs: number;
      readonly expiresAtMs: number;
    })
  | (Unheard & {
      readonly outcome: "completed";
      readonly response: StoredResponse;
      readonly fence: number;
      readonly attempts: number;
      readonly createdAtMs: number;
      readonly expiresAtMs: number;
      /** By the store's clock: how long this answer may still be replayed. */
      readonly expiresInMs: number;
    })
  | (Unheard & { readonly outcome: "processing"; readonly leaseLeftMs: number; readonly attempts: number })
  | (Unheard & {
      /** The owner vanished or reported that it does not know, and this claim may not take the record. */
      readonly outcome: "unknown";
      readonly interim?: StoredResponse;
      readonly holdReason?: string;
      readonly fence: number;
      readonly attempts: number;
    })
  | (Unheard & { readonly outcome: "mismatch" })
  | (Unheard & { readonly outcome: "full" })
  /** This caller (tenant and principal) has used up its share of the store; other callers can still claim. */
  | (Unheard & { readonly outcome: "quota" });

/** The proof of ownership that every later verb must show. */
export interface Claim {
  readonly identity: Identity;
  readonly owner: OwnerToken;
  readonly fence: number;
}

export interface RenewRequest extends Claim {
  readonly leaseMs: number;
}

interface Telling {
  /** What the operation made, as far as the record does not know it: kept in the same atomic step, or just before. */
  readonly resources?: readonly Resource[];
}

export interface CompleteRequest extends Claim, Telling {
  readonly response: StoredResponse;
  /**
   * This completion is the last statement of the caller's transaction, which claimed the record itself. A store may
   * then hand the statement to the transaction's `sendWithCommit` and answer `ok`: if the record is not held any more,
   * the transaction rejects with a `FenceLost` instead of committing.
   */
  readonly endsTransaction?: boolean;
}

export interface SuspendRequest extends Claim, Telling {
  /** The answer that callers get until the outcome is settled. The record is then in doubt. */
  readonly interim?: StoredResponse;
  /** Puts the record on hold: only a person ends it. */
  readonly holdReason?: string;
}

export interface LandedRequest extends Claim {
  /**
   * The record was claimed on the same transaction that is asked about. Before its commit the claim is not visible;
   * after a rollback the record is what it was before.
   */
  readonly claimedWithin?: boolean;
}

/**
 * `committed`: the record has the answer of this owner and fence. `not-landed`: it has not, and never will. `lost`:
 * another owner holds the record. `busy`: the transaction may still be under way.
 */
export type Landed = "committed" | "not-landed" | "lost" | "busy";

/** `ok`: done, and the caller still owns (or owned) the record. `stale`: another owner does; nothing changed. */
export type Fenced = "ok" | "stale";

/** `locked`: the record has its owner, as far as can be seen, and its lease could not be moved: another transaction has it. */
export type Renewed = Fenced | "locked";

export interface Step {
  readonly name: string;
  readonly state: "started" | "finished";
  /** The serialised result, once finished. */
  readonly result?: Uint8Array;
  /** The number of the attempt that first started it. */
  readonly attempt: number;
  /** Its first start. */
  readonly startedAtMs: number;
  readonly lastStartedAtMs: number;
  /** How long ago it was last started, by the store's clock: a lost call cannot have been under way for longer. */
  readonly ageMs: number;
  /** How long ago it was first started: compared with how long the provider remembers the reference. */
  readonly firstAgeMs: number;
  readonly finishedAtMs?: number;
}

export interface StepRequest extends Claim, Telling {
  readonly name: string;
  readonly leaseMs: number;
  /**
   * A later attempt that finds no record of the step does the same as one that finds it unfinished: it makes the call
   * with the same reference. So the store may answer as soon as other processes would see the start, before it is
   * certain that it survives a crash of the store's own server.
   */
  readonly mayBeLost?: boolean;
}

export interface FinishStepRequest extends StepRequest {
  readonly result: Uint8Array;
}

/**
 * A decision on a record in doubt, by a person or in the name of a policy. Written with its audit row in one atomic
 * step. `hold` leaves owner and fence alone, so that an owner thought dead can still bring its answer; `adopt` and
 * `release` move the fence on, so that it cannot; `release` also says that steps without a result did not happen. All
 * three are refused while an owner's lease runs.
 */
export interface SettleRequest {
  readonly identity: Identity;
  /** Settles only the record that was looked at: another fence means that an owner or a settlement changed it. */
  readonly fence: number;
  readonly decision:
    | { readonly kind: "adopt"; readonly response: StoredResponse }
    | { readonly kind: "release" }
    | { readonly kind: "hold" };
  readonly actor: string;
  readonly reason: string;
  /**
   * The decision is made in the name of a policy. On a record on hold it answers `stale`; the fence alone would not
   * show the hold, because a hold does not change the fence. Steps without a result stay.
   */
  readonly unlessHeld?: true;
}

/** `live`: an owner is at work, wait for its lease. `completed`: already has its answer. */
export type SettleResult = "ok" | "stale" | "absent" | "live" | "completed";

export interface StoredRecord {
  readonly identity: Identity;
  readonly fingerprint: Fingerprint;
  readonly state: RecordState;
  readonly owner: OwnerToken;
  readonly fence: number;
  readonly attempts: number;
  /**
   * Time left by the store's clock; absent where no attempt runs or is in doubt. Below zero: the lease lapsed that long
   * ago, or nobody knows when, because the clock has gone back since. Exactly zero, however long ago, where its owner or
   * a person ended it.
   */
  readonly leaseLeftMs?: number;
  /** How its owner came by it; absent where no attempt runs or is in doubt. */
  readonly origin?: ClaimOrigin;
  readonly stepsStarted: number;
  readonly interim?: StoredResponse;
  readonly holdReason?: string;
  readonly response?: StoredResponse;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs: number;
}

export interface ListQuery {
  readonly tenant?: string;
  readonly principal?: string;
  readonly operation?: string;
  readonly key?: string;
  readonly state?: RecordState;
  readonly label?: { readonly name: string; readonly value: string };
  readonly resource?: Resource;
  /** At most 1000. */
  readonly limit: number;
  /** From the previous page. */
  readonly cursor?: string;
  /**
   * Ends a page once so many records were looked at, whether they match or not, at most 100 000: it may have few records
   * or none, and a cursor. A store that finds what is asked for by an index, or has none, may look at more.
   */
  readonly lookMax?: number;
}

export interface ListPage {
  /** Ordered by key, then by identity; bodies are left out (`response.body` is empty). */
  readonly records: readonly StoredRecord[];
  readonly cursor?: string;
  /** How many were looked at, where `lookMax` bounded that. */
  readonly looked?: number;
}

/** `records` is the sum of the four states that a record is seen in. */
export interface StoreStats {
  readonly records: number;
  readonly processing: number;
  readonly completed: number;
  readonly failed: number;
  readonly unknown: number;
  /** Stored bodies in bytes. */
  readonly bodyBytes: number;
  /** Age of the oldest record past its expiry that a sweep would remove; 0 when there is none. */
  readonly sweepLagMs: number;
  /** Age of the oldest record whose outcome is unknown; 0 when there is none. */
  readonly oldestUnknownMs: number;
  /** Of a large table, `completed`, `bodyBytes` and so `records` are computed from a part of its pages. */
  readonly estimated?: true;
}

export interface SweepRequest {
  readonly limit: number;
  readonly budgetMs: number;
}

export interface SweepResult {
  readonly deleted: number;
  /** More could be removed by another call. */
  readonly more: boolean;
  /** The clock is not trusted yet: nothing was looked at. */
  readonly guarded: boolean;
  /**
   * Another sweeper is at work on the same records, or holds a lock that this one needs. It gave up; `more` is false.
   */
  readonly busy?: true;
}

export interface TickRequest {
  /** How often this process ticks. */
  readonly intervalMs: number;
}

export interface TickResult {
  /** False while the ticks are uneven: nothing expires. */
  readonly trusted: boolean;
}

/** What an engine tells of itself, for `doctor`: a small JSON text about its options and what it measured. */
export interface EngineNote {
  /** Names one engine and no other. */
  readonly engine: string;
  /** At most 16 KiB. */
  readonly text: string;
}

export interface NotedEngine extends EngineNote {
  /** How long ago it was noted, by the store's clock. */
  readonly ageMs: number;
}

/** What the server behind a store is like. Looked at for people: nothing of it is needed by a request. */
export interface StoreInspection {
  /** `PostgreSQL 15.4` */
  readonly server: string;
  /** The npm package that leads there, where one does. */
  readonly driver?: string;
  /** The store's clock. */
  readonly nowMs: number;
  readonly findings: readonly Finding[];
}

export interface Store extends RecordHistory {
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  /**
   * How long a call may take by the store's own settings: waiting for a connection and repetitions included, `list`,
   * `stats` and `sweep` left out. A caller must wait longer than that: a call that it gives up earlier may still take
   * effect.
   */
  readonly callTimeoutMs: number;

  /**
   * On a transaction handle the record stays uncommitted with the caller's writes: a duplicate on another transaction
   * waits for its end, at most `waitMs`. Only where `capabilities.transactionMode` says so.
   */
  claim(request: ClaimRequest, transaction?: TransactionHandle): Promise<ClaimResult>;
  /** All live claims of a process in one call; answers in the order asked. Waits for no lock: one would cost the others. */
  renew(requests: readonly RenewRequest[]): Promise<readonly Renewed[]>;
  complete(request: CompleteRequest, transaction?: TransactionHandle): Promise<Fenced>;
  /** What became of a transaction on which this owner completed the record, and whose COMMIT was not answered. */
  landed(request: LandedRequest): Promise<Landed>;
  /** `failed`: the next attempt may run; the same fingerprint is still required. */
  release(claim: Claim): Promise<Fenced>;
  /** Ends the lease without an answer, leaving the record to `onUnknown`, to a reconciler or to a person. */
  suspend(request: SuspendRequest): Promise<Fenced>;

  /**
   * Records the start of an external call. Starting a started step again is `ok`. The lease is renewed, unless at least
   * half of what is asked for is left: then a store may leave that to the heartbeat. A lease that was ended stays
   * ended.
   */
  startStep(request: StepRequest): Promise<Fenced>;
  finishStep(request: FinishStepRequest): Promise<Fenced>;
  /** In the order of their first start. */
  steps(identity: Identity): Promise<readonly Step[]>;

  settle(request: SettleRequest): Promise<SettleResult>;

  find(identity: Identity): Promise<StoredRecord | undefined>;
  list(query: ListQuery): Promise<ListPage>;
  stats(): Promise<StoreStats>;
  sweep(request: SweepRequest): Promise<SweepResult>;

  /**
   * Notes that the store's clock was seen. The one tick row holds `last`, `interval` and `steadySince`. A tick that
   * comes more than three of its intervals after the last one, or before it, sets `steadySince` to now. Expiry is
   * trusted when 0 <= now - last <= 3 * interval and now - steadySince >= 3 * interval. A process ticks at start and
   * every interval, so a record made after the start never waits for the guard: its retention is at least four
   * intervals.
   */
  tick(request: TickRequest): Promise<TickResult>;
  /** One cheap round trip that fails when a claim would fail (missing schema, read-only, standby). */
  ping(): Promise<void>;
  /**
   * Looks at version, rights and settings of the server. Rejects only where it cannot be reached: what is wrong with it, or
   * missing, is a finding. Optional.
   */
  inspect?(): Promise<StoreInspection>;
  /** Keeps the newest note of each engine for a day after it was written. Off the way of requests. Optional. */
  noteEngine?(note: EngineNote): Promise<void>;
  /** Those of the last day, the newest first, at most 100. */
  engines?(): Promise<readonly NotedEngine[]>;
  /** Wakes a waiting duplicate: resolves when the record may have changed, or after `timeoutMs`. Optional. */
  watch?(identity: Identity, timeoutMs: number): Promise<void>;
  /** Ends what the store itself opened, never the user's own client. */
  close(): Promise<void>;
}
