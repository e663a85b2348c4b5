/**
 * What the console's page and its server say to each other: types alone, for both.
 *
 * Paths are relative to where the console is mounted, and the page asks by relative addresses, so that any prefix and any
 * proxy path works. The page is one document at the mount; what it shows stands behind the `#` of its address:
 * `#/ask?text=cus_42`, `#/keys?state=unknown`, `#/keys/<handle>`, `#/live`, `#/unknown`, `#/outbox`, `#/inbox`,
 * `#/inbox/<letter>`, `#/outbox/<letter>`, `#/storage`, `#/traffic`, `#/doctor`, `#/audit`. The server makes links to
 * `#/keys/<handle>` itself, for logs.
 *
 * | Route | Needs | Asks | Answers |
 * |---|---|---|---|
 * | GET api/session | to be let in | | SessionAnswer |
 * | GET api/ask | read | ?text=&amount=&at=&withinMs=&sinceMs= | AskAnswer |
 * | GET api/keys | read | ?state=&operation=&tenant=&principal=&label=&resource=&key=&olderThanMs=&newerThanMs=&cursor=&limit= | KeysAnswer |
 * | GET api/keys/{handle} | read | | KeyAnswer |
 * | GET api/keys/{handle}/probes | read | | ProbesAnswer: asks the providers now |
 * | POST api/keys/{handle}/reveal | reveal | RevealRequest | RevealAnswer |
 * | POST api/keys/{handle}/settle | settle | SettleKeyRequest | WrittenAnswer |
 * | POST api/keys/{handle}/forget | erase | ForgetKeyRequest | WrittenAnswer |
 * | GET api/live | read | ?cursor= or Last-Event-ID | server-sent events: LiveMessage |
 * | GET api/unknown | read | | UnknownAnswer |
 * | GET api/outbox | read | | OutboxAnswer |
 * | GET api/outbox/dead | read | ?topic=&cursor=&limit= | LettersAnswer |
 * | GET api/outbox/dead/{letter} | read | | LetterAnswer |
 * | POST api/outbox/dead/{letter}/reveal | reveal | RevealLetterRequest | RevealLetterAnswer |
 * | POST api/outbox/replay, api/outbox/discard | events | DecideLettersRequest | DecideLettersAnswer |
 * | POST api/outbox/pause, api/outbox/resume | events | PauseRequest | PauseAnswer |
 * | GET api/inbox | read | | InboxAnswer |
 * | GET api/inbox/dead | read | ?handler=&topic=&cursor=&limit= | LettersAnswer |
 * | GET api/inbox/dead/{letter} | read | | LetterAnswer |
 * | POST api/inbox/dead/{letter}/reveal | reveal | RevealLetterRequest | RevealLetterAnswer |
 * | POST api/inbox/replay, api/inbox/discard | events | DecideLettersRequest | DecideLettersAnswer |
 * | GET api/storage | read | | StorageAnswer |
 * | GET api/traffic | read | | TrafficAnswer |
 * | GET api/doctor | read | | DoctorAnswer |
 * | GET api/audit | read | ?newerThanMs=&cursor=&limit= | AuditAnswer |
 *
 * Parameters of a GET stand in its address or, as the page sends them, in the header `x-ichido-query` beside `?in=header`: access
 * logs write addresses down, and what is asked for may be a key or a customer.
 *
 * Every POST has the header `x-ichido-token` with the session's token, `content-type: application/json`, and comes from the
 * console's own page. An answer that is no success is a `ProblemAnswer`: 400 a parameter is unknown or wrong, 401 and 403 not
 * let in, not permitted, read-only, token or origin refused, 404 not there, 409 changed since it was seen (with the present
 * record or letter), 413, 429 too many listeners, 502 the store failed, 503 busy or the store did not answer in time.
 * `limit` is 1 to 200, default 50. Moments are ISO 8601 in UTC by the store's clock, durations milliseconds.
 * A member that may be absent is absent, never null.
 */

export type Permission = "read" | "reveal" | "settle" | "events" | "erase";

