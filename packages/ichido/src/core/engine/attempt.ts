/** What the attempts of both modes share: what an adapter and the handler hold of them, and the events about them. */
import type { Context, StepFunction } from "../contract/context.ts";
import type { Execution, HandlerOutcome, Settled } from "../contract/decision.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { AnswerHead, NeutralResponse } from "../contract/message.ts";
import type { AnswerLike, StepOptions } from "../contract/options.ts";
import type { Key, StoredResponse } from "../contract/record.ts";
import { recordedOf, tombstoneOf } from "./recorder.ts";
import { createRendering, type Rendering } from "./rendering.ts";
import type { Ask, Grant } from "./ruling.ts";
import { keyHashOf, referenceOf } from "../request/scope.ts";
import type { Watched } from "./running.ts";
import type { Claim } from "../contract/store.ts";
import { noNews, ToldResources } from "./told-resources.ts";
import { spanned, traceLine, type SpanAttributes } from "../contract/tracing.ts";
import { wordsOf } from "./spans.ts";
import type { TransactionHandle } from "../contract/transaction.ts";

/** How the context itself answered, if it did. */
export interface Provided {
  readonly kind: "own" | "open" | "lost";
  readonly response: NeutralResponse;
}

export interface Granted {
  readonly ask: Ask<never>;
  readonly claim: Claim;
  readonly grant: Grant;
}

export const sendAsIs: Settled = { kind: "send", addHeaders: [] };

export abstract class Attempt implements Execution, Watched {
  readonly ask: Ask<never>;
  readonly claim: Claim;
  readonly grant: Grant;
  readonly context: Context;
  readonly bodyBytesMax: number;
  /** The handler was called. Before that, a shutdown may give the key back. */
  started = false;
  answer: Provided | undefined;
  presenter: Execution["presenter"];
  /** The handler said that nothing happened. */
  isReleased = false;
  /** The record has the answer of this attempt. */
  isKept = false;
  /** Its record was left without an answer: its outcome is unknown. */
  isLeftOpen = false;
  /** Made when the handler tells of something. */
  told: ToldResources | undefined;
  /** Why nothing more may be done in its name. */
  stoppedBy: Error | undefined;
  protected readonly parts: EngineParts;
  /** Made when an answer is to be rendered. */
  protected rendering: Rendering | undefined;
  // For the watch over silent handlers.
  watchedMs: number | undefined;
  before: Watched | undefined;
  after: Watched | undefined;
  #provided: NeutralResponse | undefined;
  #providedListeners: ((answer: NeutralResponse) => void)[] | undefined;
  #isOver = false;
  /** Made when someone waits for it. */
  #done: PromiseWithResolvers<void> | undefined;
  /** Made when a handler asks for it: most never do. */
  #abort: AbortController | undefined;

  constructor(parts: EngineParts, { ask, claim, grant }: Granted) {
    this.parts = parts;
    this.ask = ask;
    this.claim = claim;
    this.grant = grant;
    this.bodyBytesMax = ask.route.bodyBytesMax;
    this.context = new AttemptContext(this);
    // The bytes are the handler's from now on; where the record is new, the store has asked for what they mean.
    if (grant.origin !== "new") void ask.fingerprint.canonical;
  }

  abstract settle(outcome: HandlerOutcome): Promise<Settled>;
  abstract beginStream(head: AnswerHead): Promise<Settled>;
  abstract step<Value>(name: string, options: StepOptions<Value>, fn: StepFunction<Value>): Promise<Value>;
  /** `(fn)` or `(runner, fn)`. */
  abstract transaction(given: readonly unknown[]): Promise<AnswerLike>;
  abstract complete(handle: TransactionHandle, answer: AnswerLike): Promise<void>;
  abstract leaveUnknown(interim: AnswerLike): Promise<void>;

  /** Resolves when the outcome was written, handed over or given up. */
  get done(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#done ??= Promise.withResolvers<void>();
    return this.#done.promise;
  }

  onProvided(listener: (answer: NeutralResponse) => void): void {
    const answer = this.#provided;
    if (answer === undefined) (this.#providedListeners ??= []).push(listener);
    else queueMicrotask(() => listener(answer));
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.stoppedBy !== undefined) this.#abort.abort(this.stoppedBy);
    return this.#abort.signal;
  }

  reference(name: string): string {
    return referenceOf(this.ask.identity, this.grant.canonical, name);
  }

  render(answer: AnswerLike): Promise<NeutralResponse> {
    this.rendering ??= createRendering(this);
    return this.rendering.render(answer);
  }

  resource(kind: string, id: string | number | bigint): void {
    this.parts.measurements.named("resources", [String(kind)]);
    this.told ??= new ToldResources();
    this.told.add(kind, id);
  }

