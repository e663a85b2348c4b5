/** Deliveries of one queue on their way through this process: one after the other where the queue is ordered, else several at once. */
import type { Environment, Timer } from "../core/contract/environment.ts";
import type { Taker } from "./broker.ts";
import { handOut } from "./hand-out.ts";
import type { AmqpChannel, AmqpMessage, RabbitmqSession } from "./rabbitmq-connection.ts";

interface Item {
  readonly session: RabbitmqSession<AmqpChannel>;
  readonly message: AmqpMessage;
}

/** The server closes a channel whose deliveries stay unanswered for longer than its `consumer_timeout`, 30 minutes. */
const holdMsMax = 60_000;

export interface LaneParts {
  readonly queue: string;
  readonly ordered: boolean;
  readonly limit: number;
  readonly prefetch: number;
  readonly environment: Environment;
  readonly taker: Taker;
}

export class RabbitmqLane {
  readonly queue: string;
  readonly prefetch: number;
  readonly #parts: LaneParts;
  readonly #running = new Set<Promise<void>>();
  readonly #holds = new Map<Timer, () => void>();
  #waiting: Item[] = [];
  #stopped = false;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    this.queue = parts.queue;
    this.prefetch = parts.prefetch;
  }

  add(session: RabbitmqSession<AmqpChannel>, message: AmqpMessage): void {
    this.#waiting.push({ session, message });
    this.#pump();
  }

  /** The channel is gone, and with it the right to answer: the server hands all of it out again. */
  drop(): void {
    this.#waiting = [];
    this.#release();
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#release();
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  #pump(): void {
    while (!this.#stopped && this.#running.size < this.#parts.limit) {
      const item = this.#waiting.shift();
      if (item === undefined) return;
      const run = this.#run(item).finally(() => {
        this.#running.delete(run);
        this.#pump();
      });
      this.#running.add(run);
    }
  }

  async #run(item: Item): Promise<void> {
    const headers = headersOfAmqp(item.message);
    for (let deliveries = deliveriesOf(item.message); ; deliveries += 1) {
      let againMs: number | undefined;
      await handOut(this.#parts.taker, {
        headers,
        payload: item.message.content,
        deliveries,
        ack: () => this.#answer(item, (channel) => channel.ack(item.message)),
        retry: (delayMs) => {
          againMs = Math.min(Math.max(0, delayMs), holdMsMax);
        },
        working: () => undefined,
      });
      if (againMs === undefined) return;
      if (!this.#parts.ordered) {
        void this.#hold(againMs).then(() => this.#answer(item, (channel) => channel.nack(item.message, false, true)));
        return;
      }
      // Back in the queue it would come after what was prefetched, and to this process all the same: the only active one.
      await this.#hold(againMs);
      if (this.#stopped || !item.session.open) return;
    }
  }

  #answer(item: Item, run: (channel: AmqpChannel) => void): void {
    if (!item.session.open) return;
    try {
      run(item.session.channel);
    } catch (error) {
      // It will come again; the inbox knows what was done.
      this.#parts.taker.disturbed?.(error as Error);
    }
  }

  #hold(delayMs: number): Promise<void> {
    if (this.#stopped || delayMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#parts.environment.after(delayMs, () => {
        this.#holds.delete(timer);
        resolve();
      });
      this.#holds.set(timer, resolve);
    });
  }

  #release(): void {
    for (const [timer, resolve] of this.#holds) {
      timer.cancel();
      resolve();
    }
    this.#holds.clear();
  }
}

const serverHeader = /^x-(?:delivery-count|acquired-count|death|first-death-.*|last-death-.*)$/;

function headersOfAmqp({ properties }: AmqpMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties.headers ?? {}))
    if (typeof value === "string" && !serverHeader.test(name)) headers[name.toLowerCase()] = value;
  if (typeof properties.contentType === "string") headers["content-type"] = properties.contentType;
  return headers;
}

function deliveriesOf({ fields, properties }: AmqpMessage): number {
  const before = properties.headers?.["x-delivery-count"];
  if (typeof before === "number") return before + 1;
  return fields.redelivered === true ? 2 : 1;
}