export type RecordState = "processing" | "completed" | "failed" | "unknown";

export type Outcome =
  | "executed"
  | "replayed"
  | "replayed_after_wait"
  | "in_progress"
  | "key_reused"
  | "key_missing"
  | "key_invalid"
  | "outcome_unknown"
  | "response_not_stored"
  | "store_error"
  | "refused"
  | "bypassed";

export type ProblemCode =
  /** `authorize` is missing, or said no. */
  | "denied"
  /** Let in, but without the permission that `needs` names. */
  | "not-permitted"
  | "read-only"
  /** It did not come from the console's own page. */
  | "cross-site"
  /** No token, a forged one, or one that is over: get the session again. */
  | "token"
  | "parameter"
  | "body"
  | "too-large"
  | "not-found"
  /** This console has no outbox or no inbox. */
  | "no-part"
  /** The fence, or what was seen of a letter, is not what it is now. */
  | "changed"
  /** What it is now does not allow it: at work, answered, in doubt. */
  | "refused"
  /** A release, and no probe says that nothing happened: look there, then say `checkedProvider`. */
  | "unchecked"
  | "method"
  | "busy"
  | "timeout"
  | "store";

export interface ProblemAnswer {
  readonly code: ProblemCode;
  /** A sentence in English for people, without any key. */
  readonly message: string;
  readonly needs?: Permission;
  /** With 400: which parameter or member. */
  readonly parameter?: string;
  /** With 409 of a record: as it is now. */
  readonly record?: RecordView;
  /** With 409 of a letter: as it is now. */
  readonly letter?: LetterView;
}

// api/session

export interface SessionAnswer {
  readonly user: string;
  readonly can: readonly Permission[];
  readonly readOnly: boolean;
  /** For the header `x-ichido-token` of every POST. */
  readonly token: string;
  readonly tokenExpiresAt: string;
  /** As the option `environmentName` says: `production`. */
  readonly environment?: string;
  readonly version: string;
  readonly store: {
    readonly name: string;
    readonly durable: boolean;
    readonly shared: boolean;
    /** What an acknowledged write survives. */
    readonly promise: string;
    readonly ok: boolean;
    /** Why it does not answer. */
    readonly problem?: string;
    readonly tookMs: number;
  };
  /** By this process, and by the store where it tells. */
  readonly now: string;
  readonly storeNow?: string;
  readonly parts: {
    readonly outbox: boolean;
    readonly inbox: boolean;
    /** Steps whose provider can be asked. */
    readonly probes: readonly string[];
    /** Requests are noted in the attempt log; without it, Live shows this process alone. */
    readonly attemptLog: boolean;
  };
  /** `sealed`: links hold in every process. `hidden`: they end with this process; set `operationIdSecret` for more. */
  readonly links: "sealed" | "hidden";
  /** How many outcomes are open now, for the navigation. At most 100 are counted. */
  readonly unknown?: number;
}

// Records

/** A record as lists show it. */
export interface RecordView {
  /** For addresses of the API and of the page; the key cannot be read from it. */
  readonly handle: string;
  /** `@3fa9c1d2e0b7`: the same that the command line prints, for people. */
  readonly id: string;
  /** Masked: `6f1c…10`. */
  readonly key: string;
  readonly operation: string;
  readonly tenant?: string | undefined;
  readonly principal?: string | undefined;
  readonly state: RecordState;
  readonly fence: number;
  readonly attempts: number;
  readonly stepsStarted: number;
  /** Absent where no attempt runs or is in doubt. `ms`: for how long it lives on, or how long ago it lapsed. */
  readonly lease?: { readonly is: "live" | "lapsed" | "ended"; readonly ms: number } | undefined;
  readonly holdReason?: string | undefined;
  readonly status?: number | undefined;
  readonly interimStatus?: number | undefined;
  /** `tombstone`: the bytes were not kept. */
  readonly answer?: "full" | "tombstone" | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string;
}

