/** A relay's session as the relay knows it: its lanes, and until when it may count on them. */
import { uuidV7 } from "../core/contract/uuid.ts";
import type { OutboxParts } from "./outbox.ts";
import type { ResolvedRelayOptions } from "./relay-options.ts";
import { giveBack, renew } from "./session.ts";
import { SessionLost } from "./turn.ts";

/** What the relay has in its hands: another relay that got these lanes would send it again. */
export interface InHand {
  readonly seqs: readonly number[];
  readonly lanes: ReadonlySet<number>;
}

export class Lease {
  readonly #parts: Pick<OutboxParts, "transactions" | "run" | "topics">;
  readonly #options: ResolvedRelayOptions;
  readonly #onLost: () => void;
  #session: string | undefined;
  #lanes: readonly number[] = [];
  #surplus: readonly number[] = [];
  #coveredUntilMs = 0;
  #renewAtMs = 0;

  constructor(
    parts: Pick<OutboxParts, "transactions" | "run" | "topics">,
    options: ResolvedRelayOptions,
    onLost: () => void,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#onLost = onLost;
  }

  get session(): string | undefined {
    return this.#session;
  }

  get lanes(): readonly number[] {
    return this.#lanes;
  }

  /** Without the lanes that other relays are to have. */
  get ownLanes(): readonly number[] {
    return this.#lanes.filter((lane) => !this.#surplus.includes(lane));
  }

  get renewAtMs(): number {
    return this.#renewAtMs;
  }

  get isCovered(): boolean {
    return this.#session !== undefined && this.#nowMs() < this.#coveredUntilMs;
  }

  #nowMs(): number {
    return this.#options.environment.monotonicMs();
  }

  /** The lease counts from before the statement was sent: the database's count begins later. */
  async fenced<Value>(work: () => Promise<Value>): Promise<Value> {
    const startMs = this.#nowMs();
    try {
      const value = await work();
      this.#coveredUntilMs = startMs + this.#options.leaseMs;
      return value;
    } catch (error) {
      if (error instanceof SessionLost) this.#lose();
      throw error;
    }
  }

  #lose(): void {
    this.#session = undefined;
    this.#lanes = [];
    this.#coveredUntilMs = 0;
    this.#renewAtMs = 0;
    this.#onLost();
  }

  /** Begins or renews the session. Says whether its lanes have changed, and which are to be given up. */
  async renew({ seqs, lanes }: InHand): Promise<{ readonly changed: boolean; readonly surplus: readonly number[] }> {
    const { transactions, run, topics } = this.#parts;
    const { name, leaseMs, crashesMax, backoffMs, backoffMsMax, onEvent, environment } = this.#options;
    const id = this.#session ?? uuidV7(environment.wallMs(), environment);
    const request = {
      id,
      name,
      isNew: this.#session === undefined,
      leaseMs,
      held: seqs,
      alone: false,
      busyLanes: lanes,
      crashesMax,
      crashDelayMs: (crashes: number) => Math.min(backoffMsMax, backoffMs * 2 ** crashes),
    };
    const done = await this.fenced(() => transactions.run((_tx, handle) => renew(run, handle, topics, request)));
    const changed = done.lanes.length !== this.#lanes.length;
    this.#session = id;
    this.#lanes = done.lanes;
    this.#surplus = done.surplus;
    this.#renewAtMs = this.#nowMs() + leaseMs / 3;
    for (const ended of done.ended) onEvent({ type: "session-ended", session: ended });
    for (const { id: eventId, topic } of done.quarantined) {
      const error = "the process ended while it was being sent";
      onEvent({ type: "dead", id: eventId, topic, reason: "crashed", error });
    }
    return { changed, surplus: done.surplus };
  }

  async giveBack(session: string): Promise<void> {
    const { transactions, run } = this.#parts;
    await transactions.run((_tx, handle) => giveBack(run, handle, session));
  }

  /** Given back, or left to its end. */
  forget(): void {
    this.#session = undefined;
    this.#lanes = [];
  }
}