  /** What the next write of this attempt is to bring along. */
  get news(): ToldResources["news"] {
    return this.told === undefined ? noNews : this.told.news;
  }

  /** What of an answer is kept: all, or that there was one. */
  keptOf(response: NeutralResponse): StoredResponse {
    this.parts.measurements.answered(this.ask.route, response.headers);
    return this.signed(response.body.length > this.bodyBytesMax ? tombstoneOf(response) : recordedOf(response));
  }

  /** With the span of this run, for those of its replays. */
  protected signed(stored: StoredResponse): StoredResponse {
    const traceparent = this.ask.span?.traceparent;
    if (traceparent === undefined) return stored;
    return { ...stored, headers: [...stored.headers, [traceLine, traceparent]] };
  }

  /** A part of this request as a span of its own, where there are spans. */
  traced<Value>(name: string, attributes: SpanAttributes, work: () => Promise<Value>): Promise<Value> {
    return spanned(this.ask.span?.child(name, attributes), work);
  }

  /** Work of the handler that this room calls: what it calls in turn belongs to the request's span. */
  within<Value>(work: () => Value): Value {
    const { span } = this.ask;
    return span === undefined ? work() : span.within(work);
  }

  protected stop(reason: Error): void {
    this.stoppedBy ??= reason;
    this.#abort?.abort(this.stoppedBy);
  }

  /** The context made the answer; whatever the handler writes is not sent. */
  protected send(response: NeutralResponse): void {
    if (this.#provided === undefined) {
      this.#provided = response;
      for (const listener of this.#providedListeners ?? []) queueMicrotask(() => listener(response));
    }
    this.rendering?.end(() => ({ kind: "replace", response }));
  }

  protected finished(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { running, silentHandlers } = this.parts;
    running.remove(this);
    silentHandlers.ended(this);
    this.#done?.resolve();
  }

  protected tellExecuted(status: number | undefined, sinceMs: number): void {
    if (!this.started) return;
    const { identity, route, span } = this.ask;
    const { grant, isKept, claim } = this;
    this.parts.attemptLog?.add(this.ask, "executed", status, { grant, owner: claim.owner, isKept });
    const durationMs = this.parts.settings.environment.monotonicMs() - sinceMs;
    this.parts.measurements.handled(route, durationMs);
    if (this.ask.labels !== undefined) this.parts.measurements.named("labels", Object.keys(this.ask.labels));
    span?.end({
      ...wordsOf("executed", status, identity),
      "idempotency.attempt": this.grant.attempt,
      "idempotency.fence": this.grant.fence,
    });
    if (!this.parts.isHeard()) return;
    const isOpen = this.isLeftOpen || this.answer?.kind === "open";
    this.parts.emit({
      type: "request",
      operation: identity.operation,
      outcome: "executed",
      observed: !route.enforce,
      status,
      durationMs,
      keyHash: keyHashOf(identity),
      attempt: this.grant.attempt,
      ...(isOpen && { leftOpen: true, ...this.parts.settings.link.linked(identity) }),
    });
  }

  tellNotStored(error: unknown): void {
    const { identity } = this.ask;
    this.parts.emit({ type: "not-stored", operation: identity.operation, keyHash: keyHashOf(identity), error });
  }

  tellFenceRejected(verb: string): void {
    const { identity } = this.ask;
    this.parts.emit({ type: "fence-rejected", operation: identity.operation, keyHash: keyHashOf(identity), verb });
  }
}

/**
 * The signal is an accessor on the prototype: most handlers never ask for it, and there is one of these for every
 * request. The methods are the context's own, so that each works taken out of it, and a copy of it has them.
 */
class AttemptContext implements Context {
  readonly key: Key;
  readonly attempt: number;
  readonly fence: number;
  readonly #of: Attempt;

  constructor(of: Attempt) {
    this.key = of.ask.identity.key;
    this.attempt = of.grant.attempt;
    this.fence = of.grant.fence;
    this.#of = of;
  }

  get signal(): AbortSignal {
    return this.#of.signal;
  }

  readonly reference = (name: string): string => this.#of.reference(name);
  readonly step = <Value>(name: string, ...rest: readonly unknown[]): Promise<Value> => {
    const [options, fn] = rest.length > 1 ? rest : [{}, rest[0]];
    return this.#of.step(name, options as StepOptions<Value>, fn as StepFunction<Value>);
  };
  readonly transaction = (...given: readonly unknown[]): Promise<AnswerLike> =>
    this.#of.within(() => this.#of.transaction(given));
  readonly complete: Context["complete"] = (handle, answer) => this.#of.complete(handle, answer);
  readonly resource = (kind: string, id: string | number | bigint): void => this.#of.resource(kind, id);
  readonly release = (): void => void (this.#of.isReleased = true);
  readonly unknown = (interim: AnswerLike): Promise<void> => this.#of.leaveUnknown(interim);
}