export interface KeysAnswer {
  readonly records: readonly RecordView[];
  readonly cursor?: string;
  /** How many records were looked at for this page: ages are filtered while reading. */
  readonly searched: number;
  /** The bound of one page was met before `limit` records were found: `cursor` goes on. */
  readonly isCut: boolean;
}

export interface UnknownAnswer {
  /** The oldest of those that were looked at, the oldest first; at most 1000. */
  readonly records: readonly RecordView[];
  /** How many open outcomes were looked at for it; at most 10 000. */
  readonly searched: number;
  /** That bound was met: older ones may be among those that were not looked at. */
  readonly isCut: boolean;
}

export interface AttemptView {
  readonly at: string;
  readonly handle: string;
  readonly id: string;
  readonly key: string;
  readonly operation: string;
  readonly outcome: Outcome;
  /** What it would have been: the handler ran. */
  readonly observed?: true | undefined;
  readonly status?: number | undefined;
  readonly tookMs: number;
  /** The handler ran, and its outcome was in doubt after it. In Live this is known of this process's own alone. */
  readonly leftOpen?: true | undefined;
  /** Where the handler ran: the number of the run, from 1. Above 1 it was a takeover or a new try. */
  readonly attempt?: number | undefined;
  readonly fence?: number | undefined;
  readonly process: string;
  readonly release?: string | undefined;
  readonly askedBy?: string | undefined;
}

export interface StepView {
  readonly name: string;
  readonly state: "started" | "finished";
  readonly attempt: number;
  readonly startedAt: string;
  readonly lastStartedAt: string;
  readonly finishedAt?: string | undefined;
}

export interface ResourceView {
  readonly kind: string;
  readonly id: string;
}

/** Another key of the same caller with the same content, a little earlier or later. */
export interface TwinView {
  readonly at: string;
  readonly apartMs: number;
  /** This record ran first. */
  readonly isFirst: boolean;
  readonly other: { readonly handle: string; readonly id: string; readonly key: string };
}

export interface AuditView {
  readonly at: string;
  readonly actor: string;
  /** `adopt`, `release`, `hold`, `forget`, `reveal`, `replay`, `discard` and words of others. */
  readonly action: string;
  readonly reason: string;
  readonly fence?: number | undefined;
  readonly record?: { readonly handle: string; readonly id: string } | undefined;
}

/** An event that the record names as a resource of kind `event`, or that it was run for. */
export interface LinkedEventView {
  readonly id: string;
  readonly handlers: readonly {
    readonly handler: string;
    readonly outcome: "processed" | "dead" | "replaying" | "discarded" | "parked";
    readonly at: string;
  }[];
}

export interface KeyAnswer {
  readonly record: RecordView;
  readonly caller: string;
  readonly fingerprint: { readonly version: number; readonly canonical: string };
  readonly steps: readonly StepView[];
  /** From old to new: runs, replays and refusals. */
  readonly attempts: readonly AttemptView[];
  readonly resources: readonly ResourceView[];
  readonly twins: readonly TwinView[];
  readonly audit: readonly AuditView[];
  readonly events: readonly LinkedEventView[];
  readonly answer?: {
    readonly kind: "full" | "tombstone";
    readonly status: number;
    readonly bytes: number;
    readonly contentType?: string;
  };
  /** The store's clock, for a drawing to scale. */
  readonly now: string;
  /** As the engine's option `consoleUrl` makes it, or absent: then the page's own address is the link. */
  readonly link?: string;
  /** What may be done to it now, by its state and by the caller's permissions. */
  readonly may: { readonly settle: boolean; readonly forget: boolean; readonly reveal: boolean };
}

export interface ProbesAnswer {
  readonly askedAt: string;
  readonly probes: readonly ProbeView[];
  /** What the record brought about, by the best witness. */
  readonly effects: EffectView;
}

export interface ProbeView {
  readonly step: string;
  readonly reference: string;
  readonly effects: readonly {
    readonly id: string;
    readonly amount?: number | undefined;
    readonly currency?: string | undefined;
    readonly at?: string | undefined;
  }[];
  /** Why the provider could not be asked. */
  readonly problem?: string | undefined;
}

