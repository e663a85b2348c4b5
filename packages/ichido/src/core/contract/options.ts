/** Options: what a user may set. How they are checked is in `validate-options.ts`. */
import type { Decision } from "./decision.ts";
import type { Environment } from "./environment.ts";
import type { IchidoListener } from "./events.ts";
import type { FaultPoint } from "./faults.ts";
import type { AnswerHead, NeutralRequest } from "./message.ts";
import type { Problem } from "./problem.ts";
import type { Profile, ProfileName } from "./profiles.ts";
import type { Identity, ScopeLike } from "./record.ts";
import type { Store } from "./store.ts";
import type { Logger } from "./logger.ts";
import type { Tracing } from "./tracing.ts";
import type { TransactionRunner } from "./transaction.ts";

/** What `verify` gets about the attempt that vanished. */
export interface VerifyRequest {
  readonly identity: Identity;
  readonly attempt: number;
  /** The same references the vanished attempt used. */
  reference(this: void, name: string): string;
  readonly signal: AbortSignal;
}

export type VerifyAnswer =
  /** It happened, and this is its answer: stored and sent. */
  | { readonly verdict: "found"; readonly response: AnswerLike }
  /** It did not happen: the handler runs. */
  | { readonly verdict: "absent" }
  /** Not known yet: the caller gets `outcome-unknown` and may ask again. */
  | { readonly verdict: "not-visible-yet" };

