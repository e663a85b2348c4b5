/**
 * Takes deliveries from one durable consumer: one pull request at a time, for as many as this process has room for. A request
 * that was lost (a restart, a new leader) is made again when its time is up.
 */
import type { Environment, Timer } from "../core/contract/environment.ts";
import { Backoff } from "./backoff.ts";
import type { Taker } from "./broker.ts";
import { handOut } from "./hand-out.ts";
import { nanos } from "./nats-api.ts";
import type { NatsConnection, NatsHeaders, NatsMessage } from "./nats-connection.ts";
import { isWanted } from "./topic-pattern.ts";

export interface PullerParts {
  readonly environment: Environment;
  readonly taker: Taker;
  readonly nextSubject: string;
  readonly infoSubject: string;
  readonly callMs: number;
  readonly inbox: string;
  readonly limit: number;
  readonly topics: readonly string[];
  /** Whatever connection there is by then. */
  readonly answer: (reply: string, payload: string) => void;
}

const pullMs = 10_000;
const pullGraceMs = 2_000;
const statusNoMessages = 404;
const statusTimeout = 408;

interface Held {
  readonly reply: string;
  readonly done: Promise<void>;
}

export class Puller {
  readonly #parts: PullerParts;
  readonly #backoff: Backoff;
  readonly #held = new Set<Held>();
  readonly #late: string[] = [];
  #connection: NatsConnection | undefined;
  #subscribed: { drain(): Promise<void>; unsubscribe(): void } | undefined;
  #timer: Timer | undefined;
  #left = 0;
  #connected = false;
  #stopped = false;

  constructor(parts: PullerParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(parts.environment);
  }

  /** Connected, or connected again: requests made before are gone. */
  attach(connection: NatsConnection): void {
    if (this.#stopped) return;
    this.#connected = true;
    if (this.#connection !== connection) {
      this.#connection = connection;
      this.#subscribed = connection.subscribe(this.#parts.inbox, {
        callback: (error, message) => (error === null ? this.#arrived(message) : this.#refused(error)),
      });
    }
    this.#again();
  }

  /** A client without its server would keep requests for later: too many then. */
  detach(): void {
    this.#connected = false;
    this.#timer?.cancel();
  }

  /** No more requests; what is on its way is still taken in, and given back. */
  async end(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#subscribed?.drain().catch(() => undefined);
    // A server may give a returned delivery to a request that this process no longer listens to, and then keep it until
    // its time is up. A question about the consumer makes the server drop such requests.
    await this.#connection
      ?.request(this.#parts.infoSubject, "", { timeout: this.#parts.callMs })
      .catch(() => undefined);
    for (const reply of this.#late.splice(0)) this.#parts.answer(reply, "-NAK");
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#held].map(({ done }) => done));
  }

  giveBack(): void {
    for (const { reply } of this.#held) this.#parts.answer(reply, "-NAK");
  }

  #again(): void {
    this.#left = 0;
    this.#timer?.cancel();
    this.#ask();
  }

  #ask(): void {
    const room = this.#parts.limit - this.#held.size;
    if (this.#stopped || !this.#connected || this.#left > 0 || room <= 0 || this.#connection === undefined) return;
    this.#left = room;
    this.#timer?.cancel();
    this.#timer = this.#parts.environment.after(pullMs + pullGraceMs, () => this.#again());
    try {
      const request = JSON.stringify({ batch: room, expires: nanos(pullMs) });
      this.#connection.publish(this.#parts.nextSubject, request, { reply: this.#parts.inbox });
    } catch (error) {
      this.#refused(error as Error);
    }
  }

  #arrived(message: NatsMessage): void {
    const { reply } = message;
    if (reply === undefined || reply === "" || message.subject === this.#parts.inbox) {
      this.#told(message.headers);
      return;
    }
    if (this.#stopped) {
      this.#late.push(reply);
      return;
    }
    this.#backoff.reset();
    this.#left = Math.max(0, this.#left - 1);
    const held: Held = { reply, done: this.#hand(message, reply).finally(() => this.#finished(held)) };
    this.#held.add(held);
    this.#ask();
  }

  #finished(held: Held): void {
    this.#held.delete(held);
    this.#ask();
  }

  async #hand(message: NatsMessage, reply: string): Promise<void> {
    const { answer, taker, topics } = this.#parts;
    const headers = plainHeaders(message.headers);
    const topic = headers["ce-type"];
    if (topics.length > 1 && topic !== undefined && !isWanted(topic, topics)) {
      answer(reply, "+ACK");
      return;
    }
    await handOut(taker, {
      headers,
      payload: message.data,
      deliveries: deliveriesOf(reply),
      ack: () => answer(reply, "+ACK"),
      retry: (delayMs) => answer(reply, delayMs > 0 ? `-NAK {"delay": ${nanos(Math.ceil(delayMs))}}` : "-NAK"),
      working: () => answer(reply, "+WPI"),
    });
  }

  /** A request ended without filling up: by time, or because the consumer is not there. */
  #told(headers: NatsHeaders | undefined): void {
    const code = headers?.code ?? 0;
    if (code < 200) return;
    if (code === statusNoMessages || code === statusTimeout) this.#again();
    else this.#refused(new Error(`nats: ${this.#parts.nextSubject} answered ${code} ${headers?.description ?? ""}`));
  }

  #refused(error: Error): void {
    if (this.#stopped || !this.#connected) return;
    this.#parts.taker.disturbed?.(error);
    this.#timer?.cancel();
    this.#timer = this.#parts.environment.after(this.#backoff.next(), () => this.#again());
  }
}

function plainHeaders(headers: NatsHeaders | undefined): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, values] of headers ?? []) plain[name.toLowerCase()] = values[0] ?? "";
  return plain;
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.…`, or with domain and account after `ACK` on newer servers. */
function deliveriesOf(reply: string): number {
  const tokens = reply.split(".");
  const deliveries = Number(tokens.length > 9 ? tokens[6] : tokens[4]);
  return Number.isInteger(deliveries) && deliveries > 0 ? deliveries : 1;
}