export interface EffectView {
  readonly count: number;
  readonly by: "provider" | "record" | "nobody";
  readonly problem?: string | undefined;
  /** All that were asked have nothing under its references, whoever counted. */
  readonly nothingFound?: boolean | undefined;
}

/** What every write about a record says. */
export interface RecordWrite {
  /** 1 to 200 characters, for the audit. */
  readonly reason: string;
  /** Of the record as it was seen. */
  readonly fence: number;
}

export type RevealRequest = RecordWrite;

export interface RevealAnswer {
  readonly key: string;
  readonly tenant?: string | undefined;
  readonly principal?: string | undefined;
  readonly holdReason?: string | undefined;
  readonly answer?: AnswerView | undefined;
  readonly interim?: AnswerView | undefined;
  readonly steps: readonly { readonly name: string; readonly result?: string | undefined }[];
  readonly askedBy: readonly string[];
}

export interface AnswerView {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Text, or `base64:` and base64 where it is none. Always shown as text. */
  readonly body: string;
}

export interface SettleKeyRequest extends RecordWrite {
  readonly decision: "adopt" | "release" | "hold";
  /** Of the record as it was seen; needed for one on hold, since a hold does not move the fence. */
  readonly updatedAt?: string;
  /** With `adopt`: what callers get from now on. The body is text; a content type is found out where none is given. */
  readonly answer?: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  /** With `release`: you looked at the provider yourself. Needed where no probe says that nothing happened. */
  readonly checkedProvider?: boolean;
}

export type ForgetKeyRequest = RecordWrite;

export interface WrittenAnswer {
  readonly done: "adopt" | "release" | "hold" | "forget";
  /** As it is now. */
  readonly record?: RecordView;
}

// api/ask

export interface AskAnswer {
  readonly verdict:
    | "one-effect"
    | "two-intents"
    | "no-effect"
    | "in-flight"
    | "event-once"
    | "event-dead"
    | "event-parked"
    | "event-replaying"
    | "event-pending"
    | "event-discarded"
    | "event-sent"
    | "two-keys-one-intent"
    | "orphan-effect"
    | "phantom"
    | "not-known"
    | "two-effects-one-key"
    | "nothing-found";
  readonly severity: "ok" | "warning" | "page";
  /** One sentence for the ticket. */
  readonly says: string;
  readonly confidence: "high" | "low";
  /** How the question was read: `label customer`, `key`, `amount and time`. */
  readonly understood: readonly string[];
  readonly keys: readonly AskedKeyView[];
  /** The keys by intent, each with a verdict of its own; none where it is about an event. */
  readonly intents: readonly {
    readonly verdict: AskAnswer["verdict"];
    /** By the names in `keys`, the first first. */
    readonly keys: readonly string[];
    /** The provider's ids of what it did beyond the first. Empty: nothing, or nobody names it. */
    readonly refund: readonly string[];
  }[];
  readonly timeline: readonly {
    readonly at: string;
    readonly kind: "attempt" | "step" | "takeover" | "effect" | "operator" | "event";
    /** `A`, `B`; empty where the question was an event. */
    readonly key: string;
    readonly text: string;
    /** For a drawing, and for other languages: the facts behind the text. */
    readonly facts?: {
      readonly outcome?: Outcome;
      readonly status?: number;
      /** How long it took from `at` on; absent where that is not known. */
      readonly tookMs?: number;
      /** The number of the run, from 1. */
      readonly run?: number;
      readonly step?: string;
      /** What the provider has: its id, amount and currency. */
      readonly effect?: string;
      readonly process?: string;
      /** The run left its outcome open. */
      readonly leftOpen?: true;
    };
  }[];
  readonly next: readonly string[];
  readonly missing: readonly string[];
  /** The whole case as Markdown, for a ticket. */
  readonly markdown: string;
  readonly askedAt: string;
}