/** An answer made by code rather than captured: a JSON value, text or bytes. */
export interface AnswerLike {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

export type OnUnknown =
  | "rerun"
  | "hold"
  | { readonly verify: (request: VerifyRequest) => VerifyAnswer | Promise<VerifyAnswer> };

export type StepVerdict<Value> =
  | { readonly verdict: "found"; readonly value: Value }
  | { readonly verdict: "absent" }
  | { readonly verdict: "not-visible-yet" };

export interface StepOptions<Value> {
  /**
   * What to do with a step that was started and never finished. Default: the route's `onUnknown`. Where that is a `verify`,
   * an attempt begins once it has found nothing, and runs the step; tried again in place, the outcome stays open.
   */
  readonly onUnknown?: "rerun" | "hold";
  /** Asks the provider for the effect by its reference instead. Wins over `onUnknown`. */
  readonly verify?: (request: {
    readonly reference: string;
    readonly signal: AbortSignal;
    /** How long ago the step was last started, by the store's clock: a lost call may be under way since then. */
    readonly ageMs: number;
  }) => StepVerdict<Value> | Promise<StepVerdict<Value>>;
  /**
   * How long the provider remembers references. An unfinished step that was first started longer ago goes on hold
   * instead of running again.
   */
  readonly retentionMs?: number;
}

/** For a duplicate of a running request: refuse it, answer where to ask, or let it wait for the answer. */
export type InFlight = "conflict" | "accepted" | { readonly waitMs: number };

/** Which parts of a request make two requests the same. */
export interface FingerprintOptions {
  /** JSON members that count, by name or dotted path; absent: the whole body. */
  readonly fields?: readonly string[];
  /** `semantic` compares JSON, forms and multipart by meaning, `bytes` exactly. */
  readonly compare?: "semantic" | "bytes";
}

export interface KeyPolicy {
  /** What to do with keys that look like an e-mail address or a bare number. Default `warn`. */
  readonly personalData?: "allow" | "warn" | "refuse";
  /** What to do with keys that could be guessed (under about 64 bits). Default `allow`. */
  readonly lowEntropy?: "allow" | "warn" | "refuse";
}

export type Labels = Readonly<Record<string, string>>;

/** Settings that an engine gives to all its routes and a route may override. */
export interface SharedOptions<Native> {
  /** What to do when an owner vanished. No default: only you know whether running twice is worse than not at all. */
  readonly onUnknown: OnUnknown;
  readonly profile?: ProfileName | Profile;
  readonly leaseMs?: number;
  readonly retentionMs?: number;
  readonly bodyBytesMax?: number;
  readonly inFlight?: InFlight;
  readonly labels?: (request: Native) => Labels;
  readonly keyPolicy?: KeyPolicy;
  readonly fingerprint?: FingerprintOptions;
  /** Which answers of the handler are stored; overrides the rule of the profile. */
  readonly keep?: (answer: AnswerHead) => boolean;
  /** `false`: observe mode. Everything runs; what would have been replayed or refused is counted. */
  readonly enforce?: boolean;
  /** Where a caller of a `202` asks for the outcome. */
  readonly statusUrl?: (operationId: string) => string;
}

/** What is written down of every request to a protected route, beside its record; never in a request's way. */
export interface AttemptLogOptions<Native> {
  /** What more is known of the caller than tenant and principal: a client, a session, a trace id. At most 200 characters. */
  readonly askedBy?: (request: Native) => string | undefined;
  /** How often what has gathered is written. */
  readonly flushMs?: number;
  /** Attempts that may wait to be written; further ones are dropped and counted. */
  readonly queueMax?: number;
  /** Two keys of one caller with the same content within this time are told as a suspected duplicate. 0: never. */
  readonly suspectWithinMs?: number;
}

/** Something that a provider did. */
export interface ProviderEffect {
  /** The provider's own name for it, such as `ch_8810`. */
  readonly id: string;
  readonly amount?: number;
  readonly currency?: string;
  /** When, by the provider's clock: milliseconds, or a text that `Date` reads. */
  readonly at?: number | string;
}

/**
 * Everything that a provider did under a reference; none: nothing. Reads and changes nothing. Throws where the provider
 * cannot be asked, or where what it shows is not complete yet.
 */
export type Probe = (
  reference: string,
  request: { readonly signal: AbortSignal },
) => readonly ProviderEffect[] | Promise<readonly ProviderEffect[]>;

interface BaseIchidoOptions<Native, Tx> extends SharedOptions<Native> {
  /** Where keys live. */
  readonly store: Store;
  /**
   * Encrypts the operation ids of status addresses, so that a reader of an address cannot find the key. At least 32
   * characters, the same in every process. Without it, a reader who also knows tenant and principal can find the key.
   */
  readonly operationIdSecret?: string;
  /**
   * Where people open the console, such as `https://ops.example/console`: events and log lines of open outcomes carry a
   * link to their record. No answer to a caller does. Needs `operationIdSecret`.
   */
  readonly consoleUrl?: string;
  readonly problemBase?: string;
  /** Sent as `Link: <…>; rel="describedby"` with every problem. */
  readonly docsUrl?: string;
  /** Opens transactions of your own database for `ctx.transaction`. */
  readonly transactions?: TransactionRunner<Tx>;
  /** Writes the layer's own errors in another form. */
  readonly formatProblem?: (problem: Problem) => { readonly contentType: string; readonly body: string };
  /** The deadline of every store call, of COMMIT and of ROLLBACK. More than the store's own `callTimeoutMs`. */
  readonly storeTimeoutMs?: number;
  /** How long one handler may keep its key; then the heartbeat ends and `onUnknown` takes over. */
  readonly executionMs?: number;
  /**
   * How long a handler in transaction mode, or a body of `ctx.transaction`, may hold its transaction. Then the engine
   * ends its connection, and none of its writes is committed.
   */
  readonly transactionMs?: number;
  /** How long one `verify` may take before the outcome counts as not visible yet. */
  readonly verifyMs?: number;
  /** How long `close()` lets running handlers finish. */
  readonly closeMs?: number;
  readonly sweepMs?: number | "off";
  /** Duplicates that may wait at once in this process. */
  readonly waitersMax?: number;
  /** Completed answers kept in this process: a replay then needs no round trip. Default: none. */
  readonly replayCache?: { readonly recordsMax?: number; readonly bytesMax?: number };
  /** Who asked, when, and what they got, for the person on call. `false`: nothing is written. */
  readonly attemptLog?: false | AttemptLogOptions<Native>;
  /** The version of your program, as the attempt log shows it: a commit or a tag. */
  readonly release?: string;
  /** This process, as the attempt log shows it. Default: host, process id and a few digits. */
  readonly processName?: string;
  /** How a provider is asked what it did, by the names of steps. For `why` and the console; no request is decided by it. */
  readonly probes?: Readonly<Record<string, Probe>>;
  readonly onEvent?: IchidoListener;
  /** Spans of every request: `fromOpenTelemetry(api)` in `ichido/traces`. */
  readonly tracing?: Tracing;
  /** One line for every attempt, and the warnings: a pino logger, or whatever has its four methods. */
  readonly logger?: Logger;
  readonly environment?: Environment;
  readonly faults?: FaultPoint;
}

export type IchidoOptions<Native, Tx = unknown> = BaseIchidoOptions<Native, Tx> &
  (
    | {
        /** Whose key it is. Must come from the authenticated caller, never from a header the caller chooses. */
        readonly scope: (request: Native) => ScopeLike;
        readonly dangerouslyShareKeys?: false;
      }
    | {
        readonly scope?: never;
        /** All callers share one key space: one user's key replays its answer to another user. */
        readonly dangerouslyShareKeys: true;
      }
  );

export interface RouteOptions<Native> extends Partial<SharedOptions<Native>> {
  /** Whose key it is on this route, in place of the engine's `scope`: for routes without a user. */
  readonly scope?: (request: Native) => ScopeLike;
  /** Names the effect (`payment.create`). Part of the identity: the same key under another operation is independent. */
  readonly operation: string;
  /** Default: true for POST and PATCH. */
  readonly required?: boolean;
  /** Methods that are protected. Default POST and PATCH; all others pass untouched. */
  readonly methods?: readonly string[];
  /**
   * `lease` (default): claim, run, complete; for handlers that call out. `transaction`: record and business writes in
   * one transaction from the start; for handlers whose effects are in the store's database alone. Needs `transactions`.
   */
  readonly mode?: "lease" | "transaction";
  /** Runs the handler unprotected while the store is down: duplicates then take effect twice. */
  readonly dangerouslyRunWithoutStore?: boolean;
}

/** The engine as adapters see it. */
export interface Decider<Native, Tx = unknown> {
  decide(request: NeutralRequest<Native>, route: ResolvedRoute<Native>): Promise<Decision<Tx>>;
  /** `mountedFor`: the methods of the framework's own route, where the framework names them. */
  route(options: RouteOptions<Native>, mountedFor?: readonly string[]): ResolvedRoute<Native>;
}

/** A route's options, checked and completed. Opaque to adapters. */
export interface ResolvedRoute<Native> {
  readonly operation: string;
  /** Undefined: the engine's. */
  readonly scope: ((request: Native) => ScopeLike) | undefined;
  /** Methods that are refused without a key. */
  readonly requiredFor: ReadonlySet<string>;
  readonly methods: ReadonlySet<string>;
  readonly onUnknown: OnUnknown;
  readonly profile: Profile;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly bodyBytesMax: number;
  readonly inFlight: InFlight;
  readonly labels: ((request: Native) => Labels) | undefined;
  readonly keyPolicy: Required<KeyPolicy>;
  readonly fingerprint: { readonly fields: readonly string[] | undefined; readonly compare: "semantic" | "bytes" };
  readonly keep: (answer: AnswerHead) => boolean;
  readonly enforce: boolean;
  readonly statusUrl: ((operationId: string) => string) | undefined;
  readonly mode: "lease" | "transaction";
  readonly dangerouslyRunWithoutStore: boolean;
}