export interface AskedKeyView {
  readonly name: string;
  readonly handle: string;
  readonly id: string;
  readonly key: string;
  readonly operation: string;
  readonly state: RecordState;
  readonly status?: number | undefined;
  readonly createdAt: string;
  readonly runs: number;
  /** Of those: runs whose owner vanished, and a later one took over. */
  readonly vanished: number;
  readonly replays: number;
  readonly labels: Readonly<Record<string, string>>;
  /** `payment:pay_9` */
  readonly resources: readonly string[];
  readonly holdReason?: string | undefined;
  readonly effects: EffectView;
  readonly providerIds: readonly string[];
}

// api/live: `event: attempt` with an id to resume from, `event: hello` once, a comment every few seconds.

export type LiveMessage =
  /** `log`: requests of all processes, a second or so late. `process`: of this process alone, without handles. */
  | { readonly type: "hello"; readonly source: "log" | "process"; readonly now: string }
  | { readonly type: "attempt"; readonly attempt: LiveAttemptView }
  /** The store could not be asked; it is asked again. */
  | { readonly type: "trouble"; readonly message: string }
  /** So many could not be kept for this listener. */
  | { readonly type: "skipped"; readonly count: number };

export type LiveAttemptView = Omit<AttemptView, "handle" | "key" | "process"> & {
  readonly handle?: string;
  readonly key?: string;
  readonly process?: string;
};

// Events

/** A dead letter of either side. */
export interface LetterView {
  /** For addresses. */
  readonly letter: string;
  /** What it was when it was seen: sent back with a decision. */
  readonly seen: string;
  /** The event's id. */
  readonly id: string;
  readonly topic: string;
  readonly key?: string | undefined;
  readonly source: string;
  readonly time: string;
  readonly contentType: string;
  readonly payloadBytes: number;
  readonly correlationId?: string | undefined;
  readonly causationId?: string | undefined;
  /** Of the inbox. */
  readonly handler?: string | undefined;
  readonly state: "dead" | "replaying";
  /** `rejected`, `crashed`, `unreadable`; of the inbox also `failed`, `conflict`, `unknown`, `too-old`, `unhandled`. */
  readonly reason: string;
  /** The type of the error; what it says is revealed with the payload. */
  readonly error?: string | undefined;
  readonly attempts: number;
  readonly addedAt?: string | undefined;
  readonly since: string;
}

export interface LettersAnswer {
  /** The oldest first. */
  readonly letters: readonly LetterView[];
  readonly cursor?: string;
}

export interface LetterAnswer {
  /** Absent: it was decided about; the audit says by whom. */
  readonly letter?: LetterView;
  readonly audit: readonly AuditView[];
  /** Of the inbox: what became of the event, handler by handler. */
  readonly handlers: LinkedEventView["handlers"];
}

export interface RevealLetterRequest {
  readonly reason: string;
  readonly seen: string;
}

export interface RevealLetterAnswer {
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly error?: string | undefined;
}

export interface DecideLettersRequest {
  readonly reason: string;
  /** The selection, frozen: at most 200, each as it was seen. */
  readonly letters: readonly { readonly letter: string; readonly seen: string }[];
  /** How many the person agreed to: must be the number of `letters`. */
  readonly count: number;
  /** True: tells what would become of each, and changes nothing. */
  readonly preview: boolean;
  /** Inbox, `replay`: the handlers that are to run them instead. Needed for letters that no handler wanted. */
  readonly to?: readonly string[];
}

export interface DecideLettersAnswer {
  readonly preview: boolean;
  readonly results: readonly {
    readonly letter: string;
    /** `changed`: not what was seen. `absent`: decided before. `already`: marked for replay. */
    readonly result: "ok" | "changed" | "absent" | "already" | "unreadable" | "needs-handler" | "failed";
    readonly topic?: string | undefined;
    readonly message?: string | undefined;
  }[];
  readonly done: number;
}

export interface OutboxAnswer {
  readonly stats: {
    readonly pending: number;
    readonly oldestMs: number;
    readonly dead: number;
    readonly parked: number;
    readonly relays: number;
  };
  /** What the switch was when it was seen: sent back with a pause or its end. */
  readonly seen: string;
  readonly paused?: { readonly actor: string; readonly reason: string; readonly since: string };
  /** Keys that wait, at most 100. */
  readonly parked: readonly {
    readonly topic: string;
    readonly key: string;
    /** The letter at its head. */
    readonly letter: string;
    readonly reason: string;
    readonly error?: string | undefined;
    readonly since: string;
    /** Absent: until a person decides. */
    readonly until?: string | undefined;
  }[];
}

export interface PauseRequest {
  readonly reason: string;
  /** As `OutboxAnswer` told it. */
  readonly seen: string;
}

export interface PauseAnswer {
  readonly done: "ok" | "already";
  readonly paused?: OutboxAnswer["paused"];
}

export interface InboxAnswer {
  readonly stats: {
    readonly processed: number;
    readonly dead: number;
    readonly replaying: number;
    readonly parked: number;
    readonly oldestDeadMs?: number | undefined;
    readonly oldestReplayingMs?: number | undefined;
    readonly oldestParkedMs?: number | undefined;
    readonly oldestRowMs?: number | undefined;
  };
  readonly retentionMs: number;
}

// Numbers

/** Who counted a number, and since when. */
export interface CountedBy {
  /** `store`: all processes. `process`: this one, from its start. `log`: the attempt log, all processes. */
  readonly by: "store" | "process" | "log";
  readonly process?: string | undefined;
  readonly since: string;
}

export interface StorageSample {
  readonly at: string;
  readonly records: number;
  readonly processing: number;
  readonly completed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly bodyBytes: number;
  readonly sweepLagMs: number;
  readonly oldestUnknownMs: number;
}

export interface StorageAnswer {
  readonly counted: CountedBy;
  /** The store's own numbers, as this process asked for them: one a minute or rarer, at most a day. */
  readonly samples: readonly StorageSample[];
  /** How long the last count took. */
  readonly tookMs: number;
  /** The last count failed; `samples` are older. */
  readonly problem?: string;
  /** A straight line through the samples; absent before ten minutes of them. */
  readonly growth?: {
    readonly recordsPerDay: number;
    readonly bodyBytesPerDay: number;
    readonly overMs: number;
  };
  /** By operation, of the options that running engines told. */
  readonly retention: readonly { readonly operation: string; readonly retentionMs: number }[];
}

export interface TrafficMinute {
  /** The beginning of the minute. */
  readonly at: string;
  readonly executed: number;
  readonly replayed: number;
  /** In progress, key reused, missing or invalid, refused. */
  readonly refused: number;
  /** Refused because the outcome is unknown, or ran and left it open; of the log: those that are open still. */
  readonly unknown: number;
  /** The store failed, or an answer was not stored. */
  readonly failed: number;
}

export interface TrafficAnswer {
  /** One for each who counted: this process, and the attempt log where there is one. Minutes without requests are zero. */
  readonly series: readonly {
    readonly counted: CountedBy;
    readonly minutes: readonly TrafficMinute[];
    /** The bound was met: `counted.since` is where it begins. */
    readonly isCut: boolean;
  }[];
  readonly suspectedDuplicates: {
    readonly counted: CountedBy;
    readonly pairs: readonly {
      readonly at: string;
      readonly apartMs: number;
      readonly first: { readonly handle: string; readonly id: string };
      readonly second: { readonly handle: string; readonly id: string };
      readonly operation: string;
    }[];
    readonly isCut: boolean;
  };
}

export interface DoctorAnswer {
  readonly findings: readonly {
    readonly code: string;
    readonly severity: "error" | "warning";
    readonly what: string;
    readonly remedy: string;
  }[];
  readonly askedAt: string;
  readonly server?: string | undefined;
  readonly engines: readonly {
    readonly process: string;
    readonly runtime: string;
    readonly release: string;
    readonly ageMs: number;
    readonly operations: readonly string[];
  }[];
}

export interface AuditAnswer {
  /** From new to old; without `newerThanMs` of the last 30 days. */
  readonly entries: readonly AuditView[];
  /** Where the next page begins: absent where there is nothing older. */
  readonly cursor?: string;
}
